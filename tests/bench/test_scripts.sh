#!/bin/sh
# The scripts of bench/ tell how they are used and run to their ends; what they make of measurements is held against numbers
# made up here. Nothing is said of speed. usage: test_scripts.sh PROGRAM BENCH (the folder)
set -u
program=$1
bench=$2
. "$(dirname "$0")/../cli/testing.sh"
: >"$work/out"
: >"$work/err"
python3=/usr/bin/python3

script() { # CODE NAME ARGUMENTS...: bench/NAME.sh must end with this code
    expected=$1 name=$2
    shift 2
    bash "$bench/$name.sh" "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    [ $code -eq "$expected" ] || fail "bench/$name.sh $*: exit code $code, expected $expected"
}

for name in overhead train predict layers ranks; do
    script 0 $name --help
    prints "^usage: bench/$name.sh HWS"
    prints '^In the environment: '
    script 2 $name
    grep -q "^usage: bench/$name.sh HWS" "$work/err" || fail "no usage in what bench/$name.sh says"
done

# ---- spreads: the least, the lower quarter, the median and the upper quarter, in this order
run 0 bench train --model wrn-10-1 --batch 2 --threads 1 --seconds 0.2 --layers --json
"$python3" - "$work/out" <<'END' || fail "the times of layers"
import json, sys
for line in open(sys.argv[1]):
    layer = json.loads(line)
    for key in ("forward", "backward_data", "backward_weights"):
        times = [layer[f"{key}_{which}ms"] for which in ("least_", "low_", "", "high_")]
        assert times[0] > 0 and times == sorted(times), (key, times)
END
run 0 bench train --model wrn-10-1 --batch 2 --threads 1 --seconds 0 --layers --conv winograd
prints ' winograd *forward .* to '
prints '^  *backward weights '
refused '--conv fast is none of' bench train --conv fast
run 0 bench sampler --n 1000 --batch 4 --json
"$python3" - "$work/out" <<'END' || fail "the times of the sampler"
import json, sys
row = json.loads(open(sys.argv[1]).read())
times = [row[key] for key in ("least_ns", "low_ns", "iteration_ns", "high_ns")]
assert times[0] > 0 and times == sorted(times), times
END

# ---- the table of layers: medians of rounds, their ends, and ratios within rounds
# One layer of 1 GFLOP: Winograd took 5, 4 and 10 ms, direct 20, 10 and 40, and oneDNN 10, 12 and 15, the three passes alike.
mkdir "$work/rounds"
layer() { # ALGORITHM PREFIX MS
    printf '{"in": 16, "out": 32, "kernel": [1, 3, 3], "stride": [1, 1, 1], "samples": 2, "size": [1, 8, 8], "precision": "f32", '
    printf '"threads": 1, "algorithm": "%s", "gflop": 1, "peak_gflops": 400, ' "$1"
    printf '"%sforward_ms": %s, "%sbackward_data_ms": %s, "%sbackward_weights_ms": %s}\n' "$2" "$3" "$2" "$3" "$2" "$3"
}
round=0
for times in "5 20 10" "4 10 12" "10 40 15"; do
    set -- $times
    layer winograd "" $1 >"$work/rounds/$round.auto"
    layer direct "" $2 >"$work/rounds/$round.direct"
    layer direct onednn_ $3 >"$work/rounds/$round.oneDNN"
    round=$((round + 1))
done
"$python3" "$bench/layer_table.py" "$work/rounds" >"$work/out" 2>"$work/err" || fail "layer_table.py"
prints '^16 to 32, 1x3x3 / 1x1x1, 2 of 1x8x8  *forward  *winograd \*  *200.0  *100.0 to 250.0  *50 %  *83.3  *66.7 to 100.0  *2.00$'
prints '^  *backward weights direct  *50.0  *25.0 to 100.0  *12 %  *83.3  *66.7 to 100.0  *0.50$'
[ "$(wc -l <"$work/out")" -eq 8 ] || fail "a line for each pass and algorithm was expected below two of heading"

# ---- from end to end, small, without peers in Python
export THREADS=1 ROUNDS=1 SECONDS_EACH=0
ALGORITHMS="auto direct" NETWORKS="--model wrn-10-1 --batch 2" script 0 layers "$program"
prints '^1 to 16, 1x3x3 / 1x1x1, 2 of 1x28x28 '
export PYTHON=false
SIZES=1e2 BATCH_SIZES=1e3 script 0 overhead "$program"
prints '^  *1e2  *[0-9.]*  *[0-9.]* to [0-9.]*  *[0-9.]*$'
for drawn in "--beta 10" "--beta 100" "--tail 0.1" "--tail 0.5"; do prints "^  *1e3 $drawn  *[1-9][0-9.]*  *[0-9.]* to "; done
ROWS="WRN-16-1 64 f32" script 0 train "$program"
prints '^WRN-16-1  *64  *f32  *[1-9][0-9.]*  *[0-9.]* to [0-9.]*  *[0-9]* %'
SIZE=16,24,16 ITERATIONS=1 script 0 predict "$program"
prints '^3 images, 1 threads, seconds per image: hws [0-9.]* ([0-9.]* to [0-9.]*)$'
if "$program" info | grep -q '^MPI *not'; then
    script 0 ranks "$program"
    prints '^(no MPI '
fi
exit $((failures > 0))
