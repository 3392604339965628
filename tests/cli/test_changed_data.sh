#!/bin/sh
# hws evaluate RUN of data that have changed since the run was trained. usage: test_changed_data.sh PROGRAM MAKE_PICTURES
set -u
program=$1
pictures=$2
. "$(dirname "$0")/testing.sh"

small="--model mlp-1-8 --epochs 1 --threads 1 --batch 4"
"$pictures" "$work/source" 44 || fail "no pictures"

folder() { # where, and the pictures of each of its two classes
    rm -rf "$1"
    mkdir -p "$1/cat" "$1/dog"
    for k in $2; do
        cp "$work/source/p0$(printf %02d $((2 * k))).png" "$1/cat/c$(printf %02d "$k").png"
        cp "$work/source/p0$(printf %02d $((2 * k + 1))).png" "$1/dog/d$(printf %02d "$k").png"
    done
}

# changed RUN DATA COUNT: the data are refused as the run's own; as other data all COUNT of them are scored.
changed() {
    run 2 evaluate "$1"
    complains "$2: has changed since this run was trained on it.*--data $2"
    run 0 evaluate "$1" --data "$2" --out "$work/scores"
    complains 'read as others'
    complains "all $3 are tested on"
    [ "$(wc -l <"$work/scores/examples.csv")" -eq $(($3 + 1)) ] || fail "$2: $3 scored examples are expected"
}

twelve="0 1 2 3 4 5 6 7 8 9 10 11"
folder "$work/m" "$twelve"
run 0 train "$work/m" $small --out "$work/run"
run 0 evaluate "$work/run" --out "$work/before"

# Renamed classes.
mv "$work/m/dog" "$work/m/ant"
run 2 evaluate "$work/run"
complains 'm: has changed since this run'
run 2 evaluate "$work/run" --data "$work/m"
complains "not trained on the class 'ant'"
mv "$work/m/ant" "$work/m/wolf" # the same order of the classes, and the same pictures
run 2 evaluate "$work/run"
complains 'm: has changed since this run'

# More pictures, and another one under a name that was there.
folder "$work/m" "$twelve 12 13 14 15 16 17 18 19 20 21"
changed "$work/run" "$work/m" 44
folder "$work/m" "$twelve"
cp "$work/m/cat/c01.png" "$work/m/cat/c00.png"
changed "$work/run" "$work/m" 24

# The former data again, also without the checkpoint; and when they are named, they are the run's own.
folder "$work/m" "$twelve"
rm "$work/run/latest.safetensors"
run 0 evaluate "$work/run" --out "$work/after"
same "$work/before/examples.csv" "$work/after/examples.csv"
run 0 evaluate "$work/run" --data "$work/m" --out "$work/named"
same "$work/before/examples.csv" "$work/named/examples.csv"

# What was left out, validated on or mislabelled for the training is no change.
run 0 train "$work/m" $small --mislabel 0.3 --keep dog=0.5 --validation 0.2 --seed 3 --out "$work/wrong"
run 0 evaluate "$work/wrong" --part train --out "$work/right"
awk -F, 'NR > 1 && ($1 ~ /^cat/) != ($2 == "cat") { exit 1 }' "$work/right/examples.csv" || fail "evaluated with the wrong labels"

# A list that marks what to test on: the marks hold when it is named as other data.
run 0 train "$work/source" $small --out "$work/listed"
sed '2s/,dark,/,light,/' "$work/source/labels.csv" >"$work/corrected" && mv "$work/corrected" "$work/source/labels.csv"
run 2 evaluate "$work/listed"
complains 'source: has changed since'
run 0 evaluate "$work/listed" --data "$work/source/labels.csv" --out "$work/marked"
complains 'read as others'
[ "$(wc -l <"$work/marked/examples.csv")" -eq $(($(grep -c ',test$' "$work/source/labels.csv") + 1)) ] || fail "the marked examples are expected"

# Tables: rows in another order, more rows, other units.
sh "$(dirname "$0")/../../experiments/make_table.sh" 120 >"$work/first.csv"
cp "$work/first.csv" "$work/t.csv"
run 0 train "$work/t.csv" --label income $small --out "$work/table"
run 0 evaluate "$work/table" --out "$work/table-before"
{ head -n 1 "$work/first.csv" && tail -n +2 "$work/first.csv" | tac; } >"$work/t.csv"
changed "$work/table" "$work/t.csv" 120
{ cat "$work/first.csv" && tail -n 20 "$work/first.csv"; } >"$work/t.csv"
changed "$work/table" "$work/t.csv" 140
hours=$(head -n 1 "$work/first.csv" | tr ',' '\n' | grep -n '^hours$' | cut -d: -f1)
awk -F, -v OFS=, -v at="$hours" 'NR > 1 && $at != "" { $at *= 1024 } 1' "$work/first.csv" >"$work/t.csv"
changed "$work/table" "$work/t.csv" 120
# A column more to score by is no change: the network does not see it.
awk -F, -v OFS=, '{ print $0, NR == 1 ? "site" : NR % 2 ? "north" : "south" }' "$work/first.csv" >"$work/t.csv"
run 0 evaluate "$work/table" --by site --out "$work/by-site"
cut -d, -f1-6 "$work/by-site/examples.csv" >"$work/here"
cut -d, -f1-6 "$work/table-before/examples.csv" >"$work/there"
same "$work/here" "$work/there"

# Pictures that have moved: a folder per class, and a folder with a list.
for data in m source; do
    run 0 train "$work/$data" $small --epochs 2 --out "$work/stays-$data"
    run 0 train "$work/$data" $small --epochs 1 --out "$work/moved-$data"
    run 0 evaluate "$work/moved-$data" --out "$work/early-$data"
    mv "$work/$data" "$work/new-$data"
    run 2 evaluate "$work/moved-$data"
    complains "$work/$data: the data that this run was trained on are not there any more.*--data PLACE"
    run 0 evaluate "$work/moved-$data" --data "$work/new-$data"
    complains 'data that the run was trained on, in another place: what it was not trained on is scored$'
    run 0 evaluate "$work/moved-$data" --data "$work/new-$data" --part train --out "$work/own-$data"
    complains 'data that the run was trained on, in another place: what it was trained on is scored, as --part train asks$'
    same "$work/early-$data/examples.csv" "$work/moved-$data/examples.csv"
    run 2 train --resume --out "$work/moved-$data"
    complains "no such folder or file; if it has moved, name where it is"
    run 0 train "$work/new-$data" --resume --epochs 2 --out "$work/moved-$data"
    same "$work/stays-$data/losses.csv" "$work/moved-$data/losses.csv"
    run 0 evaluate "$work/moved-$data"
done

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
