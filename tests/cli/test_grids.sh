#!/bin/sh
# Volumes whose spacing is not the plan's. usage: test_grids.sh PROGRAM MAKE_IMAGE
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

[ $failures -eq 0 ]
