#!/usr/bin/env bash
# What a training step costs: ours beside PyTorch's (torch_train.py), where that is installed.
# Each row is measured in one go, in turns: ours, PyTorch contiguous, ours, PyTorch channels_last; the better median of each
# counts. Low to high: of ours the middle halves of both measurements, of PyTorch all runs of its better layout.
# usage: bench/train.sh HWS
# In the environment: LONG=1 adds the paper's network (some minutes more). THREADS (all), SECONDS_EACH (4: of ours), ITERATIONS
# (of PyTorch), LIMIT (45: seconds for one run of PyTorch's bf16, which is very slow on processors without bf16 instructions),
# ROWS (words that a row must contain), PYTHON.
set -euo pipefail
export LC_ALL=C # awk and printf must read and write numbers as hws does
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
[ $# -eq 1 ] || { usage >&2; exit 2; }
hws=$1
peer=$(dirname "$0")/torch_train.py
python=${PYTHON:-/usr/bin/python3}
threads=${THREADS:-$(nproc)}
seconds=${SECONDS_EACH:-4}
limit=${LIMIT:-45}
start_up=5 # what PyTorch needs before its first step, in seconds, at most

if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "(no PyTorch: ours alone; scripts/setup peer installs it)"
    peer=""
fi

field() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p"; }
calculate() { awk "BEGIN { print ($*) }"; }
least() { sort -g <<<"${1:-$2}"$'\n'"$2" | head -n 1; }
greatest() { sort -g <<<"${1:-$2}"$'\n'"$2" | tail -n 1; }

# Sets ours_ms, ours_mb, share: the best so far; ours_low, ours_high: of all.
run_ours() {
    local row ms
    row=$("$hws" bench train "$@" --threads "$threads" --seconds "$seconds" --json)
    ms=$(field ms_per_iteration <<<"$row")
    ours_low=$(least "$ours_low" "$(field ms_low <<<"$row")")
    ours_high=$(greatest "$ours_high" "$(field ms_high <<<"$row")")
    [ -z "$ours_ms" ] || [ "$(calculate "$ms < $ours_ms")" = 1 ] || return 0
    ours_ms=$ms
    ours_mb=$(field peak_mb <<<"$row")
    share=$(calculate "100 * $(field gflops <<<"$row") / $(field peak_gflops <<<"$row")")
}

# Sets peer_ms, peer_low, peer_high, peer_mb: the best so far; where it does not finish, peer_least: what a step takes at least.
run_peer() { # seconds, how many steps these are for, the options
    local most=$1 steps=$2 row ms code=0
    shift 2
    row=$(OMP_NUM_THREADS=$threads timeout "$most" "$python" "$peer" --threads "$threads" "$@") || code=$?
    if [ $code = 124 ]; then
        peer_least=$(calculate "1000 * ($most - $start_up) / $steps")
        return 0
    fi
    [ $code = 0 ] || { echo "train.sh: this failed: $python $peer $*" >&2; exit 1; }
    ms=$(field ms_per_iteration <<<"$row")
    [ -z "$peer_ms" ] || [ "$(calculate "$ms < $peer_ms")" = 1 ] || return 0
    peer_ms=$ms
    peer_low=$(field ms_low <<<"$row")
    peer_high=$(field ms_high <<<"$row")
    peer_mb=$(field peak_mb <<<"$row")
}

print_row() {
    printf '%-32s %6s %5s %9.1f %8.1f to %-8.1f %6.0f %% %7.0f' "$1" "$2" "$3" "$ours_ms" "$ours_low" "$ours_high" "$share" "$ours_mb"
    if [ -n "$peer_ms" ]; then
        awk -v o="$ours_ms" -v p="$peer_ms" -v l="$peer_low" -v h="$peer_high" -v om="$ours_mb" -v pm="$peer_mb" \
            'BEGIN { printf " %12.1f %8.1f to %-8.1f %6.2f %9.0f %8.2f", p, l, h, p / o, pm, om / pm }'
    elif [ -n "$peer_least" ]; then
        awk -v o="$ours_ms" -v p="$peer_least" \
            'BEGIN { printf " %12s %20s %6s %9s %8s", sprintf(">%.0f", p), "-", sprintf(">%.1f", p / o), "-", "-" }'
    fi
    printf '\n'
}

# A row: what, batch, precision, seconds for one run of PyTorch, its steps with those before the clock starts, its steps
# of one run; then the options of the network, which are the same for both.
row() {
    local what=$1 batch=$2 precision=$3 most=$4 all_steps=$5 steps=$6
    shift 6
    case "$what $batch $precision" in *${ROWS:-}*) ;; *) return 0 ;; esac
    set -- "$@" --batch "$batch" --precision "$precision"
    ours_ms="" ours_low="" ours_high="" ours_mb="" share="" peer_ms="" peer_mb="" peer_least=""
    run_ours "$@"
    if [ -n "$peer" ]; then
        run_peer "$most" "$all_steps" "$@" --steps "$steps" --layout contiguous
        run_ours "$@"
        [ -n "$peer_least" ] || run_peer "$most" "$all_steps" "$@" --steps "$steps" --layout channels_last
    fi
    print_row "$what" "$batch" "$precision"
}

wrn() { # batch, precision, seconds, steps of one of the three runs that follow five steps
    row "WRN-16-1" "$1" "$2" "$3" $((5 + 3 * $4)) "$4" --model wrn-16-1
}

resnet() { # batch, precision, seconds, steps of one of the three runs that follow one step
    row "ResNet-18 224x224" "$1" "$2" "$3" $((1 + 3 * $4)) "$4" --model resnet-18 --patch 1,224,224 --channels 3
}

unet() { # patch, levels, batch, precision, seconds, steps of one of the two runs that follow one step
    row "U-Net $1, $2 levels" "$3" "$4" "$5" $((1 + 2 * $6)) "$6" --model unet --patch "$1" --levels "$2" --base 32
}

resenc() { # patch, levels, batch, precision, seconds, steps of one of the two runs that follow one step
    row "ResEnc U-Net $1, $2 levels" "$3" "$4" "$5" $((1 + 2 * $6)) "$6" --model resenc --patch "$1" --levels "$2" --base 32
}

echo "Training steps, $threads threads. Of the peak: multiplications and additions of direct convolution, of what this"
echo "machine was measured to do in f32; above 100 % by Winograd or bf16. Ratios: above 1 ours is faster; of memory, below 1 it is smaller."
printf '%-32s %6s %5s %9s %20s %8s %7s' network batch "" "hws (ms)" "low to high" "of peak" "MB"
[ -z "$peer" ] || printf ' %12s %20s %6s %9s %8s' "PyTorch (ms)" "low to high" "faster" "MB" "ratio"
printf '\n'
wrn 64 f32 120 "${ITERATIONS:-20}"
wrn 64 bf16 "$limit" "${ITERATIONS:-3}"
resnet 16 f32 120 "${ITERATIONS:-2}"
unet 40,56,40 4 2 f32 120 "${ITERATIONS:-2}"
unet 40,56,40 4 9 f32 120 1
unet 40,56,40 4 2 bf16 "$limit" 1
resenc 32,40,32 4 2 f32 120 "${ITERATIONS:-1}"
[ -z "${LONG:-}" ] || unet 96,112,96 5 1 f32 300 1
