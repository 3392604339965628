#!/bin/sh
# Ranks that see different files or were told different things refuse to begin, and a rank that fails alone says why and ends the
# others. usage: test_differences.sh PROGRAM MPIRUN
set -u
program=$1
mpirun=$2
. "$(dirname "$0")/../cli/testing.sh"
. "$(dirname "$0")/launch.sh"

# Each rank works in a folder of its own, $work/seen0 or $work/seen1, with the options that stand there behind those of all.
cat >"$work/own" <<END
#!/bin/sh
cd "$work/seen\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" && exec "$program" "\$@" \$(cat options)
END
chmod +x "$work/own"
see_alike() {
    rm -rf "$work/run" "$work/seen0" "$work/seen1"
    cp -r "$work/seen" "$work/seen0"
    cp -r "$work/seen" "$work/seen1"
    options "" ""
}
options() { # OF_RANK_0 OF_RANK_1
    echo "$1" >"$work/seen0/options"
    echo "$2" >"$work/seen1/options"
}
on_two() { # PROGRAM ARGUMENTS...
    rm -f "$work/err" "$work/out"
    timeout -k 5 120 "$mpirun" $over_loopback -n 2 "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
}
is_refused() { # SENTENCE: all ranks have ended with a code of ours, and one has said why
    [ $code -eq 1 ] || [ $code -eq 2 ] || fail "ended with $code instead of '$1'"
    complains "$1"
}
refused() { # SENTENCE ARGUMENTS...
    sentence=$1
    shift
    on_two "$work/own" "$@"
    is_refused "$sentence"
}

# ---- the data: pictures of two classes, a list of them, a table, volumes
tiny="--model mlp-1-8 --batch 4 --iterations 3 --epoch-length 3 --quiet"
run 0 train digits:60,20 $tiny --out "$work/digits"
mkdir -p "$work/seen/pics/a" "$work/seen/pics/b"
n=0
for picture in "$work/digits/hardest"/*.png; do
    n=$((n + 1))
    [ $((n % 2)) -eq 0 ] && class=a || class=b
    cp "$picture" "$work/seen/pics/$class/$n.png"
done
[ $n -ge 40 ] || fail "only $n pictures"
for k in $(seq $n); do
    [ $((k % 2)) -eq 0 ] && class=a || class=b
    echo "pics/$class/$k.png,$class,$((k % 3))"
done | sed '1i file,label,place' >"$work/seen/list.csv"
awk 'BEGIN { print "age,hours,income"; for (k = 0; k < 60; k++) print 20 + k * 7 % 40 "," 10 + k * 11 % 50 "," (k % 3 ? "low" : "high") }' \
    >"$work/seen/table.csv"
run 0 phantom --out "$work/volumes" --cases 6 --size 16,24,16 --spacing 6 --threads 2

# ---- what the ranks see
how="$tiny --out $work/run"
see_alike
options "--threads 2" "--threads 1 --loaders 0"
on_two "$work/own" train pics $how
[ $code -eq 0 ] || fail "the same pictures at two places: $code"
run 0 train "$work/seen/pics" $tiny --out "$work/alone"
same "$work/alone/latest.safetensors" "$work/run/latest.safetensors"
rm -rf "$work/run"

mv "$work/seen1/pics/a" "$work/seen1/pics/c"
mv "$work/seen1/pics/b" "$work/seen1/pics/a"
mv "$work/seen1/pics/c" "$work/seen1/pics/b"
refused 'pics is not the same for rank 1 as for rank 0' train pics $how
[ ! -e "$work/run" ] || fail "ranks with different pictures have left a run behind"

see_alike
rm "$work/seen1/pics/a/2.png"
refused 'pics is not the same for rank 1 as for rank 0' train pics $how

see_alike
sed '5,30s/[0-9]$/7/' "$work/seen/list.csv" >"$work/seen1/list.csv"
refused 'list.csv is not the same for rank 1 as for rank 0' train list.csv --group place --objective group-dro $how

see_alike
cp -r "$work/seen/pics" "$work/seen0/both"
cp -r "$work/volumes" "$work/seen1/both"
refused "rank 1 has another 'data' than rank 0" train both --batch 4 --iterations 1 --lr 0.01 --out "$work/run"

# What a run begins with.
for seed in 1 2; do run 0 train digits:60,20 $tiny --seed $seed --out "$work/seed$seed"; done
see_alike
cp "$work/seed1/best.safetensors" "$work/seen0/first.safetensors"
head -c 300 "$work/seed1/best.safetensors" >"$work/seen1/first.safetensors"
refused '--from: .*first.safetensors' train digits:60,20 --from first.safetensors $how
cp "$work/seed2/best.safetensors" "$work/seen1/first.safetensors"
refused 'first.safetensors is not the same for rank 1 as for rank 0' train digits:60,20 --from first.safetensors $how
cp "$work/seed1/losses.csv" "$work/seen0/first.csv"
cp "$work/seed2/losses.csv" "$work/seen1/first.csv"
refused 'first.csv is not the same for rank 1 as for rank 0' train digits:60,20 --loss-init first.csv $how

# What a run goes on with: the same settings, but kernels that round differently.
see_alike
again="digits:60,20 --model wrn-10-1 --batch 4 --iterations 3 --epoch-length 3 --quiet"
run 0 train $again --out "$work/seen0/begun"
export HWS_KERNELS=generic
run 0 train $again --out "$work/seen1/begun"
unset HWS_KERNELS
cmp -s "$work/seen0/begun/latest.safetensors" "$work/seen1/begun/latest.safetensors" ||
    refused 'begun is not the same for rank 1 as for rank 0' train --resume --out begun

# A run of pictures and one of volumes, of which the first rank would do the first by itself.
see_alike
run 0 train "$work/volumes" --iterations 1 --epoch-length 1 --batch 2 --quiet --out "$work/seen1/run"
cp -r "$work/digits" "$work/seen0/run"
refused 'run is not the same for rank 1 as for rank 0' evaluate run
refused 'run is not the same for rank 1 as for rank 0' predict run --input "$work/volumes/imagesTr" --output "$work/labels"

# ---- what they were told
see_alike
options "" "--lr 0.5"
refused "rank 1 has another 'lr' than rank 0: start all ranks with the same options" train pics $how
options "--checkpoint-every 1" ""
refused "rank 1 has another 'checkpoint_every' than rank 0" train pics $how
on_two "$program" inspect "$work/digits" : -n 1 "$program" train digits:60,20 $how
is_refused 'rank 2 is another version of hws than rank 0, or does another verb'

# ---- one fails alone
for rank in 0 1; do
    see_alike
    echo "--bogus" >"$work/seen$rank/options"
    refused "rank $rank failed, and with it the others: .*--bogus" train pics $how
    see_alike
    head -c 60 "$work/seen/pics/a/2.png" >"$work/seen$rank/pics/a/2.png"
    refused '2.png: is a broken PNG file' train pics $how
done
see_alike
mkdir -p "$work/run/features.csv/x"
refused 'features.csv' train table.csv --label income $how
rm -rf "$work/run"
mkdir -p "$work/run/plans.json/x"
refused 'plans.json' train "$work/volumes" --iterations 1 --batch 2 --out "$work/run"
[ $failures -eq 0 ]
