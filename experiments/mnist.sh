#!/bin/sh
# The paper's Figure 2: MNIST with 1 % of the 3s, ERM and DRO for several beta, WRN-16-1, SGD with rate 0.01, batch 64; and
# DRO for several tails, whose beta follows from the losses.
# Writes OUT/report.html and prints the table. Runs that are there already are kept, those cut short go on.
#
# usage: experiments/mnist.sh [OUT]          (experiments/out/mnist)
# In the environment: BETAS ("0.1 1 10 100"), TAILS (none), SEEDS ("0"), EPOCHS (6), PRECISION (f32), DATA (mnist; or digits),
# JOBS (runs at a time, each on one thread: as many as there are processors), HWS (the program).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/experiments/out/mnist}
hws=${HWS:-$root/build/release/cli/hws}
data=${DATA:-mnist}
betas=${BETAS-0.1 1 10 100}
tails=${TAILS-}
seeds=${SEEDS:-0}
precision=${PRECISION:-f32}
jobs=${JOBS:-$(nproc)}
[ -x "$hws" ] || { echo "mnist.sh: there is no program at $hws; run make first" >&2; exit 1; }
[ "$data" != mnist ] || "$hws" fetch mnist
mkdir -p "$out"

train() { # name, then the options that make it
    name=$1
    shift
    if [ ! -e "$out/$name/config.json" ]; then
        set -- "$data" --keep 3=0.01 --epochs "${EPOCHS:-6}" --precision "$precision" "$@"
    else
        set -- --resume
    fi
    echo "$name"
    "$hws" train "$@" --threads 1 --quiet --out "$out/$name" || { echo "mnist.sh: $name failed" >&2; exit 1; }
}

running=""
finish() { # a run that failed ends the experiment
    for process in $running; do wait "$process" || exit 1; done
    running=""
}
start() {
    train "$@" &
    running="$running $!"
    if [ "$(echo $running | wc -w)" -ge "$jobs" ]; then finish; fi
}
for seed in $seeds; do
    start "erm-s$seed" --objective erm --seed "$seed"
    for beta in $betas; do
        start "beta$beta-s$seed" --objective dro --recipe paper --beta "$beta" --seed "$seed"
    done
    for tail in $tails; do start "tail$tail-s$seed" --objective dro --tail "$tail" --seed "$seed"; done
done
finish

set --
for seed in $seeds; do
    set -- "$@" "ERM=$out/erm-s$seed"
    for beta in $betas; do set -- "$@" "DRO, beta $beta=$out/beta$beta-s$seed"; done
    for tail in $tails; do set -- "$@" "DRO, tail $tail=$out/tail$tail-s$seed"; done
done
"$root/experiments/accuracy_table" 3 "$@" | tee "$out/table.txt"

first=${seeds%% *}
set -- "$out/erm-s$first"
for beta in $betas; do set -- "$@" "$out/beta$beta-s$first"; done
for tail in $tails; do set -- "$@" "$out/tail$tail-s$first"; done
"$hws" report "$@" --out "$out/report.html"
echo "report: $out/report.html"
