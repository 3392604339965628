#!/bin/sh
# Chest X-rays of children, pneumonia or not, with a group that is rare in training: pneumonia by a virus, thinned out to a
# fiftieth. Accuracy by group for several objectives and seeds, at the last epoch (no weights are chosen by the test part).
#
# usage: experiments/chest.sh FOLDER [OUT]       (experiments/out/chest); FOLDER has labels.csv with a column group
# In the environment: METHODS ("erm dro reweight group-dro"), SEEDS ("0 1 2"), EPOCHS (10), SIZE (48), MODEL (wrn-10-1),
# KEEP (group:virus=0.02), HWS. Runs that are there are resumed or left alone.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
data=${1:?usage: experiments/chest.sh FOLDER [OUT]}
out=${2:-$root/experiments/out/chest}
hws=${HWS:-$root/build/release/cli/hws}
methods=${METHODS:-erm dro reweight group-dro}
seeds=${SEEDS:-0 1 2}
[ -x "$hws" ] || { echo "chest.sh: there is no program at $hws; run make first" >&2; exit 1; }
mkdir -p "$out"

for seed in $seeds; do
    for method in $methods; do
        run="$out/$method-seed$seed"
        if [ -e "$run/config.json" ]; then
            "$hws" train --resume --quiet --out "$run"
        else
            "$hws" train "$data" --keep "${KEEP:-group:virus=0.02}" --objective "$method" --seed "$seed" --size "${SIZE:-48}" \
                --colour grey --model "${MODEL:-wrn-10-1}" --batch 32 --recipe xrays --optimizer adam --lr 0.001 --schedule cosine --epochs "${EPOCHS:-10}" \
                --threads 1 --quiet --out "$run"
        fi
    done
done

printf '%-12s %6s' method seeds
head -n 1 "$out/$(echo $methods | cut -d' ' -f1)-seed$(echo $seeds | cut -d' ' -f1)/history.csv" | tr ',' '\n' |
    sed -n 's/^test_accuracy$/all/p; s/^test_accuracy_group:/ /p; s/^test_worst_group$/worst/p' | while read -r name; do
    printf ' %15s' "$name"
done
echo
for method in $methods; do
    for seed in $seeds; do cat "$out/$method-seed$seed/history.csv"; done | awk -F, -v method="$method" '
        /^epoch/ { if (runs++) keep(); for (i = 1; i <= NF; i++) if ($i ~ /^test_accuracy(_group:|$)|^test_worst_group/) is[i] = 1; n = NF; next }
        { last = $0 }
        function keep(   f, i) { split(last, f, ","); for (i = 1; i <= n; i++) if (is[i]) { sum[i] += f[i]; sq[i] += f[i] ^ 2 } }
        END {
            keep()
            printf "%-12s %6d", method, runs
            for (i = 1; i <= n; i++) if (is[i]) {
                mean = sum[i] / runs; var = runs > 1 ? (sq[i] - runs * mean ^ 2) / (runs - 1) : 0
                printf "  %5.1f %% (%4.1f)", 100 * mean, 100 * sqrt(var > 0 ? var : 0)
            }
            print ""
        }'
done | tee "$out/table.txt"
