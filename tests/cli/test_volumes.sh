#!/bin/sh
# hws train, evaluate, predict and report on small phantoms. usage: test_volumes.sh PROGRAM SEGMENT
set -u
program=$1
segment=$2
. "$(dirname "$0")/testing.sh"

there() { for file in "$@"; do [ -s "$file" ] || fail "$file is missing or empty"; done; }

data=$work/data
run 0 phantom --out "$data" --cases 6 --test 3 --size 16,24,16 --spacing 6 --threads 2
how="$data --iterations 4 --epoch-length 2 --batch 2 --quiet"

# A run, and the same with other threads: the same to the bit.
run 0 train $how --threads 2 --loaders 2 --out "$work/a"
there "$work/a/plans.json" "$work/a/config.json" "$work/a/losses.csv" "$work/a/best.safetensors" "$work/a/hardest.csv"
[ "$(wc -l <"$work/a/history.csv")" -eq 3 ] || fail "history.csv has not two epochs"
sed 1d "$work/a/hardest.csv" | grep -qv '^[0-9]*,[^,]*,,Dice [01][.][0-9]* in this plane,' && fail "hardest.csv has other words"
head -n 1 "$work/a/history.csv" | grep -q ",val_dice,.*,val_loss," || fail "history.csv lacks the Dice"
there "$data/hws_cache/splits_final.json"
# Folds that somebody has edited, with a mistake, are made anew, and not lost.
cp "$data/hws_cache/splits_final.json" "$work/folds.json"
echo , >>"$data/hws_cache/splits_final.json"
cp "$data/hws_cache/splits_final.json" "$work/edited.json"
run 0 train $how --threads 1 --loaders 1 --out "$work/b"
complains 'kept as splits_former.json'
cmp -s "$work/edited.json" "$data/hws_cache/splits_former.json" || fail "the edited folds are lost"
cmp -s "$work/folds.json" "$data/hws_cache/splits_final.json" || fail "the folds are not made anew"
same "$work/a/latest.safetensors" "$work/b/latest.safetensors"

# Killed in the middle and resumed: the same again.
"$program" train $how --threads 1 --checkpoint-every 1 --out "$work/c" >"$work/out" 2>"$work/err" &
process=$!
sleep 1
kill -9 $process 2>/dev/null
wait $process 2>/dev/null
if [ -e "$work/c/config.json" ]; then run 0 train --resume --quiet --out "$work/c"; else run 0 train $how --out "$work/c"; fi
same "$work/a/latest.safetensors" "$work/c/latest.safetensors"

# The command that began a run goes on with it, also with paths from here and the plan's batch.
(cd "$work" && "$program" train data --iterations 4 --epoch-length 2 --batch 0 --quiet --resume-or-start --out a) \
    >"$work/out" 2>"$work/err" || fail "the same command does not resume the run"

# A network for slices and one with a residual encoder: plans of their own in the same cache, and the volumes' labels.
for model in unet-2d resenc-m; do
    run 0 train $how --model $model --threads 1 --out "$work/$model"
    there "$data/hws_cache/plans-$model.json"
    grep -q "\"model\": \"$model\"" "$work/$model/plans.json" || fail "the run's plan is not for $model"
    run 0 predict "$work/$model" --input "$data/imagesTs" --output "$work/labels-$model" --threads 1 --quiet
    [ "$(ls "$work/labels-$model"/*.nii.gz | wc -l)" -eq 3 ] || fail "$model did not predict three cases"
    first=$(cd "$data/imagesTs" && ls *_0000.nii.gz | head -n 1)
    "$segment" "$work/$model" "$data/imagesTs/$first" "$work/api.nii.gz" >/dev/null || fail "the library cannot use $model"
    same "$work/api.nii.gz" "$work/labels-$model/${first%_0000.nii.gz}.nii.gz"
done
grep -q '"patch": \[1, ' "$work/unet-2d/plans.json" || fail "the plan for slices has no patch of one slice"
run 0 train --resume --quiet --out "$work/resenc-m"
run 2 train $how --model resenc-x --out "$work/none"
complains "no model 'resenc-x' for volumes"

