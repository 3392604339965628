#!/bin/sh
# hws train, inspect, evaluate RUN and predict from outside. usage: test_train.sh PROGRAM
set -u
program=$1
. "$(dirname "$0")/testing.sh"

without_seconds() { cut -d, -f1-2,4- "$1"; }

small="digits:200,100 --model mlp-1-16 --batch 16 --lr 0.05 --threads 1"

run 2 watch
complains 'watch which run'
run 2 watch "$0"
complains 'is a file'
run 2 watch "$work/none" --port 70000
run 2 watch "$work/none" --port 0 --address here
complains 'no IPv4 address'

# ---- a rate that is far too large
run 0 train digits:200,100 --model mlp-1-16 --batch 16 --epochs 1 --threads 1 --lr 20 --out "$work/wild"
complains 'training has diverged; choose a smaller --lr'

# ---- a run and what it leaves
run 0 train --help
prints '--stop-grad-norm'
run 0 train $small --epochs 3 --keep 3=0.5 --beta 0.01 --importance --out "$work/a"
for words in '200 images of 10 classes\|images of 10 classes to train on, 100 to test on' 'objective dro: beta 0.01, the paper.s importance' \
    '3 epochs of' 'eff. size  *test accuracy  *worst  *time  *left' ' 2 of 3 ' "^next: hws evaluate $work/a$"; do
    prints "$words"
done
grep '^hws' "$work/err" | grep -v 'iterations in all' && fail "nothing else should be wrong" # how far the pictures are may be there on a slow machine
grep -q '^20[0-9-]* [0-9:]*  *3 of 3 ' "$work/a/train.log" || fail "train.log lacks the last epoch"
grep -q '  next: hws evaluate' "$work/a/train.log" || fail "train.log lacks the end"
for file in config.json history.csv distribution.csv losses.csv hardest.csv latest.safetensors previous.safetensors \
    best.safetensors; do
    [ -s "$work/a/$file" ] || fail "$file is missing"
done
[ "$(wc -l <"$work/a/history.csv")" -eq 4 ] || fail "history.csv has not three rows"
head -n 1 "$work/a/history.csv" | grep -q '^epoch,iteration,seconds,lr,train_loss_mean,train_loss_std,robust_loss,ess,p_max,clip_rate,test_accuracy,' ||
    fail "the columns of history.csv"
[ "$(ls "$work/a/hardest" | wc -l)" -eq 64 ] || fail "64 pictures are expected"
grep -q '"keep": {"3": 0.5}' "$work/a/config.json" || fail "keep is not recorded"
run 0 report "$work/a"

# Too short to learn anything, what would be longer, and how to go on.
grep -q ' 33 iterations in all are too few to learn much; --epochs 91 would make 1001$' "$work/a/train.log" || fail "train.log lacks the warning"
run 0 train digits:200,100 --model mlp-1-16 --epochs 2 --dry-run
complains '6 iterations in all are too few to learn much; --batch 16 --epochs 84 would make 1008$'
prints '; 2 epochs of 3 iterations of 64 images; '
for enough in '--epochs 9' '--iterations 3' "--epochs 1 --from $work/a"; do
    run 0 train $small $enough --dry-run
    is_silent err
done
run 0 train --resume --out "$work/a"
prints "^this run is finished already; hws train --resume --out $work/a --epochs MORE goes on$"
# A run of so many iterations is counted in them: it need not end with an epoch.
run 0 train $small --iterations 10 --schedule poly --validation 0.1 --out "$work/counted"
prints '; 10 iterations of 16 images, validated every 11; '
prints '^ *iteration  *loss '
prints '^ *10 of 10 '
prints '^done; best val accuracy [0-9.]*% (iteration 10); '
run 0 train --resume --out "$work/counted"
prints "^this run is finished already; hws train DATA --from $work/counted --out NEW begins a new run with its weights$"

# Baselines share the folder, the tables and the page.
for objective in group-dro cvar-batch jtt; do
    run 0 train $small --epochs 2 --keep 3=0.2 --objective $objective --quiet --out "$work/$objective"
