#!/bin/sh
# The time one has: hws train --budget beside nnU-Net's recipe (Nesterov 0.99 at 0.01, the plan's batch) in the same time, on
# one dataset in nnU-Net's layout, which is not written to. Validation and pictures count into the time; the full evaluation
# comes after it. Both recipes run side by side in the same minutes, on one thread each, so that what else the machine does
# is the same for both; ALONE=1: one after the other, on all processors.
#
# usage: experiments/budget.sh DATASET_FOLDER [OUT]              (experiments/out/budget)
# In the environment: BUDGETS ("10m 30m 60m"), FOLD (0), SEED (0), FEATURES (of the first stage; the plan's), PLAN (options of
# hws plan), OPTIONS (of all runs), ALONE, HWS. A hundred minutes with the defaults, and the evaluations. Finished runs are
# kept, and runs that were cut short go on with the time that they have left.
set -eu
[ $# -ge 1 ] || { echo "usage: experiments/budget.sh DATASET_FOLDER [OUT]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
dataset=$1
out=${2:-$root/experiments/out/budget}
. "$root/experiments/common.sh"
if [ ! -e "$out/cache/plans.json" ]; then
    "$hws" plan "$dataset" --out "$out/cache" --quiet ${PLAN:-}
    [ -z "${FEATURES:-}" ] || narrow_plan "$out/cache" "$FEATURES"
fi
threads="--threads 1"
[ -z "${ALONE:-}" ] || threads=""

train() { # name, options
    name=$1
    shift
    [ ! -e "$out/$name/summary.json" ] || return 0
    if [ -e "$out/$name/config.json" ]; then
        set -- --resume
    else
        set -- "$dataset" --cache "$out/cache" --fold "${FOLD:-0}" --seed "${SEED:-0}" --objective erm "$@" ${OPTIONS:-}
    fi
    began=$(date +%s.%N)
    "$hws" train "$@" --quiet $threads --out "$out/$name" || exit 1
    made=$(tail -n 1 "$out/$name/history.csv" | cut -d, -f2)
    echo "$name $began $(date +%s.%N) $made" |
        awk '{ printf "%s: %.2f s, %d iterations\n", $1, $3 - $2, $4 }' | tee -a "$out/times.txt"
    "$hws" evaluate "$out/$name" --quiet $threads || exit 1
}

chosen() { train "chosen-$1" --budget "$1"; }
nnunet() { train "nnunet-$1" --budget "$1" --optimizer nesterov --lr 0.01 --batch 0; }

names=""
set --
for budget in ${BUDGETS:-10m 30m 60m}; do
    if [ -n "${ALONE:-}" ]; then
        chosen "$budget"
        nnunet "$budget"
    else
        chosen "$budget" &
        first=$!
        nnunet "$budget" &
        second=$! failed=
        wait "$first" || failed=1
        wait "$second" || failed=1
        [ -z "$failed" ] || exit 1
    fi
    set -- "$@" "$out/chosen-$budget" "$out/nnunet-$budget"
    names="$names,chosen $budget,nnU-Net $budget"
done
"$hws" compare "$@" --names "${names#,}" --out "$out/comparison" >/dev/null
cat "$out/comparison/comparison.txt"
"$hws" report "$@" --names "${names#,}" --out "$out/report.html"