# Commands that are printed can be pasted, whatever the folders are called.
run 0 export nnunet "$work/a" --out "$work/the model"
prints "-m '$work/the model' -f 0"
run 0 import nnunet "$work/the model" --out "$work/the run"
prints "hws predict '$work/the run' --input"
run 0 export nnunet "$work/a" "$work/b" "$work/a" --out "$work/three"
prints "-m $work/three -f 0 1 2$"

# What an imported run cannot do is told in words of its own.
run 2 predict "$work/the run" --input "$data/imagesTs" --output "$work/q" --weights final
complains 'imported and exported networks have only their best weights'
run 2 evaluate "$work/the run"
complains 'is an imported model and has no validation cases: .* --pred DIR --ref DIR'

# Subvolumes have losses of their own, and ordinary training knows no importance weights.
run 0 train $how --split-volumes 16,12,16 --threads 1 --out "$work/parts"
[ "$(wc -l <"$work/parts/losses.csv")" -gt "$(wc -l <"$work/a/losses.csv")" ] || fail "there are no more examples than volumes"
run 0 train $how --objective erm --precision bf16 --threads 1 --out "$work/erm"

# The validation cases of the fold, by group, and the page about them.
run 0 evaluate "$work/a" --no-mirror --threads 2
prints "Dice"
run 0 evaluate "$work/a" --no-mirror --quiet
is_silent out
there "$work/a/summary.json" "$work/a/cases.csv" "$work/a/table.tex" "$work/a/worst.csv"
there "$work/a/worst/$(sed -n 2p "$work/a/worst.csv" | cut -d, -f2).png"

# A run whose weights are newer than its evaluation is told of.
cp -rp "$work/a" "$work/trained"
run 0 compare "$work/a" "$work/trained"
is_silent err
touch -d '+1 hour' "$work/trained/best.safetensors"
run 0 compare "$work/a" "$work/trained"
complains 'trained was trained further after it was evaluated: .* Run hws evaluate again'
echo 'example,label,prediction,loss' >"$work/examples.csv"
run 2 compare "$work/a" "$work/examples.csv"
complains 'examples.csv is a classifier and .*a a segmentation: they cannot be compared'
rm -r "$work/trained" "$work/examples.csv"
# A dataset that has moved.
mv "$data" "$work/elsewhere"
run 2 evaluate "$work/a" --no-mirror
complains 'not there any more; if it has moved, .*hws train PLACE --resume --out'
mv "$work/elsewhere" "$data"

# The cases that are judged are those that the run kept apart, whatever the folds are now.
kept=$(ls "$work/a/validation-unmirrored")
for id in $kept; do grep -q "\"${id%.nii.gz}\"" "$work/a/fold.json" || fail "$id is not in fold.json"; done
all=$(ls "$data/labelsTr" | sed 's/.nii.gz//')
first=$(echo "$all" | head -n 1)
others=$(echo "$all" | sed 1d | sed 's/.*/"&"/' | paste -sd, -)
echo "[{\"train\": [$(echo "$others" | cut -d, -f1-3)], \"val\": [\"$first\"]}]" >"$data/splits_final.json"
rm -r "$work/a/validation-unmirrored"
run 0 evaluate "$work/a" --no-mirror --quiet
[ "$(ls "$work/a/validation-unmirrored")" = "$kept" ] || fail "other cases are judged than were kept apart"

# Folds of one's own: what they leave out is told, and the run keeps them.
run 0 train "$data" --iterations 1 --epoch-length 1 --batch 2 --out "$work/own"
complains 'splits_final.json leaves 2 cases'
grep -q "\"$first\"" "$work/own/fold.json" || fail "fold.json is not the fold of splits_final.json"
rm "$data/splits_final.json"

