#!/bin/sh
# plan, predict and evaluate on several ranks: the files, the words and the failures of one process.
# usage: test_volumes.sh PROGRAM MPIRUN
set -u
program=$1
mpirun=$2
. "$(dirname "$0")/../cli/testing.sh"
. "$(dirname "$0")/launch.sh"

same_folder() { diff -r "$1" "$2" >"$work/difference" 2>&1 || fail "$1 and $2: $(head -n 5 "$work/difference")"; }
same_words() { same "$work/out" "$work/out-alone"; }
one_voice() { [ "$(grep -c '^hws: ' "$work/err")" -eq 1 ] || fail "not one rank speaks for all"; }
alone() { # CODE ARGUMENTS...
    run "$@"
    cp "$work/out" "$work/out-alone"
    cp "$work/err" "$work/err-alone"
}

# ---- plan
run 0 phantom --out "$work/data" --cases 7 --size 16,24,16 --spacing 6 --threads 2
run 0 plan "$work/data" --out "$work/cache" --threads 2
for ranks in 2 3; do
    launch 0 $ranks plan "$work/data" --out "$work/cache-$ranks" --threads $((ranks - 1))
    prints 'ready      7 cases, 7 preprocessed now'
    same_folder "$work/cache" "$work/cache-$ranks"
done
rm "$work/cache-2/cases/phantom_002.hwscase" "$work/cache-2/cases/phantom_005.hwscase" "$work/cache-2/cases/phantom_006.hwscase"
launch 0 2 plan "$work/data" --out "$work/cache-2" --threads 1
prints 'ready      7 cases, 3 preprocessed now'
same_folder "$work/cache" "$work/cache-2"

# Several broken cases, which different ranks find.
cp -r "$work/data" "$work/broken"
rm -rf "$work/broken/hws_cache"
for case in 002 003 004; do truncate -s 300 "$work/broken/labelsTr/phantom_$case.nii.gz"; done
alone 2 plan "$work/broken" --out "$work/no" --quiet
launch 2 3 plan "$work/broken" --out "$work/no" --quiet --threads 1
grep '^hws: ' "$work/err" >"$work/err-ranks"
same "$work/err-ranks" "$work/err-alone"
[ ! -e "$work/no/plans.json" ] || fail "a broken dataset was planned"

# Ranks that see different files.
timeout -k 5 300 "$mpirun" $over_loopback -n 1 "$program" plan "$work/data" --out "$work/no" : \
    -n 1 "$program" plan "$work/data/imagesTr" --out "$work/no" >"$work/out" 2>"$work/err" </dev/null
[ $? -ne 0 ] || fail "ranks with different data have planned"
run 0 phantom --out "$work/other" --cases 6 --size 16,24,16 --spacing 6 --threads 2
timeout -k 5 300 "$mpirun" $over_loopback -n 1 "$program" plan "$work/data" --out "$work/no" : \
    -n 1 "$program" plan "$work/other" --out "$work/no" >"$work/out" 2>"$work/err" </dev/null
complains 'is not the same for rank 1 as for rank 0'

# ---- train, which preprocesses first
how="$work/data --iterations 2 --epoch-length 1 --batch 2 --quiet"
run 0 train $how --cache "$work/fresh" --out "$work/run" --threads 2
rm -rf "$work/fresh"
launch 0 3 train $how --cache "$work/fresh" --out "$work/run-3" --threads 1
same "$work/run/latest.safetensors" "$work/run-3/latest.safetensors"
same_folder "$work/cache/cases" "$work/fresh/cases"
same "$work/cache/plans.json" "$work/fresh/plans.json"

# Each rank verifies its share of the cases; a damaged one is made anew by all.
for case in 003 004; do
    printf 'x' | dd of="$work/fresh/cases/phantom_$case.hwscase" bs=1 seek=9000 conv=notrunc 2>/dev/null
    launch 0 2 train $how --cache "$work/fresh" --out "$work/run-$case" --threads 1
    complains "damaged .* phantom_$case"
    same_folder "$work/cache/cases" "$work/fresh/cases"
    same "$work/run/latest.safetensors" "$work/run-$case/latest.safetensors"
done

# ---- predict
how="--input $work/data/imagesTr --no-mirror --save-probabilities"
run 0 predict "$work/run" $how --output "$work/labels" --threads 2
for ranks in 2 3; do
    launch 0 $ranks predict "$work/run" $how --output "$work/labels-$ranks" --threads $((ranks - 1))
    prints "7 label maps in $work/labels-$ranks"
    same_folder "$work/labels" "$work/labels-$ranks"
done
rm "$work/labels-2/phantom_001.nii.gz" "$work/labels-2/phantom_004.nii.gz" # an interrupted prediction goes on
launch 0 3 predict "$work/run" $how --output "$work/labels-2" --threads 1
prints "7 label maps in $work/labels-2, 5 of them there before; --overwrite predicts them again"
same_folder "$work/labels" "$work/labels-2"
alone 2 predict "$work/run" --input "$work/nowhere" --output "$work/no-labels" --quiet
launch 2 2 predict "$work/run" --input "$work/nowhere" --output "$work/no-labels" --quiet
one_voice
for case in 004 006; do truncate -s 300 "$work/broken/imagesTr/phantom_${case}_0000.nii.gz"; done
alone 1 predict "$work/run" --input "$work/broken/imagesTr" --output "$work/some" --no-mirror --quiet
mv "$work/some" "$work/some-alone"
launch 1 3 predict "$work/run" --input "$work/broken/imagesTr" --output "$work/some" --no-mirror --quiet --threads 1
one_voice
complains '2 of 7 cases could not be predicted, the others are in '
grep '^hws: ' "$work/err" >"$work/err-ranks"
same "$work/err-ranks" "$work/err-alone"
same_folder "$work/some" "$work/some-alone"

# ---- evaluate
how="--ref $work/data/labelsTr --hd95 --nsd 2 --groups $work/data/groups.csv --images $work/data/imagesTr --quiet"
alone 0 evaluate --pred "$work/labels" $how --out "$work/scores" --threads 2
for ranks in 2 3; do
    launch 0 $ranks evaluate --pred "$work/labels" $how --out "$work/scores-$ranks" --threads $((ranks - 1))
    same_words
    same_folder "$work/scores" "$work/scores-$ranks"
done
alone 2 evaluate --pred "$work/labels" --ref "$work/broken/labelsTr" --quiet
launch 2 3 evaluate --pred "$work/labels" --ref "$work/broken/labelsTr" --quiet
one_voice
grep '^hws: ' "$work/err" >"$work/err-ranks"
same "$work/err-ranks" "$work/err-alone"
cp -r "$work/run" "$work/run-again"
alone 0 evaluate "$work/run" --no-mirror --threads 2 --out "$work/validated"
launch 0 2 evaluate "$work/run-again" --no-mirror --threads 1 --out "$work/validated-2"
same_words
same_folder "$work/run/validation-unmirrored" "$work/run-again/validation-unmirrored"
same "$work/validated/cases.csv" "$work/validated-2/cases.csv"
same "$work/validated/table.md" "$work/validated-2/table.md"

# ---- images are the first rank's, and its failure is that of all
run 0 train digits:200,70 --model mlp-2-32 --batch 16 --iterations 3 --epoch-length 3 --quiet --out "$work/digits"
alone 0 evaluate "$work/digits"
launch 0 2 evaluate "$work/digits"
same_words
launch 2 2 evaluate "$work/nowhere"
one_voice
launch 2 2 inspect "$work/nowhere"
one_voice
[ $failures -eq 0 ]
