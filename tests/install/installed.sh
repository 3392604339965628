# shellcheck shell=sh
# What the tests of the installed libraries share; sourced with the arguments BUILD SOURCES CMAKE CC. Installs the build
# into an empty folder, $prefix.
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

# uses_shared LIBRARY PROGRAM: does it load libLIBRARY.so?
uses_shared() { ldd "$2" 2>/dev/null | grep -q "lib$1\.so"; }
with_shared() { uses_shared "$1" "$2" || die "lib$1.so is not used by $2"; }
without_shared() { ! uses_shared "$1" "$2" || die "lib$1.so is used by $2 after all"; }

# find_library NAME: sets header, shared, static, libraries.
find_library() {
    header=$(find "$prefix" -name "$1.h")
    shared=$(find "$prefix" -name "lib$1.so")
    static=$(find "$prefix" -name "lib$1.a")
    [ -n "$header" ] && [ -n "$shared" ] && [ -n "$static" ] || die "header or libraries of $1 are missing"
    libraries=$(dirname "$shared")
}

# check_header NAME: alone, as C11 and as C++.
check_header() {
    step "the header $1.h alone, as C11 and as C++"
    echo "#include <$1.h>" >"$work/alone.c"
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
}

# check_names NAME FUNCTION: both libraries export FUNCTION, and NAME_* of the header only.
check_names() {
    step "exported names of $1"
    for names in "-D $shared" "-g $static"; do
        # shellcheck disable=SC2086
        nm --defined-only $names >"$work/names"
        grep -q " T $2\$" "$work/names" || die "$names lacks $2"
        # Lines are "address type name"; archives add file names and blank lines.
        if awk -v own="^$1_" 'NF == 3 && $3 !~ own { print; bad = 1 } END { exit !bad }' "$work/names"; then
            die "$names exports more than $1_*"
        fi
        if awk 'NF == 3 { print $3 }' "$work/names" | while read -r name; do
            grep -q "[ *]$name(" "$header" || echo "$name"
        done | grep .; then
            die "$names exports names that the header does not know"
        fi
    done
}

# check_soname NAME: the one that the header promises, and that the package in packaging/debian is called after.
check_soname() {
    step "soname of $1"
    version=$(sed -n 's/^#define HWS_VERSION "\(.*\)"$/\1/p' "$root/include/hws.h")
    soname=$(objdump -p "$shared" | awk '$1 == "SONAME" { print $2 }')
    grep -q "The soname is $soname " "$header" || die "$1.h does not promise the soname $soname"
    [ -e "$libraries/$soname" ] || die "$soname is not installed"
    [ -e "$libraries/lib$1.so.$version" ] || die "lib$1.so.$version is not installed"
    package=$(echo "lib$1${soname#"lib$1.so."}" | tr _ -)
    grep -q "^Package: $package\$" "$root/packaging/debian/control" || die "there is no package $package"
}

# documented_command PATTERN: runs the one line of docs/c.md like this, in a shell of its own; makes $work/documented/a.out.
documented_command() {
    mkdir -p "$work/documented" "$work/bin"
    ln -sf "$(command -v "$cc")" "$work/bin/cc"
    ln -sfn "$root/examples" "$work/documented/examples"
    grep "^    cc .*$1" "$root/docs/c.md" >"$work/line" || die "docs/c.md has no command with $1"
    [ "$(wc -l <"$work/line")" = 1 ] || die "docs/c.md has several commands with $1"
    echo "  $(cat "$work/line")"
    rm -f "$work/documented/a.out"
    (cd "$work/documented" && PATH=$work/bin:$PATH sh -eu "$work/line") || die "it fails"
}

# build_project FOLDER: with CMake's find_package, into $work/project.
build_project() {
    step "CMake find_package"
    "$cmake" -S "$1" -B "$work/project" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 ||
        die "configure: $(cat "$work/log")"
    "$cmake" --build "$work/project" >"$work/log" 2>&1 || die "build: $(cat "$work/log")"
}

step install
"$cmake" --install "$build" --prefix "$prefix" >"$work/log" || die "install: $(cat "$work/log")"
