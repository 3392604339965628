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

# The way from data to page, by names that are relative to where one stands. What takes long has a stand-in: a run is a folder, and what
# it predicts are the references.
mkdir "$work/bin"
cat >"$work/bin/hws" <<'END'
#!/bin/sh
value_of() { # option, words
    option=$1
    while [ $# -gt 1 ]; do shift; [ "$1" != "$option" ] || { echo "$2"; return; }; done
}
copy() { mkdir -p "$2" && cp "$1"/* "$2"; }
out=$(value_of --out "$@")
case $1,$2 in
train,*) mkdir -p "$out" ;;
predict,*) copy "$DATASET/labelsTs" "$(value_of --output "$@")" ;;
evaluate,--pred) exec "$REAL" "$@" ;;
evaluate,*)
    copy "$DATASET/labelsTr" "$2/validation"
    [ -z "$out" ] || exec "$REAL" evaluate --pred "$DATASET/labelsTr" --ref "$DATASET/labelsTr" --images "$DATASET/imagesTr" \
        --groups "$DATASET/groups.csv" --regions "$REGIONS" --hd95 --out "$out" --quiet ;;
*) exec "$REAL" "$@" ;;
esac
END
chmod +x "$work/bin/hws"
study() { # code, script, arguments
    expected=$1 name=$2
    shift 2
    (cd "$work" && REAL=$program HWS=bin/hws JOBS=2 sh "$experiments/$name" "$@") >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq "$expected" ] || fail "$name $*: exit code $code, expected $expected"
}
has_page() { # folder
    grep -q "<td>Training</td>" "$work/$1/page.html" || fail "$1/page.html does not tell what the data are"
    grep -q 'class="view"' "$work/$1/report.html" || fail "$1/report.html shows no case"
}
# Blanks are part of folders' names, also of the checkout's.
mkdir "$work/check out"
ln -s "$experiments" "$work/check out/experiments"
experiments="$work/check out/experiments"
BETAS=100 study 0 brats.sh raw "made here"
mv "$work/made here" "$work/made"
has_page made
BETAS=100 study 0 brats.sh made/data again
has_page again
grep -q "^BraTS19_TCIA01_5,TCIA,LGG$" "$work/made/data/groups.csv" || fail "groups.csv of BraTS lacks centre and grade"
run 0 plan "$work/made/data" --out "$work/made/plan"
prints "5 cases"
BETAS="10 1000" study 1 brats.sh made/data lacking
grep -q "BETAS lacks 100" "$work/err" || fail "brats.sh does not say which beta it needs"
[ ! -e "$work/lacking/runs" ] || fail "brats.sh trains before it says which beta it needs"
run 0 phantom --out "$work/brains" --cases 6 --spina-bifida 2 --test 3 --size 16,16,16 --spacing 8 --threads 2
mv "$work/brains" "$work/two brains"
study 0 fetal.sh "two brains" "tested here"
has_page "tested here"
mv "$work/two brains" "$work/brains"
# Without a test set, the validation cases by the weights that were asked for, whatever else is there.
mkdir "$work/untested"
cp -r "$work/brains/imagesTr" "$work/brains/labelsTr" "$work/brains/dataset.json" "$work/brains/groups.csv" "$work/untested"
mkdir -p "$work/best/runs/erm-f4/validation-latest"
for file in "$work/untested/labelsTr"/*; do echo old >"$work/best/runs/erm-f4/validation-latest/${file##*/}"; done
study 0 fetal.sh untested best
has_page best
for file in "$work/untested/labelsTr"/*; do same "$file" "$work/best/predictions/erm/${file##*/}"; done
study 1 fetal.sh nowhere none
grep -q "there is no folder nowhere" "$work/err" || fail "fetal.sh does not say that there are no data"
# The time one has: both recipes are trained for every budget, side by side or one after the other.
cat >"$work/bin/quick" <<'END'
#!/bin/sh
for last; do :; done
case $1 in
plan) mkdir -p "$4" && : >"$4/plans.json" ;;
train)
    [ -z "${BAD:-}" ] || case $last in */chosen-*) : >bad; exit 1 ;; *) until [ -e bad ]; do sleep 0.05; done; sleep 1 ;; esac
    echo "${last##*/}" >>trained && mkdir -p "$last" && printf 'epoch,iteration\n1,7\n' >"$last/history.csv" ;;
