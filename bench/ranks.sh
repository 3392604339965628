#!/bin/sh
# How much faster two ranks train than one, beside two threads, and beside what the machine can give: two programs at once that
# know nothing of each other. In rounds: one rank with one thread on the first processor, two ranks with one thread each, one
# rank with two threads, two separate programs, and one rank with one thread on the second processor. Machines that are shared
# change their speed from one second to the next, and one processor's without the other's, for which the other then waits. So
# ratios are taken within a round, and a round does not count in which the first and the last measurement, or the two programs,
# differ by more than 5 %. Prints medians of the rounds that count. The machine should have two free processors.
# usage: bench/ranks.sh HWS [ROUNDS [SECONDS [MODEL...]]]     (30 rounds of 2 seconds each, of unet and wrn-16-1)
# In the environment: CPUS ("0 1"), the two processors; MPIRUN (mpirun). Without MPI in HWS (make MPI=1) nothing is measured.
set -eu
export LC_ALL=C # awk and printf must read and write numbers as hws does
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
[ $# -ge 1 ] || { usage >&2; exit 2; }
program=$1
rounds=${2:-30}
seconds=${3:-2}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- unet wrn-16-1
first=${CPUS:-0 1}
second=${first#* }
first=${first% *}
if ! "$program" info | grep -q '^MPI *built in'; then
    echo "(no MPI in $program, so no ranks: make MPI=1 builds it in)"
    exit 0
fi
mpirun=${MPIRUN:-mpirun}
options="--oversubscribe --bind-to none"
"$mpirun" --version 2>/dev/null | grep -qE 'Open MPI|OpenRTE' || options= # others need none
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

measure() { # RANKS THREADS MODEL CPUS
    # shellcheck disable=SC2086
    taskset -c "$4" "$mpirun" -n "$1" $options \
        "$program" bench train --model "$3" --threads "$2" --seconds "$seconds" --json
}
field() { sed "s/.*\"$1\": \([0-9.]*\).*/\1/"; }
milliseconds() { measure "$@" | field ms_per_iteration; }
two_programs() { # MODEL
    milliseconds 1 1 "$1" "$second" >"$work/other" &
    milliseconds 1 1 "$1" "$first"
    wait $!
    cat "$work/other"
}
one_round() { # MODEL: milliseconds of a step, in the order of above; the gathering of losses last
    before=$(milliseconds 1 1 "$1" "$first")
    measure 2 1 "$1" "$first,$second" >"$work/ranks"
    echo "$before $(field ms_per_iteration <"$work/ranks")" "$(milliseconds 1 2 "$1" "$first,$second")" $(two_programs "$1") \
        "$(milliseconds 1 1 "$1" "$second") $(field gather_ms <"$work/ranks")"
}
summary() { # MODEL: reads rounds
    awk -v model="$1" '
        function median(v, n,   i, j, x) {
            for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] > v[j]; j--) { x = v[j]; v[j] = v[j - 1]; v[j - 1] = x }
            return (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
        }
        function differ(a, b) { return a > 1.05 * b || b > 1.05 * a }
        differ($1, $6) || differ($4, $5) { next }
        { n++; one = ($1 + $6) / 2; ms[n] = one; ranks[n] = one / $2; beside[n] = 100 * ($2 / $3 - 1)
          limit[n] = 4 * one / ($4 + $5); gathered[n] = 100 * $7 / $2 }
        END { if (!n) { printf "%-10s no round of %d was steady enough\n", model, NR; exit }
          printf "%-10s %.1f ms with one thread; two ranks %.2f times (at least 1.85), two programs %.2f, ", model, median(ms, n),
              median(ranks, n), median(limit, n)
          printf "%+.1f %% beside two threads (at most 5), gathering of losses %.3f %% of a step (at most 1); %d of %d rounds\n",
              median(beside, n), median(gathered, n), n, NR }'
}

for model in "$@"; do
    for round in $(seq "$rounds"); do one_round "$model"; done >"$work/rounds"
    summary "$model" <"$work/rounds"
done
