#!/usr/bin/env bash
# What the prediction of an image costs: hws predict, with reading, preprocessing and writing, beside the same network and
# windows in PyTorch, without them. In turns; the best of each counts. Then how far both agree.
# usage: bench/predict.sh HWS RUN IMAGES [how many images]
# IMAGES: files of one channel at the plan's spacing, CASE_0000.nii.gz. THREADS (all), PYTHON.
set -euo pipefail
export LC_ALL=C # awk and printf must read and write numbers as hws does
[ $# -ge 3 ] || { echo "usage: bench/predict.sh HWS RUN IMAGES [how many images]" >&2; exit 2; }
hws=$1 run=$2 images=$3 most=${4:-10}
python=${PYTHON:-/usr/bin/python3}
threads=${THREADS:-$(nproc)}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/images"
count=0
for image in "$images"/*; do
    [ "$count" -lt "$most" ] || break
    ln -s "$(realpath "$image")" "$work/images/${image##*/}"
    count=$((count + 1))
done

best() { awk -v a="$1" -v b="${2:-}" 'BEGIN { print b == "" || a + 0 < b + 0 ? a : b }'; }
ours="" theirs=""
for layout in contiguous channels_last; do
    rm -rf "$work/ours"
    begin=$(date +%s.%N)
    "$hws" predict "$run" --input "$work/images" --output "$work/ours" --threads "$threads" --quiet
    ours=$(best "$(awk -v b="$begin" -v e="$(date +%s.%N)" -v n="$count" 'BEGIN { print (e - b) / n }')" "$ours")
    row=$(T=$threads OMP_NUM_THREADS=$threads LAYOUT=$layout "$python" "$here/torch_predict.py" "$run" "$work/images" "$work/theirs")
    theirs=$(best "$(sed 's/.*"seconds_per_image": \([0-9.e-]*\).*/\1/' <<<"$row")" "$theirs")
done
awk -v a="$ours" -v b="$theirs" -v n="$count" -v t="$threads" 'BEGIN {
    printf "%d images, %d threads: hws %.3f s per image, PyTorch %.3f s, ratio %.2f\n", n, t, a, b, b / a }'
"$hws" evaluate --pred "$work/ours" --ref "$work/theirs" --quiet | head -n 6
