#!/bin/sh
# What hws writes takes the place of its own files alone. usage: test_kept_files.sh PROGRAM MAKE_PICTURES MAKE_MAPS
set -u
program=$1
pictures=$2
maps=$3
. "$(dirname "$0")/testing.sh"

small="--model mlp-1-8 --epochs 1 --threads 1 --batch 4"

# keeps FILE ARGUMENTS...: the command refuses to replace the file, and its content is as before.
keeps() {
    theirs=$1
    shift
    cp "$theirs" "$work/kept" || fail "no $theirs"
    run 2 "$@"
    complains "$theirs is there already and holds no .*by hws: name another place"
    same "$theirs" "$work/kept"
}

# twice ARGUMENTS...: its own output gives way.
twice() {
    run 0 "$@"
    run 0 "$@"
}

"$pictures" "$work/data" 24 || fail "no pictures"
run 0 train "$work/data" $small --out "$work/run"

# A report over a picture, over a page of somebody else, into a folder's place; over itself, over an empty file.
keeps "$work/data/p000.png" report "$work/run" --out "$work/data/p000.png"
printf '<!DOCTYPE html>\n<title>mine</title>\n' >"$work/page.html"
keeps "$work/page.html" report "$work/run" --out "$work/page.html"
run 2 report "$work/run" --out "$work/data"
complains 'data is a folder: name a file'
run 2 report "$work/run" --out "$work/data/p000.png/report.html"
complains 'data/p000.png is a file, not a folder'
: >"$work/report.html"
twice report "$work/run" --out "$work/report.html"
twice report "$work/run"

# Each file of an evaluation; nothing is written beside the one that is kept.
twice evaluate "$work/run" --out "$work/scores"
twice evaluate "$work/run"
for file in examples classes strata confusion reliability worst; do
    mkdir "$work/mine"
    echo 'label,name' >"$work/mine/$file.csv"
    keeps "$work/mine/$file.csv" evaluate "$work/run" --out "$work/mine"
    [ "$(ls "$work/mine")" = "$file.csv" ] || fail "something was written beside $file.csv"
    rm -r "$work/mine"
done

twice compare "$work/scores" "$work/run" --out "$work/compared"
for file in comparison.txt comparison.csv comparison.md comparison.tex comparison.json; do
    mkdir "$work/mine"
    echo '{"rows": "mine"}' >"$work/mine/$file"
    keeps "$work/mine/$file" compare "$work/scores" "$work/run" --out "$work/mine"
    [ "$(ls "$work/mine")" = "$file" ] || fail "something was written beside $file"
    rm -r "$work/mine"
done

# Volumes: the same by --pred and --ref.
mkdir "$work/pred" "$work/ref"
"$maps" "$work/ref" x.nii.gz=11002200 y.nii.gz=11112222 || fail "no references"
"$maps" "$work/pred" x.nii.gz=10002200 y.nii.gz=11112222 || fail "no predictions"
set -- evaluate --pred "$work/pred" --ref "$work/ref" --find-postprocessing
twice "$@" --out "$work/volumes"
for file in summary.json cases.csv table.csv table.txt table.md table.tex worst.csv postprocessing.json; do
    mkdir "$work/mine"
    printf '{\n    "foreground_mean": {}\n}\n' >"$work/mine/$file" # as nnU-Net's begins
    keeps "$work/mine/$file" "$@" --out "$work/mine"
    [ "$(ls "$work/mine")" = "$file" ] || fail "something was written beside $file"
    rm -r "$work/mine"
done
twice compare "$work/volumes" "$work/volumes" --out "$work/compared"

# Labels that somebody gave to images, where predicted ones would go.
run 0 train digits:200,50 $small --out "$work/digits"
printf '\0\0\10\3\0\0\0\1\0\0\0\34\0\0\0\34' >"$work/some-images-idx3-ubyte"
head -c 784 /dev/zero >>"$work/some-images-idx3-ubyte"
twice predict "$work/digits" --input "$work/some-images-idx3-ubyte" --output "$work/labels"
rm "$work/labels/some-labels-idx1-ubyte.csv"
keeps "$work/labels/some-labels-idx1-ubyte" predict "$work/digits" --input "$work/some-images-idx3-ubyte" --output "$work/labels"
echo mine >"$work/labels/some-labels-idx1-ubyte.csv"
keeps "$work/labels/some-labels-idx1-ubyte.csv" predict "$work/digits" --input "$work/some-images-idx3-ubyte" --output "$work/labels"

# Scores of pictures.
twice predict "$work/run" --input "$work/data" --output "$work/predicted"
cp "$work/data/labels.csv" "$work/mine.csv"
keeps "$work/mine.csv" predict "$work/run" --input "$work/data" --output "$work/mine.csv"
run 2 predict "$work/run" --input "$work/data" --output "$work/data/p001.png"
complains 'data/p001.png is a file, not a folder'

# A new run replaces nothing that somebody else has put where its files go, and begins again where it was killed early.
small="digits:60,20 --model mlp-1-8 --epochs 1 --threads 1 --batch 8 --quiet"
run 0 train $small --mislabel 0.1 --out "$work/whole"
for name in best.safetensors latest.safetensors triage.csv history.csv plans.json mislabelled.csv train.log; do
    mkdir -p "$work/theirs"
    echo mine >"$work/theirs/$name"
    run 2 train $small --mislabel 0.1 --out "$work/theirs"
    complains "theirs/$name is there already, and a run would replace it"
    [ "$(cat "$work/theirs/$name")" = mine ] || fail "$name is lost"
    rm -r "$work/theirs"
done
mkdir "$work/theirs" && echo '{}' >"$work/theirs/config.json"
run 2 train $small --out "$work/theirs"
complains 'config.json that is not of a run of hws'
mkdir "$work/killed"
cp "$work/whole/latest.safetensors" "$work/whole/mislabelled.csv" "$work/killed"
run 0 train $small --mislabel 0.1 --out "$work/killed"
same "$work/whole/losses.csv" "$work/killed/losses.csv"
"$pictures" "$work/listed" 44 || fail "no pictures"
run 2 train "$work/listed" --model mlp-1-8 --out "$work/listed/"
complains 'is the folder of the pictures; name another'

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
