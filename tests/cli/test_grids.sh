#!/bin/sh
# Volumes whose spacing is not the plan's, and volumes of two channels. usage: test_grids.sh PROGRAM MAKE_IMAGE
set -u
program=$1
make_image=$2
. "$(dirname "$0")/testing.sh"

make() { "$make_image" "$@" || fail "make_image $*"; }

data=$work/data
run 0 phantom --out "$data" --cases 5 --size 16,24,16 --spacing 6 --threads 2
run 0 train "$data" --iterations 2 --epoch-length 2 --batch 2 --quiet --threads 2 --out "$work/a"

# A small file whose header asks for gigabytes.
mkdir "$work/huge"
make "$work/huge/tiny_0000.nii.gz" 16,16,16 400 1 0
run 2 predict "$work/a" --input "$work/huge" --output "$work/p" --quiet
complains "tiny: the image would have 1067 x 1067 x 1067 voxels at the plan's spacing 6 x 6 x 6.*400 x 400 x 400"
[ ! -e "$work/p/tiny.nii.gz" ] || fail "there is a label map of what was refused"
make "$data/imagesTr/phantom_003_0000.nii.gz" 16,16,16 400 1 0 "$data/labelsTr/phantom_003.nii.gz"
run 2 plan "$data" --quiet
complains "phantom_003: the image would have.*check the spacing"

# Images of another spacing, turned about z: label maps on their grids, which evaluate insists on.
mkdir "$work/turned" "$work/turned_labels"
for k in 1 2; do make "$work/turned/t${k}_0000.nii.gz" 20,22,18 4.5 1 $k "$work/turned_labels/t$k.nii.gz"; done
predict() { out=$1; shift; run 0 predict "$@" --input "$work/turned" --output "$work/$out" --no-mirror --quiet --threads 2; }
predict plain "$work/a"
run 0 evaluate --pred "$work/plain" --ref "$work/turned_labels" --quiet
predict bf16 "$work/a" --precision bf16
run 0 evaluate --pred "$work/bf16" --ref "$work/plain" --quiet
predict steps "$work/a" --step 0.25
run 0 evaluate --pred "$work/steps" --ref "$work/plain" --quiet
run 2 predict "$work/a" --input "$work/turned" --output "$work/no" --step 0
complains "step"
run 2 predict "$work/a" --input "$work/turned" --output "$work/no" --precision f16
complains "no precision 'f16'; f32 and bf16 are known"

# The Decathlon's layout with two channels in one file: plan, train, evaluate, and an ensemble of two different runs.
two=$work/two
mkdir -p "$two/imagesTr" "$two/labelsTr"
list=
for k in 0 1 2 3 4; do
    make "$two/imagesTr/b$k.nii.gz" 16,18,20 $((2 + k % 2)) 2 $k "$two/labelsTr/b$k.nii.gz"
    list="$list${list:+,}{\"image\": \"./imagesTr/b$k.nii.gz\", \"label\": \"./labelsTr/b$k.nii.gz\"}"
done
cat >"$two/dataset.json" <<END
{"name": "balls", "modality": {"0": "T1", "1": "T2"}, "labels": {"0": "background", "1": "ball"},
 "numTraining": 5, "training": [$list], "numTest": 0, "test": []}
END
run 0 plan "$two" --threads 2
prints "5 cases, 5 preprocessed now"
for fold in 0 1; do
    run 0 train "$two" --iterations 2 --epoch-length 2 --batch 2 --quiet --threads 2 --fold $fold --out "$work/fold$fold"
done
run 0 evaluate "$work/fold0" --no-mirror --threads 2
prints "ball"
run 0 predict "$work/fold0" "$work/fold1" --input "$two/imagesTr" --output "$work/both" --no-mirror --quiet --threads 2
[ "$(ls "$work/both" | wc -l)" -eq 5 ] || fail "there are not five label maps"
run 0 evaluate --pred "$work/both" --ref "$two/labelsTr" --quiet
run 2 predict "$work/fold0" --input "$work/turned" --output "$work/no" --quiet
complains "channel"

[ $failures -eq 0 ]