done
run 0 report "$work/a" "$work/group-dro" "$work/cvar-batch" "$work/jtt" --out "$work/baselines.html"
for name in 'Group DRO' 'CVaR per batch' JTT; do grep -q "$name" "$work/baselines.html" || fail "the page does not name $name"; done
grep -q ',group_weight_max$' "$work/group-dro/history.csv" || fail "history.csv has no weights of groups"
tail -n 1 "$work/group-dro/history.csv" | grep -q ',0[.][0-9]*$' || fail "the largest weight of a group is not recorded"
run 0 train $small --epochs 7 --dry-run --out "$work/dry/run"
for words in '7 epochs of' '^time  *[0-9]' '^memory' '^disk'; do prints "$words"; done
[ ! -e "$work/dry" ] || fail "a dry run writes something"
run 0 train $small --epochs 7 --dry-run
prints 'no run was made'
refused 'where to' train --resume --dry-run
echo hello >"$work/note.txt"
refused 'files are .csv' train "$work/note.txt" --out "$work/dry"
refused 'has not begun' train --resume --dry-run --out "$work/a"
run 0 train $small --epochs 1 --objective erm --out "$work/erm"
prints 'objective erm'
grep -q 'eff. size' "$work/out" && fail "erm has no sampler whose effective size could be told"
mkdir "$work/nothing"
refused 'nor is it a dataset of volumes' train "$work/nothing" --out "$work/a1/b1/c1"
[ ! -e "$work/a1" ] || fail "a refused command leaves folders behind"
refused 'leaves none' train $small --epochs 2 --objective jtt --jtt-epochs 2 --out "$work/none"
refused 'leaves none' train $small --epochs 2 --objective jtt --jtt-epochs 2 --mislabel 0.1 --out "$work/a1"
[ ! -e "$work/a1" ] || fail "a run that could not begin leaves files behind"
mkdir "$work/a1" && echo mine >"$work/a1/mislabelled.csv"
refused 'mislabelled.csv is there already' train $small --epochs 2 --objective jtt --jtt-epochs 2 --out "$work/a1"
[ "$(cat "$work/a1/mislabelled.csv")" = mine ] || fail "a run that could not begin removes files of others"
refused 'tail means nothing to --objective jtt on images' train $small --objective jtt --tail 0.2 --out "$work/none"
refused 'beta means nothing to --objective cvar-batch' train $small --objective cvar-batch --beta 1 --out "$work/none"

# A part of the training images that is only validated on chooses the weights.
run 0 train $small --epochs 2 --validation 0.2 --quiet --out "$work/validated"
head -n 1 "$work/validated/history.csv" | grep -q ',test_accuracy,.*,val_accuracy,' || fail "history.csv has no validation"
grep -q '"examples": 161' "$work/validated/config.json" || fail "about a fifth of 200 images should not be trained on"
run 0 evaluate "$work/validated" --part train --threads 1
prints "161"
run 0 train --resume --epochs 3 --quiet --out "$work/validated"
cp "$work/validated/config.json" "$work/before"
refused 'has made .* iterations, and is to end after' train --resume --epochs 1 --out "$work/validated"
same "$work/before" "$work/validated/config.json"

run 0 inspect "$work/a" --hardest 5
prints 'never trained on'
[ "$(grep -c '^ *[0-9]* *[0-9]' "$work/out")" -ge 5 ] || fail "five examples are expected"
run 0 inspect "$work/a" --hardest 7 --csv
[ "$(wc -l <"$work/out")" -eq 8 ] || fail "seven rows are expected"
cut -d, -f1-5 "$work/out" >"$work/seven"
head -n 8 "$work/a/hardest.csv" | cut -d, -f1-5 | cmp -s - "$work/seven" || fail "inspect and hardest.csv differ"

run 0 evaluate "$work/a" --weights latest --threads 1 --out "$work/scores"
prints 'worst class'
accuracy=$(sed -n 's/^all,100,\([^,]*\),.*/\1/p' "$work/scores/classes.csv")
recorded=$(tail -n 1 "$work/a/history.csv" | cut -d, -f11)
[ "$accuracy" = "$recorded" ] || fail "accuracy $accuracy, but history.csv has $recorded"
[ "$(wc -l <"$work/scores/examples.csv")" -eq 101 ] || fail "100 examples are expected"
run 0 evaluate "$work/a" --part train --threads 1
refused 'none of test, train and val' evaluate "$work/a" --part both
refused "not a run's folder" evaluate "$work"
refused "not a run's folder" inspect "$work"