# Nor does a fold hide cases that were added later.
first_fold=$(cat "$data/hws_cache/splits_final.json")
cp "$data/imagesTr/${first}_0000.nii.gz" "$data/imagesTr/added_0000.nii.gz"
cp "$data/labelsTr/$first.nii.gz" "$data/labelsTr/added.nii.gz"
sed -i.before 's/"numTraining": 6/"numTraining": 7/' "$data/dataset.json"
run 0 train "$data" --iterations 1 --epoch-length 1 --batch 2 --quiet --out "$work/more"
complains "made anew"
grep -q '"added"' "$data/hws_cache/splits_final.json" || fail "a case that was added is in no fold"
rm "$data/imagesTr/added_0000.nii.gz" "$data/labelsTr/added.nii.gz"
mv "$data/dataset.json.before" "$data/dataset.json"
printf '%s' "$first_fold" >"$data/hws_cache/splits_final.json"

# All cases trained on: their scores are not those of unknown cases, and it is said.
run 0 train "$data" --fold -1 --iterations 1 --epoch-length 1 --batch 2 --quiet --out "$work/every"
run 0 evaluate "$work/every" --no-mirror
complains 'trained on all cases'
run 0 report "$work/a" "$work/erm" --out "$work/report.html"
grep -q "<svg" "$work/report.html" || fail "the page has no figures"
grep -q "The worst case of each group" "$work/report.html" || fail "the page does not show the worst cases"
grep -q 'class="view"' "$work/report.html" || fail "the page has no pictures of them"

# New images: every one gets a label map on its grid; done ones are kept; several runs; a program of one's own.
run 2 predict "$work/a" --input "$data/imagesTs" --output "$work/p.nii.gz"
complains 'called as a file, but label maps go into a folder'
[ ! -e "$work/p.nii.gz" ] || fail "a folder is called p.nii.gz"
run 0 predict "$work/a" --input "$data/imagesTs" --output "$work/p" --no-mirror --threads 2
[ "$(ls "$work/p" | wc -l)" -eq 3 ] || fail "there are not three label maps"
prints "^3 label maps in $work/p$"
run 0 predict "$work/b" --input "$data/imagesTs" --output "$work/p" --no-mirror --threads 2
prints "^3 label maps in $work/p, 3 of them there before; --overwrite predicts them again$"
cut -d, -f1,2 "$data/groups.csv" | sed 's/[^,]*$/g&/' >"$work/other.csv"
run 0 evaluate "$work/a" --no-mirror --regions any=1+2,one=1 --groups "$work/other.csv" --nsd 2 --out "$work/other"
prints '^all *any '
grep -q '"(1, 2)"' "$work/other/summary.json" || fail "regions of a run are not scored"
# What is wrong with the options is told before any case is predicted.
cp -r "$work/a" "$work/early"
rm -rf "$work/early"/validation*
for wrong in '--regions any=' '--regions WT=1+x' '--by nonsense' '--empty 7' '--groups nofile.csv'; do
    run 2 evaluate "$work/early" --no-mirror $wrong --out "$work/never"
    [ ! -e "$work/early/validation-unmirrored" ] || fail "cases were predicted in spite of $wrong"
