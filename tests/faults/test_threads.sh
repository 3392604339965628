#!/bin/sh
# How many threads the verbs make: as many as the processors that they may use, or as they are told. usage: test_threads.sh PROGRAM SHIM
set -u
program=$1
shim=$2
. "$(dirname "$0")/../cli/testing.sh"
unset OMP_NUM_THREADS
processor=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')

# made COUNT WHAT COMMAND...: so many threads beside the first; 'some': any number but none.
made() {
    expected=$1 what=$2
    shift 2
    rm -f "$work/counts"
    HWS_FAULT_COUNTS="$work/counts" LD_PRELOAD="$shim" "$@" >"$work/out" 2>"$work/err" || fail "$what: exit code $?"
    count=$(sed -n 's/^thread //p' "$work/counts")
    case $expected:$count in
        some:0 | *:) fail "$what: no thread is seen" ;;
        0:[1-9]*) fail "$what: $count threads were made for one processor" ;;
    esac
}

run 0 phantom --out "$work/heads" --cases 5 --test 2 --size 8,8,8 --spacing 16 --threads 1
run 0 plan "$work/heads" --out "$work/cache" --threads 1 --quiet
run 0 train "$work/heads" --cache "$work/cache" --iterations 1 --threads 1 --loaders 0 --quiet --out "$work/run"
both() { # WHAT ARGUMENTS...; its results are new each time
    what=$1
    shift
    rm -rf "$work/new"
    made 0 "hws $what on one processor" taskset -c "$processor" "$program" "$@"
    rm -rf "$work/new"
    OMP_NUM_THREADS=2 made some "hws $what with OMP_NUM_THREADS=2" taskset -c "$processor" "$program" "$@"
}
both plan plan "$work/heads" --out "$work/new" --quiet
both "evaluate of folders" evaluate --pred "$work/heads/labelsTs" --ref "$work/heads/labelsTs" --out "$work/new"
both "evaluate of a run" evaluate "$work/run" --overwrite --quiet

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
