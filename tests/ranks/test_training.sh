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
counts="2 3 4"
check mlp $small --model mlp-2-32 --batch 16 --optimizer adam --history exact
counts=3
check ohem $small --model wrn-10-1 --batch 8 --objective ohem --precision bf16 --stop-grad-norm 1e-9
check group-dro $small --model wrn-10-1 --batch 12 --objective group-dro
counts=2
check jtt digits:200,70 --epochs 2 --epoch-length 4 --model mlp-2-32 --batch 8 --objective jtt --jtt-epochs 1
counts=4
check cvar-batch $small --model wrn-10-1 --batch 16 --objective cvar-batch --tail 0.25
check few $small --model mlp-2-32 --batch 2 --importance exact --look-ahead 3
# Four levels have three outputs, two of which count: with fewer levels deep supervision would have none but the finest.
run 0 phantom --out "$work/data" --cases 6 --size 32,32,32 --spacing 4 --threads 2
counts="2 4"
check unet "$work/data" --iterations 3 --epoch-length 2 --batch 3 --importance --look-ahead 2 --loaders 1
[ "$(grep -o '"features"' "$work/unet-alone/plans.json" | wc -l)" -eq 4 ] || fail "the U-Net has not the four levels that it should"
counts=2
check bf16 "$work/data" --iterations 2 --epoch-length 2 --batch 2 --precision bf16 --split-volumes 32,16,32
launch 0 4 train "$work/data" --iterations 1 --epoch-length 1 --batch 2 --out "$work/idle"
complains '2 of 4 ranks have nothing to do'

# ---- ranks with different numbers of threads, of which one gets more of the batch
how="$small --model wrn-10-1 --batch 13 --importance --quiet --out $work/uneven"
timeout -k 5 300 "$mpirun" $over_loopback -n 1 "$program" train $how --threads 3 : -n 1 "$program" train $how --threads 1 \
    >"$work/out" 2>"$work/err" </dev/null || fail "ranks with different numbers of threads: $(cat "$work/err")"
same "$work/wrn-alone/latest.safetensors" "$work/uneven/latest.safetensors"

# ---- without --threads, ranks share the processors that they may all use
threads_of() { sed -n 's/^ *"threads": *\([0-9]*\).*/\1/p' "$1/config.json"; }
unset OMP_NUM_THREADS
run 0 train digits:60,20 --model mlp-1-8 --batch 4 --iterations 1 --epoch-length 1 --quiet --out "$work/threads"
launch 0 2 train digits:60,20 --model mlp-1-8 --batch 4 --iterations 1 --epoch-length 1 --quiet --out "$work/threads-2"
all=$(threads_of "$work/threads")
[ "$(threads_of "$work/threads-2")" -eq $((all > 1 ? all / 2 : 1)) ] || fail "two ranks take $(threads_of "$work/threads-2") of $all threads each"

# ---- one voice, and failures of all
launch 2 3 train digits:200,70 --model mlp-2-32 --batch 500 --out "$work/no"
[ "$(grep -c '^hws: ' "$work/err")" -eq 1 ] || fail "not one rank speaks for all: $(cat "$work/err")"
launch 2 2 train "$work/nowhere" --out "$work/no"
launch 2 2 train --resume --out "$work/nowhere"
launch 0 2 inspect "$work/wrn-2" --hardest 2

# ---- signals and kill -9, and resumed on other numbers of ranks
# The run is too long to end by itself: whatever ends it has surely hit. How far it came, the uninterrupted run goes, too, and
# two epochs more.
images="digits:200,70 --model mlp-2-32 --batch 16 --checkpoint-every 2 --importance --quiet"
volumes="$work/data --batch 3 --epoch-length 2 --validation-patches 1 --schedule constant --warm-up 0 --checkpoint-every 1 --quiet"
long=$images
begin() { # RANKS: starts a run and waits for a checkpoint of its second epoch
    rm -rf "$work/killed"
    start $1 train $long --epochs 1000000 --threads 1 --resume-or-start --out "$work/killed"
    until_true "the first epochs" has_epochs
}
has_epochs() { [ "$(wc -l 2>/dev/null <"$work/killed/history.csv" || echo 0)" -gt 2 ] || ! kill -0 $bounded 2>/dev/null; }
are_gone() { for pid in $pids; do ! kill -0 "$pid" 2>/dev/null || return 1; done; }
ended() { # WHAT SECONDS: all ranks have, within so many seconds, and the launcher was told why
    patience=$2
    until_true "the end of the ranks after $1" are_gone
    patience=120
    wait $bounded 2>/dev/null
    code=$?
    [ $code -ne 0 ] || fail "$1: the run ended by itself"
    [ $code -ne 124 ] || fail "$1: the run did not end"
}
finish_on() { # RANKS
    epochs=$(($(wc -l <"$work/killed/history.csv") + 1))
    rm -rf "$work/whole"
    run 0 train $long --epochs $epochs --threads 2 --out "$work/whole"
    launch 0 $1 train --resume-or-start --epochs $epochs --quiet --threads 1 --out "$work/killed"
    same "$work/whole/latest.safetensors" "$work/killed/latest.safetensors"
    same "$work/whole/losses.csv" "$work/killed/losses.csv"
}
dies() { # RANK of three: is killed, and the others end within ten seconds
    begin 3
    pids="$(rank_pid 0) $(rank_pid 1) $(rank_pid 2)"
    kill -9 $(rank_pid $1) || fail "rank $1 was not there to be killed"
    ended "kill -9 of rank $1" 10
    grep -q 'signal 9' "$work/launched" || fail "nothing was said about a rank that was killed: $(cat "$work/launched")"
}
dies 0
finish_on 1
dies 1
finish_on 2
begin 2
pids="$(rank_pid 0) $(rank_pid 1)"
kill -9 $launched || fail "mpirun was not there to be killed"
ended "kill -9 of mpirun" 10
finish_on 4
long=$volumes
dies 2
finish_on 2
long=$images
for signal in TERM HUP USR1; do
    begin 2
    pids="$(rank_pid 0) $(rank_pid 1)"
    kill -$signal $(rank_pid 1) || fail "rank 1 was not there to be told"
    ended SIG$signal 120
    grep -q 'resume --out' "$work/launched" || fail "SIG$signal to one rank did not stop all: $(cat "$work/launched")"
    finish_on 3
done
[ $failures -eq 0 ]