# Two images of 28x28 and none of a label: IDX by hand.
mkdir "$work/in"
{ printf '\000\000\010\003\000\000\000\002\000\000\000\034\000\000\000\034'; head -c 1568 /dev/zero; } >"$work/in/x-images-idx3-ubyte"
run 0 predict "$work/a" "$work/a" --input "$work/in" --output "$work/predicted" --threads 1
[ "$(wc -c <"$work/predicted/x-labels-idx1-ubyte")" -eq 10 ] || fail "labels of two images are expected"
[ "$(wc -l <"$work/predicted/x-labels-idx1-ubyte.csv")" -eq 3 ] || fail "two rows are expected"
refused 'another folder' predict "$work/a" --input "$work/in" --output "$work/in"
refused 'predict needs' predict "$work/a"
refused 'the same' predict "$work/a" --input "$work/in" --output "$work/predicted" --out "$work/predicted"
run 0 predict "$work/a" "$work/a" --input "$work/in" --out "$work/predicted-too" --threads 1
cmp -s "$work/predicted/x-labels-idx1-ubyte.csv" "$work/predicted-too/x-labels-idx1-ubyte.csv" || fail "--out is not --output"
head -c 100 "$work/in/x-images-idx3-ubyte" >"$work/in/x-images-idx3-ubyte2"
refused 'x-images' predict "$work/a" --input "$work/in/x-images-idx3-ubyte2" --output "$work/predicted2"
refused 'cannot be opened\|cannot be read' predict "$work/a" --input "$work/nowhere" --output "$work/predicted2"
[ ! -e "$work/predicted2" ] || fail "a folder for labels was made without any"
refused 'has no train-images' train "mnist:$work/in" --out "$work/empty"
[ ! -e "$work/empty" ] || fail "a folder was left of a run that never began"

# ---- what is refused, before anything is lost
cp "$work/a/latest.safetensors" "$work/before"
refused 'holds a run already' train $small --out "$work/a"
refused 'holds no run' train --resume --out "$work/none"
refused "another 'lr'" train --resume --out "$work/a" --lr 3
refused "another 'data'" train digits:100,100 --resume --out "$work/a"
same "$work/before" "$work/a/latest.safetensors"
refused 'where to' train $small
refused 'on what' train --out "$work/x"
refused 'cannot be trained on: it is neither' train potatoes --out "$work/x"
refused "no option '--betta'" train $small --betta 3 --out "$work/x"
refused 'not a number' train $small --beta three --out "$work/x"
refused 'CLASS=FRACTION' train $small --keep 3 --out "$work/x"
refused 'class' train $small --keep 12=0.5 --out "$work/x"
refused 'no objective' train $small --objective fun --out "$work/x"
refused 'no divergence' train $small --divergence tv --out "$work/x"
refused 'no model' train $small --model resnet --out "$work/x"
refused 'no model' train $small --model resnet --mislabel 0.1 --out "$work/no_model"
[ ! -e "$work/no_model/mislabelled.csv" ]
refused 'there are only 200' train $small --batch 1000 --out "$work/x"
refused 'contradict' train $small --importance --no-importance --out "$work/x"
refused 'not two numbers' train $small --importance 1,x --out "$work/x"
refused 'not two numbers' train $small --importance exact,1 --out "$work/x"
refused 'beta and --tail cannot be used together' train $small --beta 3 --tail 0.1 --out "$work/x"
refused '--momentum means nothing to --optimizer sgd: choose --optimizer momentum' train $small --momentum 0.9 --out "$work/x"
for idle in "--tail 0.01" "--beta 3" --doubt --importance "--divergence chi2" "--floor 0.1" "--trim 0.1" --replacement "--warm-up 0.5"; do
    refused "${idle%% *} means nothing to --objective erm: leave it out, or choose --objective dro" \
        train $small --objective erm $idle --out "$work/x"
done
for idle in "--group-step 0.1" "--jtt-epochs 1" "--jtt-weight 3" "--ohem-factor 3"; do
    refused "${idle%% *} means nothing to --objective dro" train $small $idle --out "$work/x"
done
refused 'tail 0 is not' train $small --tail 0 --out "$work/x"
refused 'tail 2 is not' train $small --tail 2 --out "$work/x"
refused "no recipe 'pepper'" train $small --recipe pepper --out "$work/x"
refused 'nowhere' train $small --from "$work/nowhere" --out "$work/x"
refused 'nowhere' train $small --loss-init "$work/nowhere" --out "$work/x"
refused 'cannot be opened\|No such file\|cannot be read' train mnist:"$work/nowhere" --out "$work/x"
[ ! -e "$work/x/config.json" ] || fail "a refused run left a config.json"
: >"$work/file"
run 1 train $small --out "$work/file/x"
complains 'cannot be made'
if (ulimit -f 16) 2>/dev/null; then # a disk that takes 8 KB a file: less than a checkpoint, enough for OpenMP
    (trap '' XFSZ && ulimit -f 16 && "$program" train $small --epochs 1 --out "$work/full") >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] || fail "a full disk should be exit code 1"
    complains 'latest.safetensors'
