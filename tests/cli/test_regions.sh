#!/bin/sh
# Overlapping labels of several channels, with values 0, 1, 2, 4, from the dataset to predictions. usage: test_regions.sh PROGRAM SEGMENT
set -u
program=$1
segment=$2
. "$(dirname "$0")/testing.sh"

there() { for file in "$@"; do [ -s "$file" ] || fail "$file is missing or empty"; done; }

data=$work/data
run 0 phantom --tumours --out "$data" --cases 6 --test 2 --size 24,24,24 --spacing 5 --threads 2
grep -q '^phantom_001,centre [1-4],\(high\|low\)$' "$data/groups.csv" || fail "groups.csv has no centres"
there "$data/imagesTr/phantom_006_0003.nii.gz" "$data/labelsTs/test_002.nii.gz"
run 2 phantom --tumours --spina-bifida 1 --out "$work/none"
complains "neither spina bifida"

run 0 plan "$data"
grep -q '"labels": \[0, 1, 2, 4\]' "$data/hws_cache/plans.json" || fail "the plan lacks the label values"
grep -q '"name": "tumour core", "values": \[1, 4\], "writes": 1' "$data/hws_cache/plans.json" || fail "the plan lacks the regions"
# Few features, for speed.
sed 's/"features": [0-9]*/"features": 16/' "$data/hws_cache/plans.json" >"$work/plan" && cp "$work/plan" "$data/hws_cache/plans.json"

# The regions are learnt; each column of the history is a region's.
run 0 train "$data" --objective erm --optimizer adam --lr 0.03 --weight-decay 0 --iterations 24 --epoch-length 6 \
    --batch 2 --threads 1 --quiet --out "$work/a"
head -n 1 "$work/a/history.csv" | grep -q ",val_dice,val_dice_whole tumour,val_dice_tumour core,val_dice_enhancing tumour,val_loss," ||
    fail "history.csv lacks the regions"
awk -F, 'NR == 2 { first = $11 } END { exit !($11 > 0.4 && $11 > first && $12 > 0.3) }' "$work/a/history.csv" ||
    fail "the regions were not learnt: $(cut -d, -f11-15 "$work/a/history.csv" | tr '\n' ' ')"
run 0 evaluate "$work/a" --no-mirror --threads 2
prints "enhancing tumour"
prints "centre: "
there "$work/a/summary.json" "$work/a/worst.csv"
grep -q '"(1, 2, 4)"\|"1+2+4"\|1, 2, 4' "$work/a/summary.json" || fail "summary.json lacks the whole tumour"

# Robust training, the same with other threads: the same to the bit.
how="$data --iterations 4 --epoch-length 2 --batch 2 --quiet"
run 0 train $how --threads 2 --loaders 2 --out "$work/b"
run 0 train $how --threads 1 --out "$work/c"
same "$work/b/latest.safetensors" "$work/c/latest.safetensors"

# A label map has the values of the training labels, and the library gives the same one.
run 0 predict "$work/a" --input "$data/imagesTs" --output "$work/labels" --no-mirror
there "$work/labels/test_001.nii.gz" "$work/labels/test_002.nii.gz"
run 0 evaluate --pred "$work/labels" --ref "$data/labelsTs" --regions "whole=1+2+4,core=1+4,enhancing=4"
prints "core"
grep -q "no region" "$work/err" && fail "there are other values than 1, 2, 4"
mkdir "$work/model"
cp "$work/a/plans.json" "$work/a/best.safetensors" "$work/model"
run 0 predict "$work/model" --input "$data/imagesTs" --output "$work/mirrored"
"$segment" "$work/model" "$data"/imagesTs/test_001_000?.nii.gz "$work/one.nii.gz" >"$work/out" 2>"$work/err" || fail "segment failed"
gzip -dc "$work/one.nii.gz" >"$work/one.nii"
gzip -dc "$work/mirrored/test_001.nii.gz" >"$work/two.nii"
same "$work/one.nii" "$work/two.nii"

# Which largest components to keep, found on two folds together; label maps follow it when that is asked for.
run 0 train $how --fold 1 --threads 1 --out "$work/fold1"
run 0 evaluate "$work/b" "$work/fold1" --no-mirror --find-postprocessing --out "$work/folds"
complains "postprocessing: "
there "$work/folds/summary.json" "$work/folds/postprocessing.json"
[ "$(sed 1d "$work/folds/cases.csv" | cut -d, -f1 | sort -u | wc -l)" -eq "$(ls "$work/b/validation-unmirrored" "$work/fold1/validation-unmirrored" | grep -c gz)" ] ||
    fail "cases.csv has not the cases of both folds"
run 0 predict "$work/b" "$work/fold1" --input "$data/imagesTs" --output "$work/kept" --no-mirror --postprocessing "$work/folds"
printf '{"hws_postprocessing": 1, "keep_largest": []}' >"$work/nothing.json"
run 0 predict "$work/a" --input "$data/imagesTs" --output "$work/as-it-was" --no-mirror --postprocessing "$work/nothing.json"
for map in "$work"/labels/*.nii.gz; do same "$map" "$work/as-it-was/${map##*/}"; done
# An evaluation finds out what was done to label maps.
run 0 predict "$work/b" --input "$data/imagesTs" --output "$work/islands" --no-mirror
printf '{"hws_postprocessing": 1, "keep_largest": [[2]]}' >"$work/two.json"
run 0 predict "$work/b" --input "$data/imagesTs" --output "$work/one-island" --no-mirror --postprocessing "$work/two.json"
run 0 evaluate --pred "$work/islands" --ref "$work/one-island" --regions two=2 --find-postprocessing --out "$work/found"
complains "postprocessing: keeping the largest component of all labels together raises .* to 100.00 %"
tr -d ' \n' <"$work/found/postprocessing.json" | grep -q '"keep_largest":\[\[2\]\]' || fail "another postprocessing was found"
run 2 evaluate "$work/b" "$work/c" --no-mirror --out "$work/never"
complains "different folds"
run 2 evaluate "$work/b" "$work/fold1" --no-mirror
complains "give --out"
run 2 evaluate --pred "$work/labels" --ref "$data/labelsTs" --find-postprocessing
complains "needs --out"
run 2 predict "$work/a" --input "$data/imagesTs" --output "$work/never" --postprocessing "$work/a"
complains "has no postprocessing"
run 2 predict "$work/a" --input "$data/imagesTs" --output "$work/never" --postprocessing "$data/dataset.json"
complains "no postprocessing of hws"

# The same files with labels that exclude each other, and a gap.
sed 's/"labels": .*/"labels": {"background": 0, "necrosis": 1, "oedema": 2, "enhancing": 4},/; /regions_class_order/d' \
    "$data/dataset.json" >"$work/plain.json"
grep -v regions_class_order "$data/dataset.json" >"$work/orderless.json"
cp "$work/plain.json" "$data/dataset.json"
run 2 train "$data" --out "$work/stale"
complains "replan"
run 0 train $how --cache "$work/cache" --threads 2 --out "$work/d"
head -n 1 "$work/d/history.csv" | grep -q ",val_dice_oedema,val_dice_enhancing,val_loss," || fail "history.csv lacks the labels"
run 0 evaluate "$work/d" --no-mirror
prints "enhancing"
cp "$work/orderless.json" "$data/dataset.json"
run 2 train "$data" --out "$work/orderless"
complains "regions_class_order"

exit $((failures > 0))
