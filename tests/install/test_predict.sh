#!/bin/sh
# Installs a build into an empty folder, trains a small network with the program, and predicts with libhws_predict as
# others would: the labels must be those of hws predict.
# usage: test_predict.sh BUILD SOURCES CMAKE CC
set -eu
. "$(dirname "$0")/installed.sh"
find_library hws_predict
hws=$prefix/bin/hws
export OMP_WAIT_POLICY=passive
check_header hws_predict
check_names hws_predict hws_predict_open
check_soname hws_predict

step "a run, and what hws predict says"
"$hws" phantom --out "$work/data" --cases 5 --test 1 --size 16,24,16 --spacing 6 --threads 2 >"$work/log"
"$hws" train "$work/data" --iterations 2 --epoch-length 2 --batch 2 --quiet --threads 2 --out "$work/run" >"$work/log"
"$hws" predict "$work/run" --input "$work/data/imagesTs" --output "$work/labels" --threads 2 --quiet >"$work/log"
image=$(echo "$work"/data/imagesTs/*_0000.nii.gz)
expected=$(echo "$work"/labels/*.nii.gz)
[ -s "$image" ] && [ -s "$expected" ] || die "there is no image or no label map"

# predicts PROGRAM [MODEL]: the same file as hws predict.
predicts() {
    rm -f "$work/own.nii.gz"
    LD_LIBRARY_PATH=$libraries "$1" "${2:-$work/run}" "$image" "$work/own.nii.gz" >"$work/out" 2>"$work/err" ||
        die "$1: $(cat "$work/err")"
    cmp "$expected" "$work/own.nii.gz" || die "$1 predicts other labels than hws predict"
}

if command -v pkg-config >/dev/null; then
    step "pkg-config, with the commands of docs/c.md"
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name hws_predict.pc)")
    export PKG_CONFIG_PATH
    pkg-config --validate hws_predict
    documented_command 'pkg-config --cflags --libs hws_predict)'
    with_shared hws_predict "$work/documented/a.out"
    predicts "$work/documented/a.out"
    grep -q '^1 is white matter$' "$work/out" || die "the run's names of labels are not told"
    # LLVM's OpenMP runtime comes without a static library.
    if ! pkg-config --static --libs hws_predict | grep -q -e 'omp\.so' -e '-lomp'; then
        documented_command 'pkg-config --cflags --static --libs hws_predict)'
        without_shared hws_predict "$work/documented/a.out"
        predicts "$work/documented/a.out"
    fi

    step "both libraries in one program"
    # shellcheck disable=SC2046
    "$cc" "$sources/both.c" -o "$work/both" "$static" "$libraries/libhws.a" \
        $(pkg-config --cflags hws hws_predict) $(sed -n 's/^Libs.private: //p' "$PKG_CONFIG_PATH/hws_predict.pc")
    "$work/both"
fi

step "an exported model: a plan and weights"
mkdir "$work/model"
cp "$work/run/plans.json" "$work/model"
cp "$work/run/best.safetensors" "$work/model/weights.safetensors"
build_project "$sources/predict_project"
for program in with_shared with_static; do
    predicts "$work/project/$program"
    predicts "$work/project/$program" "$work/model"
done
with_shared hws_predict "$work/project/with_shared"
without_shared hws_predict "$work/project/with_static"
"$hws" predict "$work/model" --input "$work/data/imagesTs" --output "$work/exported" --threads 2 --quiet >"$work/log"
cmp "$expected" "$work/exported/$(basename "$expected")" || die "hws predict has other labels from the exported model"
echo "all is well"
