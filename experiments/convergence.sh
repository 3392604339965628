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

running=0
list=""
for divergence in ${DIVERGENCES:-kl chi2}; do
    for beta in ${BETAS:-0.1 1 10}; do
        for history in exact stale; do
            run="$out/$divergence-beta$beta-$history"
            list="$list $run"
            [ -e "$run/history.csv" ] && continue
            rm -rf "$run"
            echo "$divergence, beta $beta, $history losses"
            "$hws" train digits:256,256 --model mlp-2-256 --batch 16 --lr 0.002 --epochs "${EPOCHS:-60}" \
                --divergence "$divergence" --beta "$beta" --history "$history" --look-ahead 0 --replacement \
                --stop-grad-norm 0 \
                --threads 1 --quiet --out "$run" &
            running=$((running + 1))
            if [ "$running" -ge "$jobs" ]; then wait; running=0; fi
        done
    done
done
wait

printf '\n%-28s %14s %14s %14s\n' "norm of the gradient of R" "first epoch" "middle" "last"
for run in $list; do
    awk -F, -v name="${run##*/}" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "grad_norm") column = i; next }
        { value[++rows] = $column }
        END { printf "%-28s %14.4g %14.4g %14.4g\n", name, value[1], value[int((rows + 1) / 2)], value[rows] }' "$run/history.csv"
done | tee "$out/table.txt"
"$hws" report $list --out "$out/report.html"
echo "report: $out/report.html"
