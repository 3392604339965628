#!/bin/sh
# hws phantom: options right and wrong, what is written. usage: test_phantom.sh PROGRAM
set -u
program=$1
. "$(dirname "$0")/testing.sh"

# run CODE ARGUMENTS...: the program must end with this code.
run() {
    expected=$1
    shift
    "$program" phantom "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq "$expected" ] || fail "hws phantom $*: exit code $code, expected $expected"
}

says() { grep -q -e "$1" "$work/err" || fail "stderr lacks '$1'"; }

# wrong WORDS ARGUMENTS...: exit code 2, these words, and no folder.
wrong() {
    words=$1
    shift
    run 2 --out "$work/new" "$@"
    says "^hws: $words"
    [ ! -e "$work/new" ] || fail "a folder was made"
}

run 0 --help
grep -q '^usage: hws phantom' "$work/out" || fail "no usage"
grep -q 'synthetic' "$work/out" || fail "the help does not say that they are synthetic"
run 2
says '^hws: phantom needs --out'
run 2 --out ''
says '^hws: phantom needs --out'
wrong 'phantom has no option' --wrong
wrong 'phantom: what is' word
wrong '--cases 0 is not' --cases 0
wrong '--cases 1.5 is not' --cases 1.5
wrong '--spina-bifida 11 is neither' --cases 10 --spina-bifida 11
wrong '--spina-bifida -1 is neither' --spina-bifida -1
wrong '--spina-bifida 1.5 is neither' --spina-bifida 1.5
wrong '--other x is neither' --other x
wrong '--other nan is neither' --other nan
wrong '8 cases with spina bifida and 8 others' --cases 10 --spina-bifida 8 --other 0.8
wrong '--size 4,40,40 is not' --size 4,40,40
wrong '--size 40,40 is not' --size 40,40
wrong '--spacing 0 is not' --spacing 0
wrong '--threads 0 is not' --threads 0

run 0 --out "$work/a/b" --cases 5 --spina-bifida 0.4 --other 1 --test 3 --size 16,24,20 --spacing 6 --seed 3 --threads 2
grep -q '^5 cases (2 spina bifida, 1 other) and 3 for testing are in .*/a/b; they are synthetic$' "$work/out" || fail "no summary"
[ "$(ls "$work/a/b" | tr '\n' ' ')" = "dataset.json groups.csv imagesTr imagesTs labelsTr labelsTs phantoms.csv " ] || fail "other files"
[ "$(grep -c ',spina_bifida,' "$work/a/b/groups.csv")" = 3 ] || fail "other groups"
[ "$(ls "$work/a/b/imagesTr" | wc -l)" -eq 5 ] || fail "other images"
run 2 --out "$work/a/b" --cases 5
says '^hws: .*is not empty'
: >"$work/file"
run 1 --out "$work/file/below" --cases 5
says '^hws: the folder .* cannot be made'

# The built-in phantoms, which hws train draws when they are first asked for; a cache that cannot be made ends it soon.
export XDG_CACHE_HOME="$work/cache"
drawn="$work/cache/hws/phantom"
train() { timeout 100 "$program" train phantom --cache "$work/file/below" --quiet --threads 2 --out "$work/run$1" >"$work/out$1" 2>"$work/err$1"; }
ended() { grep -q 'the cache folder .* cannot be made' "$work/err$1" || fail "train phantom: $(cat "$work/err$1")"; }

"$program" train phantom --cache "$work/file/below" --quiet --threads 2 --out "$work/run0" >"$work/out0" 2>"$work/err0" &
process=$!
for wait in $(seq 200); do
    ls "$work/cache/hws/phantom.part/imagesTr/"*_010* >"$work/ls" 2>&1 && break
    sleep 0.02
done
kill -KILL $process
wait $process 2>/dev/null
[ ! -e "$drawn" ] || fail "phantoms are there although drawing them was stopped"
mkdir -p "$drawn/imagesTr"
: >"$drawn/imagesTr/phantom_001_0000.nii.gz"
train 1 &
train 2 &
wait
ended 1
ended 2
[ "$(ls "$drawn/imagesTr" | wc -l)" -eq 60 ] || fail "there are not sixty phantoms"
[ "$(ls "$work/cache/hws")" = phantom ] || fail "something is left over: $(ls "$work/cache/hws")"
before=$(stat -c %Y.%i "$drawn/dataset.json")
train 3
ended 3
[ "$(stat -c %Y.%i "$drawn/dataset.json")" = "$before" ] || fail "the phantoms were drawn again"

# Told to stop, it leaves nothing behind.
"$program" phantom --out "$work/stopped" --cases 5000 >"$work/out" 2>"$work/err" &
while [ ! -e "$work/stopped/labelsTr" ]; do sleep 0.02; done
stops $!
says '^hws: stopped'
[ ! -e "$work/stopped" ] || fail "half of a dataset is left"

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