done
cp -r "$work/early" "$work/late"
rm "$work/late/fold.json"
run 2 evaluate "$work/early" "$work/late" --no-mirror --out "$work/never"
complains 'fold.json is missing'
[ ! -e "$work/early/validation-unmirrored" ] || fail "cases were predicted although the next run cannot be"
cp "$work/early/fold.json" "$work/late"
mkdir "$work/renamed"
cp -r "$data"/[a-gi-z]* "$work/renamed" # without the cache
sed -i 's/"cerebellum"/"vermis"/' "$work/renamed/dataset.json"
sed -i "s|\"data\": \"[^\"]*\"|\"data\": \"$work/renamed\"|" "$work/late/config.json"
run 2 evaluate "$work/early" "$work/late" --no-mirror --out "$work/never"
complains 'early (.*) and .*late (.*) have different labels and cannot be scored together\|late (.*) and .*early (.*) have different labels'
[ ! -e "$work/early/validation-unmirrored" ] || fail "cases were predicted although the labels differ"
[ ! -e "$work/never" ] || fail "a folder was made for nothing"
run 0 evaluate --pred "$work/p" --ref "$data/labelsTs" --groups "$data/groups.csv"
run 0 predict "$work/a" "$work/b" --input "$data/imagesTs" --output "$work/two" --no-mirror --threads 1
for map in "$work"/p/*; do same "$map" "$work/two/$(basename "$map")"; done
one=$(ls "$data"/imagesTs | head -n 1)
"$segment" "$work/a" "$data/imagesTs/$one" "$work/one.nii.gz" >"$work/out" 2>"$work/err" || fail "segment failed"
run 0 predict "$work/a" --input "$data/imagesTs" --output "$work/mirrored" --threads 2
same "$work/one.nii.gz" "$work/mirrored/$(echo "$one" | sed 's/_0000//')"

# A plan that changed after a run began, and images that would be overwritten.
sed -i 's/"patch": \[[^]]*\]/"patch": [8, 16, 8]/' "$data/hws_cache/plans.json"
run 2 train --resume --quiet --out "$work/b"
complains "not the plan"
cmp -s "$work/a/plans.json" "$work/b/plans.json" || fail "the run's plan was changed"
sed -i 's/"patch": \[[^]]*\]/"patch": [960, 960, 960]/' "$data/hws_cache/plans.json"
run 0 plan "$data"
prints "more than is available"
run 1 train $how --out "$work/large"
complains "GB are available"
[ ! -e "$work/large/config.json" ] || fail "a run began that does not fit into memory"
run 0 evaluate "$work/a" --no-mirror --quiet
run 0 plan "$data" --replan --quiet
run 2 predict "$work/a" --input "$data/imagesTs" --output "$data/imagesTs"
complains "holds the images"

# Folds by columns of groups.csv: what belongs together stays together, and runs that name no columns follow.
cp "$data/groups.csv" "$work/groups.csv"
awk -F, 'NR == 1 { print $0 ",patient"; next } { print $0 ",p" (NR < 4 ? 0 : NR) }' "$work/groups.csv" >"$data/groups.csv"
run 2 plan "$data" --keep-together patients --quiet
complains "patients"
run 0 plan "$data" --stratify condition --keep-together patient --quiet
prints "cases to validate on"
awk -F, 'NR == FNR { patient[$1] = $NF; next } /"val"/ { fold++; val = 1 } /"train"/ { val = 0 }
         val && match($0, /phantom_[0-9]*/) { name = substr($0, RSTART, RLENGTH); cases++
             if (patient[name] in fold_of && fold_of[patient[name]] != fold) exit 1
             fold_of[patient[name]] = fold }
         END { if (fold != 5 || cases != 6) exit 1 }' "$data/groups.csv" "$data/hws_cache/splits_final.json" ||
    fail "a patient is in two folds"
run 0 train $how --fold 2 --out "$work/planned"
run 0 train $how --fold 2 --stratify condition --keep-together patient --out "$work/named"
cmp -s "$work/planned/fold.json" "$work/named/fold.json" || fail "plan and train make other folds by the same columns"
cp "$data/hws_cache/splits_final.json" "$data/splits_final.json"
run 2 plan "$data" --stratify condition --quiet
complains "decides the folds"
rm "$data/splits_final.json"
cp "$work/groups.csv" "$data/groups.csv"

# What is wrong is told before anything starts.
run 2 train $how --model wrn-16-1 --out "$work/no"
complains "for volumes: choose unet"
run 2 train $how --fold 9 --out "$work/no"
complains "no fold 9"
run 2 train $how --split-volumes 0,1 --out "$work/no"
complains "split-volumes"
run 2 train "$work/nothing" --out "$work/no"
complains "nothing"
run 2 train $how --stratify colour --out "$work/no"
complains "colour"
run 2 predict "$work/a" --input "$work/nothing" --output "$work/q"
complains "nothing"
mkdir "$work/empty"
run 2 predict "$work/a" --input "$work/empty" --output "$work/q"
complains "holds no image"
head -c 300 "$data/imagesTs/$one" >"$work/empty/cut_0000.nii.gz"
run 2 predict "$work/a" --input "$work/empty" --output "$work/q"
complains "cut_0000"
rm "$(ls "$data"/labelsTr/*.nii.gz | head -n 1)"
rm -r "$data/hws_cache"
run 2 train $how --out "$work/no"
complains "phantom_"
[ ! -e "$work/no/config.json" ] || fail "a run began although its data are not sound"

[ $failures -eq 0 ]
