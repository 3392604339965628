#!/bin/sh
# usage: test_headers.sh SOURCE_FOLDER COMPILER [FLAGS...]
# Compiles every header of src/ and include/ alone, with the project's flags: a header includes what it needs. Left out are
# src/nn/kernels_*.h, which are no headers but the loops that kernels_body.c includes once per instruction set.
set -eu
root=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0
for header in "$root"/include/*.h "$root"/src/*/*.h; do
    case $header in */nn/kernels_*.h) continue ;; esac
    name=${header#"$root"/include/}
    name=${name#"$root"/src/}
    echo "#include \"$name\"" >"$work/$(echo "$name" | tr / _).c"
    count=$((count + 1))
done
[ $count -gt 100 ] || { echo "headers: only $count were found"; exit 1; }
"$@" -fsyntax-only -I"$root/src" -I"$root/include" "$work"/*.c