evaluate) : >"$2/summary.json" ;;
compare) mkdir -p "$last" && echo compared >"$last/comparison.txt" ;;
esac
END
chmod +x "$work/bin/quick"
for alone in "" 1; do
    (cd "$work" && rm -f trained && ALONE=$alone BUDGETS="1m 2m" HWS=bin/quick sh "$experiments/budget.sh" brains "budget $alone") \
        >"$work/out" 2>"$work/err" || fail "budget.sh fails with ALONE=$alone"
    prints "nnunet-2m: .* 7 iterations"
    prints compared
    [ "$(sort "$work/trained" | tr '\n' ' ')" = "chosen-1m chosen-2m nnunet-1m nnunet-2m " ] || fail "budget.sh trains other runs: $(cat "$work/trained")"
done
(cd "$work" && rm -f trained && BAD=1 BUDGETS=1m HWS=bin/quick sh "$experiments/budget.sh" brains bad-budget) >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail "budget.sh succeeds although a run failed"
[ -e "$work/trained" ] || fail "budget.sh ends before its second run when the first fails"

# Queues of runs and tables of seeds. The stand-in notes what it was asked for; accuracies and Dice are by seed.
cat >"$work/bin/noting" <<'END'
#!/bin/sh
for last; do :; done
echo "<$(printf '%s>' "$@" | sed 's/>$//; s/>/> </g')>" >>notes
seed=${last##*-s}
case $1 in
train)
    mkdir -p "$last" && : >"$last/config.json"
    header="epoch,seconds,train_loss_mean,train_loss_std,test_accuracy,test_accuracy_3,test_accuracy_group:rare,test_worst_group"
    printf '%s\n' "$header" "1,5,1,1,0,0,0,0" "2,9,0.$seed,0,0.9$seed,0.5,0.5$seed,0.4" >"$last/history.csv"
    printf 'example,label,given\nw,right,missing\n' >"$last/mislabelled.csv"
    printf 'example,stale_loss\nw,1\nb_ED,1\nc,1\nd,1\n' >"$last/losses.csv"
    printf 'rank,example\n1,b_ED\n2,w\n3,c\n4,d\n' >"$last/triage.csv" ;;
phantom) mkdir -p "$3" && printf 'case,condition\nb_ED,spina_bifida\n' >"$3/groups.csv" ;;
plan) mkdir -p "$4" && echo '"features": 32' >"$4/plans.json" && : >"$4/splits_final.json" ;;
evaluate)
    [ "$2" = --pred ] && run=${3%/test} || run=$2
    printf 'case,label,diagnosis,condition,Dice\na,RV,NOR,control,0.5\nb,RV,DCM,other,0.7\n' >"$run/cases.csv" ;;
