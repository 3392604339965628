#!/bin/sh
# Does SGD with stale losses converge, as the paper's theorem says? The fully connected network of Assumption 1 on a small
# set: how many iterations until the norm of the gradient of R falls below epsilon, with exact and with stale losses, with and
# without importance weights, for several beta; and how far p of the stale losses is from p of the exact ones.
# Writes OUT/report.html (see "Norm of the gradient of the robust loss") and prints the tables.
#
# usage: experiments/convergence.sh [OUT]      (experiments/out/convergence)
# In the environment: EPOCHS (60, of 16 iterations), BETAS ("0.1 1 10"), EPSILONS ("1 0.3 0.1"), DIVERGENCES ("kl"), SEEDS ("0 1 2"),
# JOBS, HWS. A few minutes on two cores.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/experiments/out/convergence}
. "$root/experiments/common.sh"
seeds=${SEEDS:-0 1 2} epsilons=${EPSILONS:-1 0.3 0.1} divergences=${DIVERGENCES:-kl} betas=${BETAS:-0.1 1 10}

each_run() { # calls "$1" with the name without the seed, seed, divergence, beta, history, weights
    for seed in $seeds; do
        for divergence in $divergences; do
            for beta in $betas; do
                "$1" "$divergence-beta$beta-exact" "$seed" "$divergence" "$beta" exact off
                "$1" "$divergence-beta$beta-stale" "$seed" "$divergence" "$beta" stale off
                "$1" "$divergence-beta$beta-stale-weights" "$seed" "$divergence" "$beta" stale paper
            done
        done
    done
}
queue_run() {
    weights=--no-importance
    [ "$6" = off ] || weights="--importance $6"
    queue "$1-s$2" digits:256,256 --objective dro --model mlp-2-256 --batch 16 --lr 0.002 --epochs "${EPOCHS:-60}" \
        --divergence "$3" --beta "$4" --history "$5" $weights --look-ahead 0 --replacement --stop-grad-norm 0 --seed "$2"
}
each_run queue_run
train_queue

# The first iteration at whose epoch the norm is below epsilon, for each epsilon; nothing if it never is. Then the last norm
# times 1000, and the mean distance of stale from exact p in per cent.
show_run() {
    awk -F, -v name="$1" -v epsilons="$epsilons" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; count = split(epsilons, epsilon, " "); next }
        { norm = $at["grad_norm"]
          for (k = 1; k <= count; k++) if (!(k in reached) && norm < epsilon[k]) reached[k] = $at["iteration"]
          if ($at["stale_distance"] != "") { distance += $at["stale_distance"]; rows++ } }
        END { printf "%s", name
              for (k = 1; k <= count; k++) printf "\t%s", reached[k]
              printf "\t%.4f\t%s\n", 1000 * norm, rows ? sprintf("%.4f", 100 * distance / rows) : "" }' "$out/$1-s$2/history.csv"
}
each_run show_run >"$out/rows.txt"
set --
for epsilon in $epsilons; do set -- "$@" "norm < $epsilon"; done
"$root/experiments/seed_table" "$@" "last norm x 1000" "stale p (%)" <"$out/rows.txt" >"$out/table.txt"
echo "iterations until the norm of the gradient of R is below epsilon (means of the seeds that reached it)"
cat "$out/table.txt"
set --
for name in $(cut -f1 "$out/rows.txt" | sort -u); do set -- "$@" "$out/$name-s${seeds%% *}"; done
"$hws" report "$@" --out "$out/report.html"
echo "report: $out/report.html"
