#!/bin/sh
# Installs a build into an empty folder and uses libhws as others would.
# usage: test_install.sh BUILD SOURCES CMAKE CC
set -eu
. "$(dirname "$0")/installed.sh"
find_library hws
if [ -x "$prefix/bin/hws" ]; then "$prefix/bin/hws" --version; fi
check_header hws
check_names hws hws_sampler_open
check_soname hws

if command -v pkg-config >/dev/null; then
    step "pkg-config"
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name hws.pc)")
    export PKG_CONFIG_PATH
    pkg-config --validate hws
    # shellcheck disable=SC2046
    "$cc" "$sources/consumer.c" -o "$work/shared" $(pkg-config --cflags --libs hws)
    LD_LIBRARY_PATH=$libraries "$work/shared"
    with_shared hws "$work/shared"
    # shellcheck disable=SC2046
    "$cc" "$sources/consumer.c" -o "$work/static" -static $(pkg-config --cflags --static --libs hws)
    "$work/static"
    without_shared hws "$work/static"

    step "the commands of docs/c.md"
    documented_command 'pkg-config --cflags --libs hws)'
    LD_LIBRARY_PATH=$libraries "$work/documented/a.out" | grep -q '^DRO, beta = 4' || die "the program fails"
    with_shared hws "$work/documented/a.out"
    documented_command 'pkg-config --cflags --static --libs hws)'
    "$work/documented/a.out" | grep -q '^DRO, beta = 4' || die "the program fails"
    without_shared hws "$work/documented/a.out"
fi

build_project "$sources/project"
"$work/project/with_shared"
"$work/project/with_static"
with_shared hws "$work/project/with_shared"
without_shared hws "$work/project/with_static"
echo "all is well"