esac
END
chmod +x "$work/bin/noting"
queued() { # script, arguments
    name=$1
    shift
    (cd "$work" && HWS=bin/noting JOBS=2 SEEDS="1 3" METHODS="erm dro" sh "$experiments/$name" "$@") >"$work/out" 2>"$work/err" ||
        fail "$name $* fails"
}
noted() { grep -qF "$1" "$work/notes" || fail "no '$1' among: $(cat "$work/notes")"; }
mkdir "$work/my data"
printf 'case,diagnosis\na_ED,NOR\nb_ED,DCM\n' >"$work/my data/groups.csv"
KEEP="group:quite rare=0.1" queued chest.sh "my data" "chest out"
noted '<train> <my data> <--keep> <group:quite rare=0.1> <--objective> <dro> <--seed> <3>'
noted '<report> <chest out/erm-s1> <chest out/dro-s1>'
prints "95 % confidence interval"
# 91 and 93: 92, and 12.706 times the standard error, 1.
same_words() { [ "$(grep "^$1" "$work/chest out/table.txt" | tr -s ' ')" = "$2" ] || fail "chest.sh's table: $(cat "$work/chest out/table.txt")"; }
same_words dro "dro 2 92.00 +- 12.71 52.00 +- 12.71 40.00 +- 0.00"
same_words " " " seeds all rare worst group"
queued acdc.sh "my data" "acdc out"
noted '<train> <acdc out/data> <--cache> <acdc out/cache>'
noted '<evaluate> <acdc out/dro-s3>'
grep -q "^dro .* 60.00 +- 0.00" "$work/acdc out/table.txt" || fail "acdc.sh's table: $(cat "$work/acdc out/table.txt")"
queued phantom.sh "phantom out"
noted '<evaluate> <--pred> <phantom out/erm-s1/test> <--ref> <phantom out/data/labelsTs>'
grep -q "^dro .* 60.00 +- 0.00 .* 70.00 +- 0.00" "$work/phantom out/table.txt" || fail "phantom.sh's table: $(cat "$work/phantom out/table.txt")"
# With wrong labels: they are in the options, and below the table triage's order: one of three right cases, the rare one, is before it.
wrong() { # script, arguments, of which the last is where it writes
    for out; do :; done
    MISLABEL=0.1 queued "$@"
    noted '<--objective> <dro> <--mislabel> <0.1> <--seed> <3>'
    sed -n '/^triage/,$p' "$work/$out/table.txt" | grep -q "^dro .* 0.67 +- 0.00 .* 0.00 +- 0.00" || fail "$1 on triage: $(cat "$work/$out/table.txt")"
    rm "$work/notes"
}
! grep -q "mislabel" "$work/notes" || fail "labels are made wrong without MISLABEL"
! grep -q "^triage" "$work/phantom out/table.txt" || fail "phantom.sh judges triage without wrong labels"
wrong phantom.sh "wrong phantoms"
RARE=DCM wrong acdc.sh "my data" "wrong acdc"
DATA="my data" queued mnist.sh "mnist out"
"$experiments/dice_table" condition "" "a=$work/nowhere" >"$work/out" 2>"$work/err" && fail "dice_table does without a run"
"$experiments/accuracy_table" 3 "a=$work/nowhere" >"$work/out" 2>"$work/err" && fail "accuracy_table does without a run"
grep -q "^erm .* 92.00 +- 12.71" "$work/mnist out/table.txt" || fail "mnist.sh's table: $(cat "$work/mnist out/table.txt")"
# Of the last ten epochs there are two: 0 and 91, 0 and 93.
sed -n '/last ten epochs/,$p' "$work/mnist out/table.txt" | grep -q "^erm .* 46.00 +- 6.35" || fail "no means over epochs: $(cat "$work/mnist out/table.txt")"
# Curves: 0 and 92 of 100 at the two epochs, with a band from 91 to 93; the losses fall from 1 to 0.2, on an axis of powers of ten.
curves="$work/mnist out/curves.svg"
grep -q 'd="M50.0 184.0L340.0 46.0"><title>erm' "$curves" || fail "mnist.sh's curves: $(cat "$curves")"
grep -q 'd="M50.0 184.0L340.0 44.5L340.0 47.5L50.0 184.0Z"' "$curves" || fail "mnist.sh's curves have no band: $(cat "$curves")"
grep -q 'd="M50.0 254.0L340.0 358.8"><title>dro' "$curves" || fail "mnist.sh's losses: $(cat "$curves")"
grep -q '>erm (2 seeds)<' "$curves" || fail "mnist.sh's curves have no legend"
! "$experiments/learning_curves" 3 "a=$work/nowhere" >"$work/out" 2>"$work/err" || fail "learning_curves does without a run"
! "$experiments/learning_curves" 4 "a=$work/mnist out/erm-s1" >"$work/out" 2>"$work/err" || fail "learning_curves draws a class that is not there"
grep -q "knows no class 4" "$work/err" || fail "learning_curves does not tell which class is missing"

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