fi

# ---- a loss that is not finite
run 1 train $small --lr 1e6 --epochs 50 --objective erm --out "$work/nan"
complains 'example [0-9]* ([0-9]*) is\|not finite'
complains 'lower --lr'
[ -s "$work/nan/latest.safetensors" ] || fail "the last good checkpoint is gone"

# ---- a tail, kinds of importance weights with DATA behind them, a warm start, the paper's recipe
run 0 train --importance normalised $small --tail 0.3 --epochs 2 --quiet --out "$work/tail"
grep -q '"tail": 0.3' "$work/tail/config.json" || fail "tail is not recorded"
grep -q '"beta": null' "$work/tail/config.json" || fail "beta is none with a tail"
grep -q '"importance": \["normalised", 0.1, 10\]' "$work/tail/config.json" || fail "importance is not recorded"
run 0 report "$work/tail"
prints 'report.html'
grep -q 'tail=0.3' "$work/tail/report.html" || fail "the report does not tell the tail"
grep -q 'over time' "$work/tail/report.html" || fail "the report does not show beta over time"
run 0 train --importance $small --epochs 1 --quiet --out "$work/data-behind"
grep -q '"importance": \[0.1, 10\]' "$work/data-behind/config.json" || fail "importance is not the paper's"
run 0 train $small --from "$work/tail" --loss-init "$work/tail" --epochs 1 --beta 0.01 --quiet --out "$work/warm"
grep -q "\"from\": \".*/tail\"" "$work/warm/config.json" || fail "from is not recorded"
run 0 train $small --divergence cvar:0.3 --uniform-mix 0.1 --epochs 1 --quiet --out "$work/cvar"
grep -q '"tail": 0.3' "$work/cvar/config.json" || fail "the fraction of CVaR gave way to the default of the tail"
refused 'set beta' train $small --divergence reverse-kl --out "$work/x"
refused 'warm-up 1.5 is not' train $small --warm-up 1.5 --out "$work/x"
run 0 train $small --recipe paper --epochs 1 --quiet --out "$work/paper"
grep -q '"loss_init": 10' "$work/paper/config.json" || fail "the recipe's first loss"
run 2 train $small --model mlp-1-8 --from "$work/tail" --out "$work/x"
complains "tensor"

# ---- wrong labels: made, doubted, left out, listed
run 0 train $small --mislabel 0.1 --doubt --trim 0.05 --epochs 3 --quiet --out "$work/wrong"
grep -q '"mislabel": 0.1' "$work/wrong/config.json" || fail "mislabel is not recorded"
grep -q '"uniform_mix": 0.1' "$work/wrong/config.json" || fail "who is left out is not seen again"
[ "$(wc -l <"$work/wrong/mislabelled.csv")" -eq 21 ] || fail "not a tenth of 200 labels was made wrong"
awk -F, 'NR > 1 && $2 == $3' "$work/wrong/mislabelled.csv" | grep -q . && fail "a wrong label is the right one"
[ "$(wc -l <"$work/wrong/triage.csv")" -eq 201 ] || fail "triage.csv does not have all examples"
run 0 triage "$work/wrong" --count 7
prints 'labels [a-z]* in doubt'
[ "$(wc -l <"$work/out")" -eq 10 ] || fail "triage does not list 7 examples"
run 0 triage "$work/wrong" --csv --count 3
prints '^rank,example,doubt,label,prediction,margin'
run 0 report "$work/wrong" --out "$work/wrong.html"
grep -q 'Labels in doubt' "$work/wrong.html" || fail "the report does not tell of labels in doubt"
run 0 triage --help
prints 'peers'
refused 'triage which run' triage
refused "is not a run's folder" triage "$work/nowhere"
rm "$work/wrong/triage.csv"
refused 'triage.csv is missing' triage "$work/wrong"
refused 'trim must be below tail' train $small --trim 0.2 --out "$work/x"
refused 'trim 1 is not' train $small --trim 1 --out "$work/x"
refused 'mislabel 2 is not' train $small --mislabel 2 --out "$work/x"
refused "another 'doubt'" train --resume --doubt --out "$work/a"

