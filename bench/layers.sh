#!/usr/bin/env bash
# What each convolution of our networks costs, beside oneDNN's (onednn_layers.c), where that is installed: ours of a network
# first, oneDNN's right after.
# usage: bench/layers.sh HWS
# In the environment: THREADS (all), SECONDS_EACH (10: of ours, per network), PRECISION (f32), CC (cc).
set -euo pipefail
export LC_ALL=C # awk and printf must read and write numbers as hws does
[ $# -eq 1 ] || { echo "usage: bench/layers.sh HWS" >&2; exit 2; }
hws=$1
threads=${THREADS:-$(nproc)}
seconds=${SECONDS_EACH:-10}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ours=(bench train --layers --threads "$threads" --seconds "$seconds" --precision "${PRECISION:-f32}")
beside=""
if [ -e /usr/include/oneapi/dnnl/dnnl.h ]; then
    "${CC:-cc}" -std=c11 -O2 -fopenmp -o "$work/onednn_layers" "$(dirname "$0")/onednn_layers.c" -ldnnl -ljansson
    beside=$work/onednn_layers
else
    echo "(no oneDNN: ours alone; scripts/setup bench installs it)"
fi
for network in "wrn-16-1" "unet" "resnet-18 --patch 1,224,224 --channels 3 --batch 16"; do
    printf '\n%s\n' "${network%% *}"
    if [ -n "$beside" ]; then "$hws" "${ours[@]}" --model $network --json | "$beside" 0.1
    else "$hws" "${ours[@]}" --model $network; fi
done
