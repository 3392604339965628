#!/bin/sh
# Training steps on one rank with one and two threads, and on two ranks with one thread each, in turn: milliseconds, and how much
# faster two ranks are. The machine should be quiet and have two free cores.
# usage: bench/ranks.sh PROGRAM [ROUNDS]     (built with make MPI=1)
set -eu
program=$1
rounds=${2:-3}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

step() { # RANKS THREADS MODEL: milliseconds
    mpirun -n "$1" --oversubscribe --bind-to none "$program" bench train --model "$3" --threads "$2" --seconds 8 --json |
        sed 's/.*"ms_per_iteration": \([0-9.]*\).*/\1/'
}
least() { printf '%s\n%s\n' "$1" "$2" | sort -g | head -n 1; }

for model in unet wrn-16-1; do
    one=1e9 threads=1e9 ranks=1e9
    for round in $(seq "$rounds"); do
        one=$(least "$one" "$(step 1 1 "$model")")
        threads=$(least "$threads" "$(step 1 2 "$model")")
        ranks=$(least "$ranks" "$(step 2 1 "$model")")
    done
    echo "$model $one $threads $ranks" | awk '{
        printf "%-10s 1 rank x 1 thread %8.1f ms, 1 x 2 %8.1f ms, 2 x 1 %8.1f ms: %.2f times (at least 1.85), ", $1, $2, $3, $4, $2 / $4
        printf "%+.1f %% beside two threads (at most 5)\n", 100 * ($4 / $3 - 1) }'
done