# ---- the same bits: with a config, with signals, with kill -9
run 0 train --config "$work/a/config.json" --out "$work/b" --quiet
is_silent out
same "$work/a/latest.safetensors" "$work/b/latest.safetensors"
same "$work/a/config.json" "$work/b/config.json"

epochs=40 kills=3
[ -z "${HWS_TEST_LONG:-}" ] || epochs=400 kills=20
longer="$small --epochs $epochs --checkpoint-every 3 --target-ess 50"
run 0 train $longer --quiet --out "$work/whole"
stop_and_go_on() { # folder, which file of it to wait for, options
    stopped=$1 begun=$1/$2
    shift 2
    "$program" train "$@" --quiet --out "$stopped" >"$work/out" 2>"$work/err" &
    child=$!
    while [ ! -e "$begun" ] && kill -0 $child 2>/dev/null; do sleep 0.01; done
    kill -TERM $child # scripts ignore INT in the background
    kill -TERM $child # as timeout does, which tells the program and its group
    wait $child
    code=$?
    if [ $code -eq 1 ]; then
        complains 'resume --out'
        run 0 train --resume --out "$stopped" --quiet
    else
        [ $code -eq 0 ] || fail "an interrupted run ended with $code"
    fi
}
stop_and_go_on "$work/stopped" config.json $longer
same "$work/whole/latest.safetensors" "$work/stopped/latest.safetensors"
# Also of runs that begin with the weights or the losses of another, after their first epoch.
for begin in "--from $work/tail" "--loss-init $work/tail/losses.csv" "--from $work/tail --loss-init $work/tail"; do
    rm -rf "$work/warm-whole" "$work/warm-stopped"
    run 0 train $small --epochs $epochs $begin --quiet --out "$work/warm-whole"
    stop_and_go_on "$work/warm-stopped" history.csv $small --epochs $epochs $begin
    for file in latest.safetensors losses.csv distribution.csv; do same "$work/warm-whole/$file" "$work/warm-stopped/$file"; done
done

# ---- each signal that asks to stop; where SIGHUP is ignored, as under nohup, it stays so
endless="$small --target-ess 50 --quiet"
rows() { if [ -s "$1/history.csv" ]; then wc -l <"$1/history.csv"; else echo 0; fi; }
await_rows() { # FOLDER COUNT: so many, of the process $child
    while [ "$(rows "$1")" -lt "$2" ] && kill -0 $child 2>/dev/null; do sleep 0.05; done
}
for signal in TERM HUP USR1; do
    out=$work/by-$signal whole=$work/whole-$signal
    # Not inherited: who runs the tests may have them ignored.
    env --default-signal=$signal "$program" train $endless --epochs 1000000 --out "$out" >"$work/out" 2>"$work/err" &
    child=$!
    await_rows "$out" 2
    kill -$signal $child
    wait $child
    code=$?
    [ $code -eq 1 ] || fail "exit code $code after SIG$signal, expected 1"
    complains 'a checkpoint is written'
    epochs=$(($(rows "$out") + 1)) # with the first line, at least one more than were made
    run 0 train --resume --epochs $epochs --quiet --out "$out"
    run 0 train $endless --epochs $epochs --out "$whole"
    for file in latest.safetensors previous.safetensors losses.csv distribution.csv hardest.csv; do
        same "$whole/$file" "$out/$file"
    done
    without_seconds "$whole/history.csv" >"$work/h1"
    without_seconds "$out/history.csv" >"$work/h2"
    same "$work/h1" "$work/h2"
done
nohup "$program" train $endless --epochs 1000000 --out "$work/nohup" >"$work/out" 2>"$work/err" &
child=$!
await_rows "$work/nohup" 2
kill -HUP $child
await_rows "$work/nohup" $(($(rows "$work/nohup") + 2))
kill -0 $child || fail "SIGHUP ended a run under nohup"
stops $child
run 0 inspect "$work/nohup"

killed=0
"$program" train $longer --quiet --out "$work/killed" >"$work/out" 2>"$work/err" &
while child=$! && [ $killed -lt $kills ]; do
    sleep 0.$(($(od -An -N1 -tu1 /dev/urandom) % 90 + 10))
    kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
    killed=$((killed + 1))
    if [ ! -s "$work/killed/config.json" ]; then # killed before it began
        rm -rf "$work/killed"
        "$program" train $longer --quiet --out "$work/killed" >"$work/out" 2>"$work/err" &
    else
        "$program" train --resume --out "$work/killed" --quiet --threads 2 >"$work/out" 2>"$work/err" &
    fi
