#!/usr/bin/env bash
# The paper's Table 4: time per iteration (a draw of two examples and the update of their losses) and memory, over the
# number of examples; ours and, where numpy is there, its (numpy_sampler.py), measured one after the other for each size.
# usage: bench/overhead.sh HWS
set -euo pipefail
export LC_ALL=C # awk and printf must read and write numbers as hws does
hws=$1
peer=$(dirname "$0")/numpy_sampler.py
sizes=${SIZES:-"1e2 1e3 1e4 1e5 1e6 1e7"}
batch=${BATCH:-2}
beta=${BETA:-100}
python=${PYTHON:-/usr/bin/python3}

field() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p"; }
if ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "(no numpy: ours alone; scripts/setup bench installs it)"
    peer=""
fi

echo "Batch $batch, beta $beta, one thread"
printf '%10s %14s %12s' examples "hws (us)" "hws (MB)"
[ -z "$peer" ] || printf ' %14s %12s %12s' "numpy (us)" "numpy (MB)" "times faster"
printf '\n'
for n in $sizes; do
    row=$("$hws" bench sampler --n "$n" --batch "$batch" --beta "$beta" --json)
    ours=$(field iteration_ns <<<"$row")
    bytes=$(field bytes_per_example <<<"$row")
    awk -v n="$n" -v t="$ours" -v b="$bytes" 'BEGIN { printf "%10s %14.3f %12.4f", n, t / 1e3, n * b / 1e6 }'
    if [ -n "$peer" ]; then
        row=$("$python" "$peer" "$n" "$batch" "$beta")
        theirs=$(field iteration_ns <<<"$row")
        bytes=$(field bytes_per_example <<<"$row")
        awk -v n="$n" -v t="$theirs" -v b="$bytes" -v o="$ours" \
            'BEGIN { printf " %14.1f %12.4f %12.0f", t / 1e3, n * b / 1e6, t / o }'
    fi
    printf '\n'
done
