#!/bin/sh
# What is missing, damaged, cut short, closed or named strangely: hws repairs it or says so, and loses nothing.
# usage: test_damage.sh PROGRAM MAKE_PICTURES
set -u
program=$1
pictures=$2
. "$(dirname "$0")/testing.sh"
chmod 755 "$work"

await() { # a file that another process will write
    tries=0
    while [ ! -e "$1" ] && [ $tries -lt 3000 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    [ -e "$1" ] || fail "$1 never came"
}

# ---- pictures with long names, commas and quotes; a run whose last pictures are missing
"$pictures" "$work/data" 48 || fail "no pictures"
long=$(printf '%0130d' 7)
mv "$work/data/p000.png" "$work/data/${long}a, \"b\".png"
mv "$work/data/p001.png" "$work/data/${long}a, \"c\".png"
sed -i "s/^p000.png/\"${long}a, \"\"b\"\".png\"/; s/^p001.png/\"${long}a, \"\"c\"\".png\"/" "$work/data/labels.csv"
run 0 train "$work/data" --model mlp-1-8 --batch 8 --threads 1 --epochs 2 --out "$work/run"
for letter in b c; do
    grep -qF "\"${long}a, \"\"$letter\"\".png\"" "$work/run/losses.csv" || fail "losses.csv has another name"
    grep -qF "\"${long}a, \"\"$letter\"\".png\"" "$work/run/hardest.csv" || fail "hardest.csv has another name"
    [ -s "$work/run/hardest/${long}a, \"$letter\".png.png" ] || fail "example $letter has no picture"
done
cp -R "$work/run" "$work/whole"
missing() { # what is taken away comes back, and nothing else
    run 0 train --resume --out "$work/run"
    diff -r -x history.csv -x train.log "$work/whole" "$work/run" >"$work/out" || fail "a resumed run is not whole: $1"
}
rm "$work/run/hardest.csv" && missing hardest.csv
rm "$work/run/triage.csv" && missing triage.csv
rm "$work/run/hardest/p004.png.png" && missing "a picture"
rm -r "$work/run/hardest" "$work/run/triage" && missing "all pictures"
head -n 5 "$work/whole/hardest.csv" >"$work/run/hardest.csv" && missing "half a table"
cp "$work/run/hardest/p004.png.png" "$work/run/hardest/older.png" && missing "a picture too many"
touch "$work/run/notes.tmp123" "$work/run/config.json.tmp123.4" # not ours
run 0 train --resume --epochs 3 --out "$work/run"
[ -e "$work/run/notes.tmp123" ] && [ -e "$work/run/config.json.tmp123.4" ] || fail "files of others were removed"

# ---- nobody listens any more: stopped with a checkpoint
mkfifo "$work/pipe"
head -n 1 "$work/pipe" >/dev/null &
"$program" train digits:200,100 --model mlp-1-8 --threads 1 --epochs 1000000 --out "$work/piped" >"$work/pipe" 2>"$work/err"
code=$?
[ $code -eq 1 ] || fail "a closed pipe: exit code $code, expected 1"
complains 'a checkpoint is written'
[ -s "$work/piped/hardest.csv" ] || fail "no hardest.csv after a closed pipe"
run 0 inspect "$work/piped"
# ... also when a signal follows, as from a terminal that is closed: it is the first that asks to stop
"$program" train digits:200,100 --model mlp-1-8 --threads 1 --epochs 1000000 --out "$work/both" >"$work/out" 2>"$work/err" &
until [ -s "$work/both/history.csv" ] || ! kill -0 $!; do sleep 0.1; done
kill -PIPE $!
stops $!
run 0 inspect "$work/both"

# ... and what is only told ends as if all of it had been read
head -n 1 "$work/pipe" >/dev/null &
"$program" train digits:200,100 --model mlp-1-8 --threads 1 --iterations 200 --dry-run >"$work/pipe" 2>"$work/err"
code=$?
[ $code -eq 0 ] || fail "a dry run into a closed pipe: exit code $code, expected 0"
is_silent err

# ---- names that are no names
for verb in "train digits" "phantom --cases 2" "plan $work/data" "report $work/run" "evaluate $work/run"; do
    "$program" $verb --out "" >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq 2 ] || fail "hws $verb --out '': exit code $code, expected 2"
    grep -q 'too long' "$work/err" && fail "hws $verb --out '': an empty name is not too long"
done

# ---- a byte of the cache has changed: hws plan and hws train make it anew
flip() { # the byte at half the size of a file
    half=$(($(wc -c <"$1") / 2))
    byte=$(od -An -tu1 -j $half -N 1 "$1" | tr -d ' ')
    printf "\\$(printf %o $((255 - byte)))" | dd of="$1" bs=1 seek=$half conv=notrunc 2>/dev/null
}
small="--iterations 2 --threads 1 --quiet"
run 0 phantom --out "$work/heads" --cases 5 --size 16,20,16 --spacing 8 --threads 1
run 0 plan "$work/heads" --threads 1
cache=$work/heads/hws_cache
cp "$cache/cases/phantom_002.hwscase" "$work/good"
flip "$cache/cases/phantom_002.hwscase"
run 0 plan "$work/heads" --threads 1
complains '1 file of the cache is damaged .* made anew, such as phantom_002'
same "$work/good" "$cache/cases/phantom_002.hwscase"
flip "$cache/cases/phantom_002.hwscase"
run 0 train "$work/heads" $small --out "$work/repaired"
complains '1 file of the cache is damaged .* made anew, such as phantom_002'
same "$work/good" "$cache/cases/phantom_002.hwscase"

# ---- a complete cache that cannot be written, for somebody else
if [ "$(id -u)" -eq 0 ]; then
    other="setpriv --reuid=65534 --regid=65534 --clear-groups"
    chmod -R a+rX "$work/heads"
    mkdir "$work/theirs" && chmod 777 "$work/theirs"
else
    other= && mkdir "$work/theirs" && chmod -R a-w "$cache"
fi
if $other "$program" --version >/dev/null 2>&1; then
    rm -f "$cache/splits_final.json"
    $other "$program" plan "$work/heads" --threads 1 >"$work/out" 2>"$work/err" || fail "a read-only cache: plan"
    $other "$program" train "$work/heads" $small --out "$work/theirs/run" >"$work/out" 2>"$work/err" ||
        fail "a read-only cache: train"
fi
chmod -R u+w "$cache"

# ---- a file of the cache is cut short while it is read
"$program" train "$work/heads" --iterations 1000000 --threads 1 --quiet --out "$work/cut" >"$work/out" 2>"$work/err" &
child=$!
await "$work/cut/config.json"
for file in "$cache"/cases/*.hwscase; do : >"$file"; done
wait $child
code=$?
[ $code -eq 1 ] || fail "a case that is cut short: exit code $code, expected 1"
complains 'hwscase: was cut short'
run 0 plan "$work/heads" --threads 1
same "$work/good" "$cache/cases/phantom_002.hwscase"

# ---- names that JSON cannot hold
strange=$(printf 'x\377')
for file in "$work"/heads/imagesTr/phantom_001* "$work"/heads/labelsTr/phantom_001*; do
    mv "$file" "$(dirname "$file")/$strange$(basename "$file")" 2>/dev/null || strange=
done
if [ -n "$strange" ]; then
    LC_ALL=C && export LC_ALL # grep knows no such character either
    refused 'is not UTF-8' plan "$work/heads" --out "$work/other"
    refused 'is not UTF-8' evaluate --pred "$work/heads/labelsTr" --ref "$work/heads/labelsTr" --labels 1,2,3 \
        --out "$work/strange"
fi

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
