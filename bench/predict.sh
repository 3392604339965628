#!/usr/bin/env bash
# What the prediction of an image with eight mirror images costs: hws predict, with reading, preprocessing and writing, beside the
# same network and windows in PyTorch (torch_predict.py), without them. In rounds: ours, PyTorch contiguous, PyTorch channels_last;
# medians of the rounds, the lowest and the highest of them, of PyTorch in the better layout. Then how far both agree.
# usage: bench/predict.sh HWS [RUN IMAGES [how many images]]
# IMAGES: files of one channel at the plan's spacing, CASE_0000.nii.gz. Without RUN: phantoms of SIZE (36,52,36, as large as volumes of
# a hippocampus), and the U-Net that is planned for them (40 x 56 x 40, 4 levels) after ITERATIONS (20) steps on them; how well it
# predicts does not matter here.
# In the environment: THREADS (all), ROUNDS (3), SIZE, ITERATIONS, PYTHON.
set -euo pipefail
export LC_ALL=C # awk and printf must read and write numbers as hws does
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
case $# in 1 | 3 | 4) ;; *) usage >&2; exit 2 ;; esac
hws=$1 run=${2:-} images=${3:-} most=${4:-10}
python=${PYTHON:-/usr/bin/python3}
threads=${THREADS:-$(nproc)}
rounds=${ROUNDS:-3}
peer=$(cd "$(dirname "$0")" && pwd)/torch_predict.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "$run" ]; then
    run=$work/run images=$work/data/imagesTs
    "$hws" phantom --out "$work/data" --cases 6 --test 3 --size "${SIZE:-36,52,36}" --spacing 3.4 --threads "$threads" >/dev/null
    "$hws" train "$work/data" --fold -1 --objective erm --optimizer adam --lr 0.003 --epochs 1 --epoch-length "${ITERATIONS:-20}" \
        --batch 2 --threads "$threads" --quiet --out "$run"
fi
if ! "$python" -c 'import torch, nibabel' 2>/dev/null; then
    echo "(no PyTorch or no nibabel: ours alone; scripts/setup peer installs them)"
    peer=""
fi
mkdir "$work/images"
count=0
for image in "$images"/*; do
    [ "$count" -lt "$most" ] || break
    ln -s "$(realpath "$image")" "$work/images/${image##*/}"
    count=$((count + 1))
done

run_ours() {
    local begin
    rm -rf "$work/ours"
    begin=$(date +%s.%N)
    "$hws" predict "$run" --input "$work/images" --output "$work/ours" --threads "$threads" --quiet
    awk -v b="$begin" -v e="$(date +%s.%N)" -v n="$count" 'BEGIN { print (e - b) / n }' >>"$work/seconds-hws"
}
run_peer() { # LAYOUT
    T=$threads OMP_NUM_THREADS=$threads LAYOUT=$1 "$python" "$peer" "$run" "$work/images" "$work/theirs" |
        sed 's/.*"seconds_per_image": \([0-9.e-]*\).*/\1/' >>"$work/seconds-$1"
}
summary() { # FILE: median, lowest, highest
    sort -g "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
}

for ((round = 0; round < rounds; round++)); do
    run_ours
    [ -z "$peer" ] || { run_peer contiguous; run_peer channels_last; }
done
read -r ours low high <<<"$(summary "$work/seconds-hws")"
printf '%d images, %d threads, seconds per image: hws %.3f (%.3f to %.3f)' "$count" "$threads" "$ours" "$low" "$high"
[ -n "$peer" ] || { echo; exit 0; }
better=$({ summary "$work/seconds-contiguous"; summary "$work/seconds-channels_last"; } | sort -g | head -n 1)
read -r theirs low high <<<"$better"
printf ', PyTorch %.3f (%.3f to %.3f), ratio %.2f\n' "$theirs" "$low" "$high" "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { print b / a }')"
"$hws" evaluate --pred "$work/ours" --ref "$work/theirs" --quiet | head -n 6
