#!/bin/sh
# Chest X-rays of children, pneumonia or not, with a group that is rare in training: pneumonia by a virus, thinned out to a
# fiftieth. Accuracy by group for several objectives and seeds, at the last epoch (no weights are chosen by the test part).
#
# usage: experiments/chest.sh FOLDER [OUT]       (experiments/out/chest); FOLDER has labels.csv with a column group
# In the environment: METHODS ("erm dro reweight group-dro"), SEEDS ("0 1 2"), EPOCHS (10), SIZE (48), MODEL (wrn-10-1),
# KEEP (group:virus=0.02), JOBS, HWS. Three to six minutes of a busy core per run.
set -eu
[ $# -ge 1 ] || { echo "usage: experiments/chest.sh FOLDER [OUT]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
dataset=$1
out=${2:-$root/experiments/out/chest}
. "$root/experiments/common.sh"
methods=${METHODS:-erm dro reweight group-dro} seeds=${SEEDS:-0 1 2}

for seed in $seeds; do
    for method in $methods; do
        queue "$method-s$seed" "$dataset" --keep "${KEEP:-group:virus=0.02}" --objective "$method" --seed "$seed" \
            --size "${SIZE:-48}" --colour grey --model "${MODEL:-wrn-10-1}" --batch 32 --recipe xrays --optimizer adam --lr 0.001 \
            --schedule cosine --epochs "${EPOCHS:-10}"
    done
done
train_queue

# The accuracy over all, of each group, and of the worst one: history.csv names the columns.
columns=$(head -n 1 "$out/${methods%% *}-s${seeds%% *}/history.csv" | tr ',' '\n' |
    grep -E '^test_(accuracy$|accuracy_group:|worst_group$)')
show_run() { # method, seed
    awk -F, -v name="$1" -v columns="$columns" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; count = split(columns, column, "\n"); next }
        { last = $0 }
        END { $0 = last
              printf "%s", name
              for (k = 1; k <= count; k++) printf "\t%.4f", 100 * $at[column[k]]
              print "" }' "$out/$1-s$2/history.csv"
}
for method in $methods; do for seed in $seeds; do show_run "$method" "$seed"; done; done >"$out/rows.txt"
(
    IFS='
'
    set -f
    "$root/experiments/seed_table" $(echo "$columns" | sed 's/^test_accuracy$/all/; s/^test_accuracy_group://; s/^test_worst_group$/worst group/')
) <"$out/rows.txt" >"$out/table.txt"
echo "accuracy (%), means over seeds and half the width of their 95 % confidence intervals"
cat "$out/table.txt"
report_first
