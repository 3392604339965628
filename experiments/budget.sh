#!/bin/sh
# The time one has: hws train --budget beside nnU-Net's optimiser in the same time, on one dataset in nnU-Net's layout.
# Validation and pictures count into the time; the full evaluation comes after it.
#
# usage: experiments/budget.sh DATASET_FOLDER [OUT]              (experiments/out/budget)
# In the environment: BUDGETS ("10m 30m 60m"), FOLD (0), SEED (0), OPTIONS (of all runs), HWS. Runs use all processors and
# come one after the other, so that the times are theirs alone: three hours and a half with the defaults.
set -eu
[ $# -ge 1 ] || { echo "usage: experiments/budget.sh DATASET_FOLDER [OUT]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
dataset=$1
out=${2:-$root/experiments/out/budget}
hws=${HWS:-$root/build/release/cli/hws}
[ -x "$hws" ] || { echo "budget.sh: there is no program at $hws; run make first" >&2; exit 1; }
mkdir -p "$out"
"$hws" plan "$dataset" --out "$out/cache"

train() { # name, options
    name=$1
    shift
    if [ -e "$out/$name/config.json" ]; then
        set -- --resume
    else
        set -- "$dataset" --cache "$out/cache" --fold "${FOLD:-0}" --seed "${SEED:-0}" --objective erm "$@" ${OPTIONS:-}
    fi
    began=$(date +%s)
    "$hws" train "$@" --quiet --out "$out/$name"
    echo "$name: $(($(date +%s) - began)) s" | tee -a "$out/times.txt"
    "$hws" evaluate "$out/$name" --quiet
}

names="" runs=""
for budget in ${BUDGETS:-10m 30m 60m}; do
    train "chosen-$budget" --budget "$budget"
    train "nnunet-$budget" --budget "$budget" --optimizer nesterov --lr 0.01
    runs="$runs $out/chosen-$budget $out/nnunet-$budget"
    names="$names,chosen $budget,nnU-Net $budget"
done
set -- $runs
"$hws" compare "$@" --names "${names#,}" --out "$out/comparison" >/dev/null
cat "$out/comparison/comparison.txt"
"$hws" report "$@" --names "${names#,}" --out "$out/report.html"
