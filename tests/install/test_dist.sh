#!/bin/sh
# The source tarball builds by itself, without git, and what it builds works; a tarball that it makes of itself is the same.
# usage: test_dist.sh TARBALL
set -eu
tarball=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() {
    echo "FAILED: $*" >&2
    exit 1
}
mkdir "$work/bin"
printf '#!/bin/sh\necho "git was called: $*" >&2\nexit 1\n' >"$work/bin/git"
chmod +x "$work/bin/git"
PATH=$work/bin:$PATH
tar -xf "$tarball" -C "$work"
cd "$work/$(basename "$tarball" .tar.gz)"

scripts/dist "$work/again" >/dev/null
cmp "$tarball" "$work/again/$(basename "$tarball")" || die "a tarball of the tarball has other files"

make tests JOBS="${JOBS:-2}" >"$work/log" 2>&1 || die "make tests: $(tail -n 30 "$work/log")"
build/release/cli/hws train digits:200,50 --epochs 1 --threads 2 --quiet --out "$work/run"
build/release/cli/hws report "$work/run" --out "$work/report.html"
ctest --test-dir build/release -R '^(tree/|sampler/api|cli/program|install/consumers)' --output-on-failure --no-tests=error
echo "all is well"
