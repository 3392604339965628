#!/usr/bin/env bash
# What each convolution of our networks costs, beside oneDNN's (onednn_layers.c), where that is installed. In rounds: of a
# network first ours with each algorithm, then oneDNN's; medians of the rounds, and the lowest and the highest of them.
# usage: bench/layers.sh HWS
# In the environment: THREADS (all), SECONDS_EACH (15: of each network with each algorithm, and of oneDNN, all rounds together),
# ROUNDS (3), ALGORITHMS ("auto direct", what --conv understands: auto is what networks use), PRECISION (f32), NETWORKS (lines
# with the options of hws bench train; all), CC (cc), PYTHON.
set -euo pipefail
export LC_ALL=C # awk and printf must read and write numbers as hws does
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
[ $# -eq 1 ] || { usage >&2; exit 2; }
hws=$1
here=$(cd "$(dirname "$0")" && pwd)
rounds=${ROUNDS:-3}
networks=${NETWORKS:-"--model wrn-16-1
--model unet
--model resenc --patch 32,40,32
--model resnet-18 --patch 1,224,224 --channels 3 --batch 16"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

seconds=$(awk -v s="${SECONDS_EACH:-15}" -v r="$rounds" 'BEGIN { print s / r }')
layers=(bench train --layers --json --threads "${THREADS:-$(nproc)}" --seconds "$seconds" --precision "${PRECISION:-f32}")
peer=""
if [ -e /usr/include/oneapi/dnnl/dnnl.h ]; then
    peer=$work/onednn_layers
    "${CC:-cc}" -std=c11 -O2 -fopenmp -o "$peer" "$here/onednn_layers.c" -ldnnl -ljansson
else
    echo "(no oneDNN: ours alone; scripts/setup bench installs it)"
fi

while read -r -a network; do
    mkdir "$work/rounds"
    for ((round = 0; round < rounds; round++)); do
        for algorithm in ${ALGORITHMS:-auto direct}; do
            "$hws" "${layers[@]}" "${network[@]}" --conv "$algorithm" </dev/null >"$work/rounds/$round.$algorithm"
        done
        [ -z "$peer" ] || "$peer" "$seconds" <"$work/rounds/$round.$algorithm" >"$work/rounds/$round.oneDNN"
    done
    printf '\n%s\n' "${network[*]}"
    "${PYTHON:-/usr/bin/python3}" "$here/layer_table.py" "$work/rounds"
    rm -r "$work/rounds"
done <<<"$networks"
