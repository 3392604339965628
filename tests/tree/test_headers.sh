#!/bin/sh
# usage: test_headers.sh SOURCE_FOLDER COMPILER [FLAGS...]
# Compiles every header of src/ and include/ alone, with the project's flags: a header includes what it needs. Left out are
# those whose first lines say that kernels_body.c includes them: loops that it includes once per instruction set.
set -eu
root=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0
for header in "$root"/include/*.h "$root"/src/*/*.h; do
    if head -n 4 "$header" | grep -q 'kernels_body[.]c'; then continue; fi
    name=${header#"$root"/include/}
    name=${name#"$root"/src/}
    echo "#include \"$name\"" >"$work/$(echo "$name" | tr / _).c"
    count=$((count + 1))
done
[ $count -gt 100 ] || { echo "headers: only $count were found"; exit 1; }
"$@" -fsyntax-only -I"$root/src" -I"$root/include" "$work"/*.c
