# What the tests of the program share; sourced with `program` set. Makes the folder $work, which goes away at the end.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
export OMP_WAIT_POLICY=passive

fail() {
    echo "FAILED: $*" >&2
    sed 's/^/    stdout: /' "$work/out" >&2
    sed 's/^/    stderr: /' "$work/err" >&2
    failures=$((failures + 1))
}

# run CODE ARGUMENTS...: the program must end with this code.
run() {
    expected=$1
    shift
    "$program" "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq "$expected" ] || fail "hws $*: exit code $code, expected $expected"
}

# stops PROCESS: told to (scripts ignore INT in the background), the program that runs there must end with code 1.
stops() {
    kill -TERM "$1"
    wait "$1"
    code=$?
    [ $code -eq 1 ] || fail "exit code $code after SIGTERM, expected 1"
}

prints() { grep -q -e "$1" "$work/out" || fail "stdout lacks '$1'"; }
complains() { grep -q -e "^hws: .*$1" "$work/err" || fail "stderr lacks 'hws: ...$1'"; }
is_silent() { [ ! -s "$work/$1" ] || fail "$1 should be empty"; }
same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }

# refused WORDS ARGUMENTS...: wrong usage or bad input, and the message says WORDS.
refused() {
    words=$1
    shift
    run 2 "$@"
    complains "$words"
}
