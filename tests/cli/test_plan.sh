#!/bin/sh
# hws plan on phantoms: what it says, makes, keeps and refuses. usage: test_plan.sh PROGRAM
set -u
program=$1
. "$(dirname "$0")/testing.sh"

data=$work/data
run 0 phantom --out "$data" --cases 6 --threads 2

run 0 plan "$data" --threads 2
prints "ready      6 cases, 6 preprocessed now"
prints "$data/hws_cache/plans.json"
prints "folds      $data/hws_cache/splits_final.json, with 2, 1, 1, 1, 1 cases to validate on"
[ -s "$data/hws_cache/splits_final.json" ] || fail "the folds are not kept"
[ "$(ls "$data/hws_cache/cases" | wc -l)" -eq 6 ] || fail "there are not six cases"
run 0 plan "$data"
prints "6 cases, 0 preprocessed now"
prints "kept"

# A changed input, an edited spacing, a plan that cannot be read, and another plan.
touch -d '2001-01-01' "$(ls "$data"/labelsTr/*.nii.gz | head -n 1)"
run 0 plan "$data"
prints "6 cases, 1 preprocessed now"
sed -i 's/"spacing": \[[^]]*\]/"spacing": [4, 4, 4]/' "$data/hws_cache/plans.json"
run 0 plan "$data"
prints "6 cases, 6 preprocessed now"
prints "spacing    4 x 4 x 4"
sed -i 's/"batch": .*/"batch": "many",/' "$data/hws_cache/plans.json"
run 2 plan "$data"
complains "batch must be a whole number"
run 0 plan "$data" --replan
prints "spacing    3 x 3 x 3"

# A channel that is to be normalised otherwise.
cp "$data/dataset.json" "$work/dataset.json"
sed -i '/"channel_names"/,/}/ s/"0": "[^"]*"/"0": "CT"/' "$data/dataset.json"
run 2 plan "$data"
complains "channel 0 was called .*, which is normalised otherwise than 'CT'"
cp "$work/dataset.json" "$data/dataset.json"

