#!/bin/sh
# ERM and DRO as it is by default on a real dataset in nnU-Net's layout that has no rare group, after 7, 20 and 40 epochs:
# what robustness costs. Written for the hippocampus of the Medical Segmentation Decathlon, but any dataset will do.
#
# usage: experiments/hippocampus.sh DATASET_FOLDER [OUT]        (experiments/out/hippocampus)
# In the environment: FOLD (0), SEEDS ("0 1 2"), METHODS ("erm dro"; also beta10, paper), EPOCHS ("7 20 40", a run each, since the rate falls
# to zero at the end), EPOCH_LENGTH (50), BATCH (2), COLUMN (of groups.csv: protocol), JOBS, HWS. About two hours of one core per seed.
set -eu
[ $# -ge 1 ] || { echo "usage: experiments/hippocampus.sh DATASET_FOLDER [OUT]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
dataset=$1
out=${2:-$root/experiments/out/hippocampus}
. "$root/experiments/common.sh"
. "$root/experiments/volumes.sh"
seeds=${SEEDS:-0 1 2} methods=${METHODS:-erm dro} group=${COLUMN:-protocol} lengths=${EPOCHS:-7 20 40}
"$hws" plan "$dataset" --out "$out/cache"
for seed in $seeds; do
    for epochs in $lengths; do
        for method in $methods; do
            queue "$method-e$epochs-s$seed" "$dataset" --cache "$out/cache" --fold "${FOLD:-0}" --epochs "$epochs" \
                --epoch-length "${EPOCH_LENGTH:-50}" --batch "${BATCH:-2}" $(options_of "$method") --seed "$seed"
        done
    done
done
train_queue

set --
for epochs in $lengths; do
    for method in $methods; do
        for seed in $seeds; do
            "$hws" evaluate "$out/$method-e$epochs-s$seed" --quiet >/dev/null
            set -- "$@" "$method, $epochs epochs=$out/$method-e$epochs-s$seed"
        done
    done
done
"$root/experiments/dice_table" "$group" "" "$@" >"$out/table.txt"
cat "$out/table.txt"