done
wait $child || fail "the last resumed run"
[ -s "$work/killed/latest.safetensors" ] || run 0 train --resume --out "$work/killed" --quiet
same "$work/whole/latest.safetensors" "$work/killed/latest.safetensors"
same "$work/whole/losses.csv" "$work/killed/losses.csv"
same "$work/whole/distribution.csv" "$work/killed/distribution.csv"
without_seconds "$work/whole/history.csv" >"$work/h1"
without_seconds "$work/killed/history.csv" >"$work/h2"
same "$work/h1" "$work/h2"
ls -A "$work/killed" | grep -q '\.tmp' && fail "files of killed processes were left"

# ---- the same command begins a run and goes on with it, from wherever its paths are right
awk 'BEGIN { print "label,x,y"; for (i = 0; i < 200; i++) print i % 2 "," i % 7 "," (i % 2) * 3 + i % 5 }' >"$work/t.csv"
table="t.csv --model mlp-1-4 --threads 1 --epochs 2 --quiet"
for begin in "" "--from first/best.safetensors" "--loss-init first/losses.csv" "--from first --loss-init first"; do
    out=first
    [ -z "$begin" ] || out=second
    rm -rf "${work:?}/second"
    for time in begins 'goes on'; do
        (cd "$work" && "$program" train $table $begin --resume-or-start --out $out) >"$work/out" 2>"$work/err" ||
            fail "a run with $begin that $time"
    done
done
mkdir "$work/elsewhere"
mv "$work/t.csv" "$work/elsewhere/u.csv"
refused "no such folder or file; if it has moved" train --resume --out "$work/first"
run 0 train "$work/elsewhere/u.csv" --resume --out "$work/first"
grep -q 'elsewhere/u.csv' "$work/first/config.json" || fail "config.json does not tell where the data are now"
sed '2s/,[0-9]*$/,9/' "$work/elsewhere/u.csv" >"$work/v.csv"
refused 'was made with other data' train "$work/v.csv" --resume-or-start --out "$work/first"
refused "another 'data'" train digits:100,100 --resume --out "$work/first"
mv "$work/elsewhere/u.csv" "$work/t.csv"

# ---- what follows from a setting follows from it in a config, too
config() { # SETTINGS OPTION...: begins a run by a config of these settings
    echo "$1" >"$work/config.json"
    shift
    rm -rf "$work/by-config"
    run 0 train "$work/t.csv" --config "$work/config.json" --model mlp-1-4 --epochs 1 --quiet --out "$work/by-config" "$@"
}
recorded() { grep -q "\"$1\": $2[,}]*\$" "$work/by-config/config.json" || fail "$1 is not $2 by the config"; }
config '{"trim": 0.05}'
recorded uniform_mix 0.1
config '{"divergence": "cvar:0.3"}'
recorded tail 0.3
config '{"target_ess": 50}'
recorded beta 10
config '{"history": "exact"}'
recorded look_ahead 0
run 0 train "$work/t.csv" --batch 16 --epochs 1 --threads 1 --out "$work/table"
prints '^mlp-2-64, '
refused 'wrn-10-1 is for pictures: .* such as mlp-2-64' train "$work/t.csv" --model wrn-10-1 --out "$work/x"
refused 'look-ahead 0' train "$work/t.csv" --history exact --look-ahead 1 --out "$work/x"
refused 'contradict each other' train "$work/t.csv" --divergence cvar:0.3 --tail 0.1 --out "$work/x"
refused '--epochs and --iterations' train "$work/t.csv" --epochs 3 --iterations 10 --out "$work/x"
refused '--stratify is for volumes, not for images' train "$work/t.csv" --stratify scanner --out "$work/x"

# ---- a damaged checkpoint: the one before is used
head -c 1000 "$work/whole/latest.safetensors" >"$work/half"
cp "$work/half" "$work/whole/latest.safetensors"
run 0 train --resume --out "$work/whole" --quiet
complains 'previous.safetensors instead'
same "$work/stopped/latest.safetensors" "$work/whole/latest.safetensors"
cp "$work/half" "$work/whole/latest.safetensors"
cp "$work/half" "$work/whole/previous.safetensors"
refused 'latest.safetensors' train --resume --out "$work/whole"

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
