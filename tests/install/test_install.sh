#!/bin/sh
# Installs a build into an empty folder and uses it as others would.
# usage: test_install.sh BUILD SOURCES CMAKE CC
set -eu
build=$1
sources=$2
root=$(dirname "$(dirname "$sources")")
cmake=$3
cc=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

step() { echo "-- $*"; }
die() {
    echo "FAILED: $*" >&2
    exit 1
}

# uses_shared PROGRAM: does it load libhws.so?
uses_shared() { ldd "$1" 2>/dev/null | grep -q 'libhws\.so'; }

step install
"$cmake" --install "$build" --prefix "$prefix" >"$work/log" || die "install: $(cat "$work/log")"
header=$(find "$prefix" -name hws.h)
shared=$(find "$prefix" -name libhws.so)
static=$(find "$prefix" -name libhws.a)
[ -n "$header" ] && [ -n "$shared" ] && [ -n "$static" ] || die "header or libraries are missing"
libraries=$(dirname "$shared")
if [ -x "$prefix/bin/hws" ]; then "$prefix/bin/hws" --version; fi

step "the header alone, as C11 and as C++"
echo '#include <hws.h>' >"$work/alone.c"
cp "$work/alone.c" "$work/alone.cc"
strict="-pedantic -Wall -Wextra -Werror -fsyntax-only -I$(dirname "$header")"
# shellcheck disable=SC2086
"$cc" -std=c11 $strict "$work/alone.c"
if command -v "${CXX:-g++}" >/dev/null; then
    for standard in c++11 c++17; do
        # shellcheck disable=SC2086
        "${CXX:-g++}" -std=$standard $strict "$work/alone.cc"
    done
fi

step "exported names"
for names in "-D $shared" "-g $static"; do
    # shellcheck disable=SC2086
    nm --defined-only $names >"$work/names"
    grep -q ' T hws_sampler_open$' "$work/names" || die "$names lacks hws_sampler_open"
    # Lines are "address type name"; archives add file names and blank lines.
    if awk 'NF == 3 && $3 !~ /^hws_/ { print; bad = 1 } END { exit !bad }' "$work/names"; then
        die "$names exports more than hws_*"
    fi
    if awk 'NF == 3 && $3 ~ /^hws_/ { print $3 }' "$work/names" | while read -r name; do
        grep -q "[ *]$name(" "$header" || echo "$name"
    done | grep .; then
        die "$names exports names that the header does not know"
    fi
done

step "soname"
version=$(sed -n 's/^#define HWS_VERSION "\(.*\)"$/\1/p' "$header")
case $version in
0.*) soname=libhws.so.${version%.*} ;; # before 1.0 a minor version may break what was built before it
*) soname=libhws.so.${version%%.*} ;;
esac
found=$(objdump -p "$shared" | awk '$1 == "SONAME" { print $2 }')
[ "$found" = "$soname" ] || die "version $version has the soname $found instead of $soname"
[ -e "$libraries/$soname" ] || die "$soname is not installed"

if command -v pkg-config >/dev/null; then
    step "pkg-config"
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name hws.pc)")
    export PKG_CONFIG_PATH
    pkg-config --validate hws
    # shellcheck disable=SC2046
    "$cc" "$sources/consumer.c" -o "$work/shared" $(pkg-config --cflags --libs hws)
    LD_LIBRARY_PATH=$libraries "$work/shared"
    uses_shared "$work/shared" || die "the shared library is not used"
    # shellcheck disable=SC2046
    "$cc" "$sources/consumer.c" -o "$work/static" -static $(pkg-config --cflags --static --libs hws)
    "$work/static"
    ! uses_shared "$work/static" || die "the shared library is used after all"

    step "the README's commands"
    mkdir "$work/readme" "$work/bin"
    ln -s "$(command -v "$cc")" "$work/bin/cc"
    ln -s "$root/examples" "$work/readme/examples"
    # readme_command PATTERN: runs the one line of the README like this, in a shell of its own, and the program it makes.
    readme_command() {
        grep "^    cc .*$1" "$root/README.md" >"$work/line" || die "the README has no command with $1"
        [ "$(wc -l <"$work/line")" = 1 ] || die "the README has several commands with $1"
        echo "  $(cat "$work/line")"
        rm -f "$work/readme/a.out"
        (cd "$work/readme" && PATH=$work/bin:$PATH sh -eu "$work/line") || die "it fails"
        LD_LIBRARY_PATH=$libraries "$work/readme/a.out" | grep -q '^DRO, beta = 4' || die "the program fails"
    }
    readme_command 'pkg-config --cflags --libs hws)'
    uses_shared "$work/readme/a.out" || die "the shared library is not used"
    readme_command 'pkg-config --cflags --static --libs hws)'
    ! uses_shared "$work/readme/a.out" || die "the shared library is used after all"
fi

step "CMake find_package"
"$cmake" -S "$sources/project" -B "$work/project" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 ||
    die "configure: $(cat "$work/log")"
"$cmake" --build "$work/project" >"$work/log" 2>&1 || die "build: $(cat "$work/log")"
"$work/project/with_shared"
"$work/project/with_static"
uses_shared "$work/project/with_shared" || die "hws::hws is not the shared library"
! uses_shared "$work/project/with_static" || die "hws::static is not the static library"
echo "all is well"
