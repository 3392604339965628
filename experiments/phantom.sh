#!/bin/sh
# The paper's Table 2 on synthetic phantoms: ERM and DRO on heads of which few are abnormal, judged on a test set in which
# a third of the cases is of each condition. Nothing about patients follows from it (docs/phantoms.md).
#
# usage: experiments/phantom.sh [OUT]        (experiments/out/phantom)
# In the environment: SEEDS ("0 1 2"), CASES (60), TEST (45), SIZE (24,32,24) and SPACING (5) of the volumes, EPOCHS (8),
# EPOCH_LENGTH (100), BATCH (2), DRO (options of its runs), JOBS, HWS. A quarter of an hour on two cores with the defaults.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/experiments/out/phantom}
hws=${HWS:-$root/build/release/cli/hws}
dataset=$out/data
SEEDS=${SEEDS:-0 1 2} EPOCHS=${EPOCHS:-8} EPOCH_LENGTH=${EPOCH_LENGTH:-100}
[ -x "$hws" ] || { echo "phantom.sh: there is no program at $hws; run make first" >&2; exit 1; }
. "$root/experiments/segmentation.sh"
mkdir -p "$out"
[ -e "$dataset/dataset.json" ] || "$hws" phantom --out "$dataset" --cases "${CASES:-60}" --test "${TEST:-45}" \
    --size "${SIZE:-24,32,24}" --spacing "${SPACING:-5}"
# With so few iterations Adam comes further than nnU-Net's momentum of 0.99.
train_both --fold -1 --optimizer adam --lr 0.002

for seed in $seeds; do
    for objective in erm dro; do
        run=$out/$objective-s$seed
        "$hws" predict "$run" --input "$dataset/imagesTs" --output "$run/test" --quiet
        "$hws" evaluate --pred "$run/test" --ref "$dataset/labelsTs" --groups "$dataset/groups.csv" --by condition \
            --regions "white matter=1,intra-axial CSF=2,cerebellum=3" --images "$dataset/imagesTs" --out "$run" --quiet \
            >/dev/null
    done
    echo
    echo "seed $seed"
    compare "$out/table-s$seed.txt" "$out/erm-s$seed/summary.json" "$out/dro-s$seed/summary.json" \
        --groups "$dataset/groups.csv" --by condition --names ERM,DRO
done
first=${seeds%% *}
"$hws" report "$out/erm-s$first" "$out/dro-s$first" --out "$out/report.html"
echo "report: $out/report.html"