# Another place, the same with fewer threads, to the bit.
run 0 plan "$data" --out "$work/cache" --threads 1
for one in "$work"/cache/cases/*; do
    cmp -s "$one" "$data/hws_cache/cases/$(basename "$one")" || fail "$(basename "$one") differs with one thread"
done

# One cache for two datasets.
run 0 phantom --out "$work/others" --cases 5 --size 16,24,16 --spacing 6 --threads 2
sed -i 's/"name": "[^"]*"/"name": "others"/' "$work/others/dataset.json"
run 2 plan "$work/others" --out "$work/cache"
complains "hws phantoms.*others.*--replan"
run 2 train "$work/others" --cache "$work/cache" --out "$work/run"
complains "hws phantoms.*others.*--cache"

# Folds that training would refuse, and groups that do not fit.
first=$(ls "$data/labelsTr" | head -n 1 | sed 's/.nii.gz//')
cp "$data/groups.csv" "$work/groups.csv"
sed -i "s/^$first,/stranger,/" "$data/groups.csv"
run 0 plan "$data"
complains "groups.csv lacks, so that they are in no group, 1 case: $first$"
complains "groups.csv names what the dataset does not have, 1 case: stranger$"
run 2 plan "$data" --stratify condition
complains "1 of .* training cases has no value in column 'condition': $first; add it"
cp "$work/groups.csv" "$data/groups.csv"
echo "[{\"train\": [\"$first\"], \"val\": [\"$first\", \"nobody\"]}]" >"$data/splits_final.json"
run 2 plan "$data"
complains 'splits_final.json has 2 problems'
grep -q "fold 0: the case '$first' is in train and in val" "$work/err" || fail "the case in both is not told"
grep -q "fold 0: the dataset has no case 'nobody'" "$work/err" || fail "the unknown case is not told"
rm "$data/splits_final.json"

run 2 plan
complains "plan which dataset"
run 2 plan "$work/nothing"
complains "nothing"
run 2 plan "$data" --thread 2
complains "thread"
run 1 plan "$data" --out "$data/dataset.json/cache"
complains "cannot be made.*--out"
rm "$(ls "$data"/labelsTr/*.nii.gz | tail -n 1)"
run 2 plan "$data"
run 0 plan --help
prints "usage: hws plan"
# Told to stop, it says so, and goes on later.
run 0 phantom --out "$work/many" --cases 40 --threads 2
"$program" plan "$work/many" --threads 1 >"$work/out" 2>"$work/err" &
while [ ! -e "$work/many/hws_cache" ]; do sleep 0.01; done
stops $!
complains 'stopped; the same command goes on'
run 0 plan "$work/many" --threads 2
prints "ready      40 cases"

# Folds of whole patients, where groups.csv names them and nobody says otherwise; folds that are kept stay.
pairs=$work/pairs
run 0 phantom --out "$pairs" --cases 12 --size 16,16,16 --spacing 6 --threads 2
awk -F, 'NR == 1 { print $0 ",Patient"; next } { print $0 ",p" int((NR - 2) / 2) }' "$pairs/groups.csv" >"$work/named.csv"
dry() { run 0 train "$pairs" --dry-run --threads 1 --out "$work/never" "$@"; }
dry --cache "$work/nnunets"
! grep -q 'patients' "$work/err" || fail "patients are told of that nobody named"
mv "$work/named.csv" "$pairs/groups.csv"
dry --cache "$work/whole"
complains "groups.csv names 6 patients, with several of the 12 cases: the folds keep a patient's together"
pairs_kept() { # how many of the pairs 1 and 2, 3 and 4 ... are validated on together
    tr -d ' \n' <"$1" | grep -o '"val":\[[^]]*\]' | awk '{ for (k = 1; k < 12; k += 2)
        kept += ($0 ~ sprintf("phantom_%03d\"", k)) && ($0 ~ sprintf("phantom_%03d\"", k + 1)) } END { print kept + 0 }'
}
[ "$(pairs_kept "$work/whole/splits_final.json")" = 6 ] || fail "patients are torn"
[ "$(pairs_kept "$work/nnunets/splits_final.json")" != 6 ] || fail "nnU-Net's folds keep them together by chance: take others"
sed -i '1s/Patient$/subject_id/' "$pairs/groups.csv" # another usual name
dry --cache "$work/subjects"
complains "the column 'subject_id' of groups.csv names 6 patients, with several"
cmp -s "$work/whole/splits_final.json" "$work/subjects/splits_final.json" || fail "the name of the column changes the folds"
sed -i '1s/subject_id$/Patient/' "$pairs/groups.csv"
# A case without a patient is nobody's, also where it is called like one; four patients are too few for five folds.
cp "$pairs/groups.csv" "$work/named.csv"
sed -i '2s/p0$//; 3s/p0$/phantom_001/; s/p1$/phantom_001/' "$pairs/groups.csv"
dry --cache "$work/nobody"
complains "groups.csv names 5 patients, with several"
tr -d ' \n' <"$work/nobody/splits_final.json" | grep -o '"val":\[[^]]*\]' | grep '"phantom_003"' | grep -q '"phantom_001"' &&
    fail "a case of nobody is kept with a patient of its name"
awk -F, -v OFS=, 'NR > 1 { $NF = "p" int((NR - 2) / 3) } 1' "$work/named.csv" >"$pairs/groups.csv"
dry --cache "$work/few"
complains 'groups.csv names 4 patients, too few for 5 folds of whole patients: .* scores will flatter'
mv "$work/named.csv" "$pairs/groups.csv"
cp "$work/nnunets/splits_final.json" "$work/kept.json"
dry --cache "$work/nnunets"
cmp -s "$work/kept.json" "$work/nnunets/splits_final.json" || fail "folds that were there are replaced"
# Kept folds that tear patients are told of each time, with the command that makes others. It is the patients that count, not names.
complains "validation cases are of patients who are trained on, too, .* The folds in $work/nnunets/splits_final.json were made earlier, without the column Patient: hws plan $pairs --keep-together Patient --out $work/nnunets makes new ones"
dry --cache "$work/nnunets" --stratify condition
complains "validation cases are of patients who are trained on, too, so that scores will flatter; --keep-together Patient makes others"
run 0 plan "$pairs" --out "$work/nnunets" --keep-together Patient
dry --cache "$work/nnunets"
is_silent err
cp "$work/kept.json" "$pairs/splits_final.json"
run 0 plan "$pairs" --out "$work/nnunets"
prints "folds      $pairs/splits_final.json, with"
complains "trained on, too, .* $pairs/splits_final.json has these folds. Without this file, hws plan $pairs --keep-together Patient --out $work/nnunets makes"
rm "$pairs/splits_final.json"

[ $failures -eq 0 ]
