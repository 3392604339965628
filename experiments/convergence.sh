#!/bin/sh
# Does SGD with stale losses converge, as the paper's theorem says? The fully connected network of Assumption 1 on a small
# set: the norm of the gradient of R over iterations, with exact and with stale losses, for several beta and two
# divergences. Writes OUT/report.html (see "Norm of the gradient of the robust loss") and prints the norms.
#
# usage: experiments/convergence.sh [OUT]      (experiments/out/convergence)
# In the environment: EPOCHS (60), BETAS ("0.1 1 10"), DIVERGENCES ("kl chi2"), JOBS, HWS.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/experiments/out/convergence}
hws=${HWS:-$root/build/release/cli/hws}
jobs=${JOBS:-$(nproc)}
[ -x "$hws" ] || { echo "convergence.sh: there is no program at $hws; run make first" >&2; exit 1; }
mkdir -p "$out"

train() { # run, divergence, beta, history
    echo "$2, beta $3, $4 losses"
    if [ -e "$1/config.json" ]; then
        "$hws" train --resume --quiet --threads 1 --out "$1"
        return
    fi
    "$hws" train digits:256,256 --model mlp-2-256 --batch 16 --lr 0.002 --epochs "${EPOCHS:-60}" --divergence "$2" \
        --beta "$3" --history "$4" --look-ahead 0 --replacement --stop-grad-norm 0 --threads 1 --quiet --out "$1"
}
finish() { # a run that failed ends the experiment
    for process in $running; do wait "$process" || exit 1; done
    running=""
}

running=""
set --
for divergence in ${DIVERGENCES:-kl chi2}; do
    for beta in ${BETAS:-0.1 1 10}; do
        for history in exact stale; do
            run="$out/$divergence-beta$beta-$history"
            set -- "$@" "$run"
            train "$run" "$divergence" "$beta" "$history" &
            running="$running $!"
            if [ "$(echo $running | wc -w)" -ge "$jobs" ]; then finish; fi
        done
    done
done
finish

printf '\n%-28s %14s %14s %14s\n' "norm of the gradient of R" "first epoch" "middle" "last"
for run in "$@"; do
    awk -F, -v name="${run##*/}" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "grad_norm") column = i; next }
        { value[++rows] = $column }
        END { printf "%-28s %14.4g %14.4g %14.4g\n", name, value[1], value[int((rows + 1) / 2)], value[rows] }' "$run/history.csv"
done | tee "$out/table.txt"
"$hws" report "$@" --out "$out/report.html"
echo "report: $out/report.html"
