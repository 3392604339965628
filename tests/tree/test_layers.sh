#!/bin/sh
# usage: test_layers.sh SOURCE_FOLDER "part:used,used ..."
# Holds the sources against the layers that CMake declares: no part includes a header of one that it does not use, nobody
# reaches into libhws' inside, nobody but src/run spells the names of a run's files, no two purposes of randomness have
# the same number. And docs/architecture.md against both: its table has these parts, in this order, with what they use, and
# the files that it names are there.
set -eu
root=$1
wrong=0
tell() { echo "layers: $*"; wrong=1; }

for layer in $2; do
    part=${layer%%:*} allowed=",${layer#*:},${layer%%:*},"
    [ -d "$root/src/$part" ] || tell "there is no folder src/$part"
    for used in $(cat "$root/src/$part"/*.[ch] | sed -n 's/^ *# *include "\([a-z_0-9]*\)\/.*/\1/p' | sort -u); do
        case $allowed in
        *",$used,"*) ;;
        *) tell "src/$part includes $used/ without declaring that it uses it:" \
            "$(grep -l "include \"$used/" "$root/src/$part"/*.[ch] | sed 's,.*/,,' | tr '\n' ' ')" ;;
        esac
    done
done
for folder in "$root"/src/*/; do
    part=$(basename "$folder")
    case " $2" in *" $part:"*) ;; *) tell "src/$part is no part: CMake does not declare it" ;; esac
done
inside=$(grep -rlE 'include "sampler/' "$root/src" "$root/cli" "$root/examples" --include='*.[ch]' | grep -v "/src/sampler/" || true)
[ -z "$inside" ] || tell "only src/sampler includes sampler/; the others include hws.h: $inside"
# A literal that is such a name, alone or at a path's end; sentences may mention them. A cache and a model of nnU-Net have
# a plans.json of their own, and a dataset a groups.csv.
names=$(sed -n 's/.*X(RUN_[A-Z_]*, "\([^"]*\)").*/\1/p' "$root/src/run/run_folder.h" | sed 's/[.]/[.]/g')
[ "$(echo "$names" | wc -l)" -gt 20 ] || tell "the names of a run's files were not found"
for name in $names; do
    case $name in
    *.*) pattern="\"([^\" ]*/)?$name\"" ;;
    *) pattern="\"[^\" ]*/$name(/[^\" ]*)?\"" ;; # a folder's name alone may be a word
    esac
    found=$(grep -rnE "$pattern" "$root/src" "$root/cli" --include='*.[ch]' | grep -vE "^$root/src/run/|:[0-9]+: *(/[*]|[*])" |
        grep -vE "^$root/src/((cache|nnunet)/.*plans[.]json|(dataset|phantom)/.*groups[.]csv)" || true)
    [ -z "$found" ] || tell "only src/run knows the names of a run's files, ask run_path: $found"
done
twice=$(cat "$root"/src/*/purposes.h | sed -n 's/.*RANDOM_[A-Z_]* *= *\([0-9]*\).*/\1/p' | sort | uniq -d)
[ -z "$twice" ] || tell "two purposes of randomness have the number" $twice
[ "$(cat "$root"/src/*/purposes.h | grep -c 'RANDOM_')" -gt 8 ] || tell "the purposes of randomness were not found"

page=$root/docs/architecture.md
sorted_uses() { # "part:b,a" becomes "part: a b"
    for layer in $1; do
        echo "${layer%%:*}:" $(echo "${layer#*:}" | tr ',' '\n' | sort)
    done
}
told=$(sed -n 's/^| `\([a-z_0-9]*\)\/` | .* |\(.*\)|$/\1:\2/p' "$page" | tr -d ' ')
declared=$(sorted_uses "$2")
[ "$(sorted_uses "$told")" = "$declared" ] || tell "the table of docs/architecture.md has not the parts of src/, from the bottom up, with what they use. It should say
$declared"
for file in $(grep -o '`[a-zA-Z_/0-9]*/[a-zA-Z_0-9]*[.][a-z]*`' "$page" | tr -d '`' | sort -u); do
    case $file in *NAME.* | *PART/*) continue ;; esac
    [ -e "$root/$file" ] || [ -e "$root/src/$file" ] || tell "docs/architecture.md names $file, which is not there"
done
exit $wrong
