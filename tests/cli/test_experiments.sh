#!/bin/sh
# The scripts of the paper's segmentation studies: help and wrong usage; with HWS_TEST_LONG (make test-long) their dry runs, too.
# usage: test_experiments.sh PROGRAM FOLDER_OF_EXPERIMENTS
set -u
program=$1
experiments=$2
. "$(dirname "$0")/testing.sh"

script() { # code, script, arguments
    expected=$1
    shift
    HWS=$program JOBS=2 sh "$experiments/$1" $2 $3 >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq "$expected" ] || fail "$*: exit code $code, expected $expected"
}

for study in fetal brats; do
    script 0 $study.sh --help ""
    prints "usage: experiments/$study.sh DATASET"
    script 2 $study.sh --what ""
    script 2 $study.sh "" ""
done
mkdir "$work/empty"
script 1 brats.sh "$work/empty" "$work/none"
grep -q "neither a dataset nor BraTS" "$work/err" || fail "brats.sh does not say what is missing"

# Whatever ends a study, none of its jobs is left alive: begun again, it would find their runs' folders taken. The jobs here wait for
# each other, and `slow` takes a second to end, as hws does that still writes a checkpoint.
cat >"$work/study.sh" <<END
set -eu
root=$experiments/.. script=$work/study.sh study=test
. "\$root/experiments/study.sh"
until_there() { until [ -e "\$1" ]; do sleep 0.05; done; }
slow() { : >"\$OUT/began"; until_there "\$OUT/go"; sleep 1; : >"\$OUT/ended"; }
bad() { until_there "\$OUT/began"; : >"\$OUT/go"; false; }
stopped() { sh -c 'trap "sleep 1; : >ended; exit 1" TERM; : >began; while :; do sleep 0.05; done' ; }
never() { : >"\$OUT/never"; }
study_begin "\$@"
cd "\$OUT"
for name in \$STUDY_JOBS; do job \$name; done
stage testing
END
for jobs in "slow bad" "slow bad never"; do
    rm -rf "$work/fails"
    STUDY_JOBS=$jobs HWS=$program JOBS=2 sh "$work/study.sh" "$work/empty" "$work/fails" >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] || fail "a study with a bad job succeeds"
    grep -q "the same command goes on from here" "$work/err" || fail "a failed study does not tell what to do"
    [ -e "$work/fails/ended" ] || fail "a study ends before its jobs when one of them fails ($jobs)"
    [ ! -e "$work/fails/never" ] || fail "a study goes on after a failure"
done
STUDY_JOBS=stopped HWS=$program JOBS=2 setsid sh "$work/study.sh" "$work/empty" "$work/stops" >"$work/out" 2>"$work/err" &
study=$!
until [ -e "$work/stops/began" ] || ! kill -0 $study 2>/dev/null; do sleep 0.05; done
kill -TERM "-$study"
wait $study
[ $? -eq 143 ] || fail "a study that was stopped does not say so"
[ -e "$work/stops/ended" ] || fail "a study ends before its jobs when it is stopped"

# BraTS as it is distributed becomes a dataset of links.
run 0 phantom --tumours --out "$work/phantoms" --cases 5 --size 16,16,16 --spacing 8 --threads 2
for k in 1 2 3 4 5; do
    grade=HGG name=BraTS19_CBICA_$k
    [ $k -lt 4 ] || grade=LGG name=BraTS19_TCIA01_$k
    mkdir -p "$work/raw/$grade/$name"
    channel=0
    for sequence in t1 t1ce t2 flair; do
        cp "$work/phantoms/imagesTr/phantom_00${k}_000$channel.nii.gz" "$work/raw/$grade/$name/${name}_$sequence.nii.gz"
        channel=$((channel + 1))
    done
    cp "$work/phantoms/labelsTr/phantom_00$k.nii.gz" "$work/raw/$grade/$name/${name}_seg.nii.gz"
done
EPOCHS=1 EPOCH_LENGTH=1 BATCH=2 BETAS=none script 1 brats.sh "$work/raw" "$work/made" # ends at the first training with such a beta
grep -q "^BraTS19_TCIA01_5,TCIA,LGG$" "$work/made/data/groups.csv" || fail "groups.csv of BraTS lacks centre and grade"
run 0 plan "$work/made/data" --out "$work/made/plan"
prints "5 cases"

if [ -n "${HWS_TEST_LONG:-}" ]; then
    for study in fetal brats; do
        script 0 $study.sh --dry-run "$work/$study"
        prints "page: "
        [ -s "$work/$study/page.html" ] || fail "$study.sh made no page"
        grep -q "<svg" "$work/$study/page.html" || fail "$study.sh drew no boxes"
        grep -q "data:image/png;base64,iVBOR" "$work/$study/page.html" || fail "$study.sh shows no pictures"
        grep -q "Table 1" "$work/$study/page.html" || fail "$study.sh does not tell what the data are"
        grep -q "<td>Testing</td>" "$work/$study/page.html" || fail "$study.sh does not count the test cases"
        grep -q "<figcaption><b>[a-z]*_[0-9]*</b> ([^)]*)<br>.*: Dice [0-9.]* %" "$work/$study/page.html" || fail "$study.sh has no captions"
        grep -q 'class="view"' "$work/$study/report.html" || fail "$study.sh made no page of worst cases"
        script 0 $study.sh --dry-run "$work/$study" # again: everything is there
    done
    grep -q "Table 5" "$work/brats/page.html" || fail "brats.sh has no Table 5"
    [ -s "$work/brats/table3/comparison.tex" ] || fail "brats.sh has no table for LaTeX"
fi
exit $((failures > 0))
