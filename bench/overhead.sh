#!/usr/bin/env bash
# The paper's Table 4: time per iteration (a draw of two examples and the update of their losses) and memory, over the
# number of examples; ours and, where numpy is there, its (numpy_sampler.py), measured one after the other for each size.
# Then what a drawn and updated example costs in larger batches, with betas and with the tails that hws train takes.
# usage: bench/overhead.sh HWS
# In the environment: SIZES ("1e2 1e3 1e4 1e5 1e6 1e7"; LONG=1 adds 1e8 to ours), BATCH (2) and BETA (100) of the table;
# BATCH_SIZES ("1e6 1e7"), LARGER_BATCH (64); PYTHON.
set -euo pipefail
export LC_ALL=C # awk and printf must read and write numbers as hws does
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
[ $# -eq 1 ] || { usage >&2; exit 2; }
hws=$1
peer=$(dirname "$0")/numpy_sampler.py
sizes=${SIZES:-"1e2 1e3 1e4 1e5 1e6 1e7"}
batch=${BATCH:-2}
beta=${BETA:-100}
larger=${LARGER_BATCH:-64}
python=${PYTHON:-/usr/bin/python3}

field() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p"; }
if ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "(no numpy: ours alone; scripts/setup bench installs it)"
    peer=""
fi

print_ours() { # EXAMPLES: leaves the line open
    local row bytes
    row=$("$hws" bench sampler --n "$1" --batch "$batch" --beta "$beta" --json)
    ours=$(field iteration_ns <<<"$row")
    bytes=$(field bytes_per_example <<<"$row")
    awk -v n="$1" -v t="$ours" -v l="$(field low_ns <<<"$row")" -v h="$(field high_ns <<<"$row")" -v b="$bytes" \
        'BEGIN { printf "%10s %10.3f %8.3f to %-8.3f %12.4f", n, t / 1e3, l / 1e3, h / 1e3, n * b / 1e6 }'
}

print_peer() { # EXAMPLES
    local row theirs bytes
    row=$("$python" "$peer" "$1" "$batch" "$beta")
    theirs=$(field iteration_ns <<<"$row")
    bytes=$(field bytes_per_example <<<"$row")
    awk -v n="$1" -v t="$theirs" -v b="$bytes" -v o="$ours" \
        'BEGIN { printf " %14.1f %12.4f %12.0f", t / 1e3, n * b / 1e6, t / o }'
}

print_batches() { # EXAMPLES, then the options that say what is drawn
    local n=$1 row
    shift
    row=$("$hws" bench sampler --n "$n" --batch "$larger" "$@" --json)
    awk -v n="$n" -v o="$*" -v k="$larger" -v t="$(field iteration_ns <<<"$row")" -v l="$(field low_ns <<<"$row")" \
        -v h="$(field high_ns <<<"$row")" 'BEGIN { printf "%10s %-12s %10.1f %8.1f to %-8.1f\n", n, o, t / k, l / k, h / k }'
}

echo "Batch $batch, beta $beta, one thread; the median of five runs and their middle half"
printf '%10s %10s %20s %12s' examples "hws (us)" "middle half" "hws (MB)"
[ -z "$peer" ] || printf ' %14s %12s %12s' "numpy (us)" "numpy (MB)" "times faster"
printf '\n'
for n in $sizes; do
    print_ours "$n"
    [ -z "$peer" ] || print_peer "$n"
    printf '\n'
done
[ -z "${LONG:-}" ] || { print_ours 1e8; printf '\n'; }

printf '\nNanoseconds for each drawn and updated example in batches of %s\n' "$larger"
printf '%10s %-12s %10s %20s\n' examples "" "hws (ns)" "middle half"
for n in ${BATCH_SIZES:-1e6 1e7}; do
    for options in "--beta 10" "--beta 100" "--tail 0.1" "--tail 0.5"; do
        # shellcheck disable=SC2086
        print_batches "$n" $options
    done
done
