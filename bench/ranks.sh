#!/bin/sh
# Training steps on one rank with one and two threads, and on two ranks with one thread each, by turns: medians in milliseconds, how
# much faster two ranks are, and which part of a step the gathering of losses takes. The machine should be quiet and have two
# free cores. usage: bench/ranks.sh PROGRAM [ROUNDS [SECONDS [MODEL...]]]     (built with make MPI=1)
set -eu
program=$1
rounds=${2:-5}
seconds=${3:-4}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- unet wrn-16-1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

measure() { # RANKS THREADS MODEL
    mpirun -n "$1" --oversubscribe --bind-to none "$program" bench train --model "$3" --threads "$2" --seconds "$seconds" --json \
        >>"$work/$3-$1x$2"
}
median() { # FIELD FILE
    sed "s/.*\"$1\": \([0-9.]*\).*/\1/" "$2" | sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

for model in "$@"; do
    for round in $(seq "$rounds"); do
        for way in "1 1" "2 1" "1 2"; do measure $way "$model"; done
    done
    echo "$model" $(for way in 1x1 1x2 2x1; do median ms_per_iteration "$work/$model-$way"; done) \
        "$(median gather_ms "$work/$model-2x1")" | awk '{
        printf "%-10s 1 rank x 1 thread %8.1f ms, 1 x 2 %8.1f ms, 2 x 1 %8.1f ms: %.2f times (at least 1.85), ", $1, $2, $3, $4, $2 / $4
        printf "%+.1f %% beside two threads (at most 5), ", 100 * ($4 / $3 - 1)
        printf "losses gathered in %.3f ms, %.2f %% of a step (at most 1)\n", $5, 100 * $5 / $4 }'
done
