#!/bin/sh
# Training on several ranks over the loopback: the bits of one process, whatever the number of ranks and threads; killed and
# resumed on other numbers of ranks. usage: test_training.sh PROGRAM MPIRUN
set -u
program=$1
mpirun=$2
. "$(dirname "$0")/../cli/testing.sh"
. "$(dirname "$0")/launch.sh"

# ---- the same bits
# Each row: a name, and how to train. The first is one process, then come 1 to 4 ranks with different threads.
check() { # NAME OPTIONS...
    name=$1
    shift
    run 0 train "$@" --quiet --threads 2 --out "$work/$name-alone"
    for ranks in $counts; do
        launch 0 $ranks train "$@" --quiet --threads $((ranks % 2 + 1)) --out "$work/$name-$ranks"
        same "$work/$name-alone/latest.safetensors" "$work/$name-$ranks/latest.safetensors"
        same "$work/$name-alone/best.safetensors" "$work/$name-$ranks/best.safetensors"
        same "$work/$name-alone/losses.csv" "$work/$name-$ranks/losses.csv"
        same "$work/$name-alone/hardest.csv" "$work/$name-$ranks/hardest.csv"
        cut -d, -f1-2,4- "$work/$name-alone/history.csv" >"$work/h1"
        cut -d, -f1-2,4- "$work/$name-$ranks/history.csv" >"$work/h2"
        same "$work/h1" "$work/h2"
    done
}
small="digits:200,70 --iterations 7 --epoch-length 4"
counts="1 2 3 4"
check wrn $small --model wrn-10-1 --batch 13 --importance
counts="2 3"
check mlp $small --model mlp-2-32 --batch 16 --optimizer adam --history exact
check ohem $small --model wrn-10-1 --batch 8 --objective ohem --precision bf16 --stop-grad-norm 1e-9
run 0 phantom --out "$work/data" --cases 6 --size 16,24,16 --spacing 6 --threads 2
check unet "$work/data" --iterations 3 --epoch-length 2 --batch 3 --importance --look-ahead 2 --loaders 1
counts=2
check bf16 "$work/data" --iterations 2 --epoch-length 2 --batch 2 --precision bf16 --split-volumes 16,12,16
launch 0 4 train "$work/data" --iterations 1 --epoch-length 1 --batch 2 --out "$work/idle"
complains '2 of 4 ranks have nothing to do'

# ---- one voice, and failures of all
launch 2 3 train digits:200,70 --model mlp-2-32 --batch 500 --out "$work/no"
[ "$(grep -c '^hws: ' "$work/err")" -eq 1 ] || fail "not one rank speaks for all: $(cat "$work/err")"
launch 2 2 train "$work/nowhere" --out "$work/no"
launch 2 2 train --resume --out "$work/nowhere"
launch 0 2 inspect "$work/wrn-2" --hardest 2

# ---- signals and kill -9, and resumed on other numbers of ranks
long="digits:200,70 --model mlp-2-32 --batch 16 --epochs 10 --checkpoint-every 2 --importance"
run 0 train $long --quiet --out "$work/whole"

begin() { # RANKS: starts a run in the background and waits for its second epoch
    rm -rf "$work/killed"
    start $1 train $long --quiet --threads 1 --resume-or-start --out "$work/killed"
    until_true "the first epochs" sh -c "[ \$(wc -l 2>/dev/null <'$work/killed/history.csv' || echo 0) -gt 2 ] || ! kill -0 $bounded 2>/dev/null"
}
finish_on() { # RANKS
    launch 0 $1 train --resume-or-start --quiet --threads 1 --out "$work/killed"
    same "$work/whole/latest.safetensors" "$work/killed/latest.safetensors"
    same "$work/whole/losses.csv" "$work/killed/losses.csv"
}
for victim in 0 1; do
    begin 3
    kill -9 $(rank_pid $victim) 2>/dev/null
    wait $bounded 2>/dev/null
    code=$?
    [ $code -eq 0 ] || grep -q 'signal 9' "$work/launched" || fail "nothing was said about a rank that was killed"
    finish_on $((victim + 1))
done
begin 2
pids="$(rank_pid 0) $(rank_pid 1)"
[ -z "$launched" ] || kill -9 $launched 2>/dev/null
wait $bounded 2>/dev/null
for pid in $pids; do until_true "the end of the ranks" sh -c "! kill -0 $pid 2>/dev/null"; done
finish_on 4
for signal in TERM HUP USR1; do
    begin 2
    kill -$signal $(rank_pid 1) 2>/dev/null
    wait $bounded 2>/dev/null
    code=$? # 0: it was over before
    [ $code -eq 0 ] || grep -q 'resume --out' "$work/launched" || fail "SIG$signal to one rank did not stop all: $(cat "$work/launched")"
    finish_on 1
done
[ $failures -eq 0 ]
