#!/bin/sh
# ERM and DRO on a real dataset in nnU-Net's layout, one fold, same splits and seeds, compared by the groups of its
# groups.csv. Written for the hippocampus of the Medical Segmentation Decathlon, but any dataset will do.
#
# usage: experiments/hippocampus.sh DATASET_FOLDER [OUT]        (experiments/out/hippocampus)
# In the environment: FOLD (0), SEEDS ("0"), EPOCHS (40), EPOCH_LENGTH (50), BATCH (2), DRO (options of its runs), JOBS, HWS.
# About an hour on two cores with the defaults.
set -eu
[ $# -ge 1 ] || { echo "usage: experiments/hippocampus.sh DATASET_FOLDER [OUT]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
dataset=$1
out=${2:-$root/experiments/out/hippocampus}
hws=${HWS:-$root/build/release/cli/hws}
[ -x "$hws" ] || { echo "hippocampus.sh: there is no program at $hws; run make first" >&2; exit 1; }
EPOCHS=${EPOCHS:-40} EPOCH_LENGTH=${EPOCH_LENGTH:-50}
. "$root/experiments/segmentation.sh"
mkdir -p "$out"
train_both --fold "${FOLD:-0}"

for seed in $seeds; do
    for objective in erm dro; do "$hws" evaluate "$out/$objective-s$seed" --quiet; done
    echo
    echo "seed $seed"
    set -- "$out/erm-s$seed/summary.json" "$out/dro-s$seed/summary.json" --names ERM,DRO
    [ ! -e "$dataset/groups.csv" ] || set -- "$@" --groups "$dataset/groups.csv"
    compare "$out/table-s$seed.txt" "$@"
done
first=${seeds%% *}
"$hws" report "$out/erm-s$first" "$out/dro-s$first" --out "$out/report.html"
echo "report: $out/report.html"
