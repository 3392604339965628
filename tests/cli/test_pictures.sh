#!/bin/sh
# hws on folders and CSV files of pictures, from outside. usage: test_pictures.sh PROGRAM MAKE_PICTURES CLASSIFY
set -u
program=$1
pictures=$2
classify=$3
. "$(dirname "$0")/testing.sh"

"$pictures" "$work/data" 96 || fail "no pictures"
small="--model mlp-1-16 --batch 8 --lr 0.02 --threads 1"
run 0 train "$work/data" $small --epochs 4 --best worst-group --out "$work/run"
prints '^done; best val worst group [0-9.]*% (epoch [1-4]); '
head -n 1 "$work/run/history.csv" | grep -q 'test_accuracy_dark,test_accuracy_light,.*test_accuracy_group:even,test_accuracy_group:odd,test_worst_group,val_accuracy' ||
    fail "metrics of classes and groups are missing"
grep -q '"classes": \["dark", "light"\]' "$work/run/config.json" || fail "classes have no names"
grep -q '^p0[0-9][0-9].png,' "$work/run/losses.csv" || fail "examples have no names"

# Decoded by the loaders, and stopped in between: the same bytes.
run 0 train "$work/data" $small --epochs 4 --best worst-group --picture-memory 0 --loaders 2 --out "$work/lazy"
cmp -s "$work/run/losses.csv" "$work/lazy/losses.csv" || fail "decoding on demand changes the result"
run 0 train "$work/data" $small --epochs 2 --best worst-group --out "$work/two"
run 0 train --resume --epochs 4 --out "$work/two"
cmp -s "$work/run/losses.csv" "$work/two/losses.csv" || fail "resuming changes the result"

# Augmented: other losses, but the same ones for any number of loaders.
run 0 train "$work/data" $small --epochs 2 --recipe photos --loaders 0 --out "$work/photos"
prints 'waiting for the loader'
run 0 train "$work/data" $small --epochs 2 --recipe photos --loaders 3 --picture-memory 0 --out "$work/photos3"
same "$work/photos/losses.csv" "$work/photos3/losses.csv"
cmp -s "$work/photos/losses.csv" "$work/two/losses.csv" && fail "nothing was augmented"
refused 'paper, photos and xrays' train "$work/data" $small --recipe soup --out "$work/x"

# Objectives, thinned groups.
run 0 train "$work/data" $small --epochs 1 --objective reweight --keep group:odd=0.5 --out "$work/few"
grep -q '"keep": {"group:odd": 0.5}' "$work/few/config.json" || fail "keep is not recorded"
refused "no column 'sex'" train "$work/data" $small --keep sex:f=0.5 --out "$work/x"
refused 'no such class' train "$work/data" $small --keep green=0.5 --out "$work/x"
# Nobody's group is thinned out to nothing unless they say so.
odd=$(awk -F, '$3 == "odd" && $5 == "train"' "$work/data/labels.csv" | wc -l)
refused "keeping 0.01 of group:odd would leave none of its $odd examples: 0[.0-9]* keeps one, 0 leaves all of them out" \
    train "$work/data" $small --keep group:odd=0.01 --out "$work/x"
least=$(sed -n 's/.*examples: \(0[.0-9]*\) keeps one.*/\1/p' "$work/err")
run 0 train "$work/data" $small --keep "group:odd=$least" --epochs 1 --out "$work/least"
[ "$(grep -c ',odd$' "$work/least/losses.csv")" -eq 1 ] || fail "one of the group is expected"
run 0 train "$work/data" $small --keep group:odd=0 --dry-run
# Options are not held against data that are not there.
for option in '--size 64' '--recipe xrays'; do
    refused "nothing-here' cannot be trained on: .* there is no such folder or file" train "$work/nothing-here" $option --out "$work/x"
done
refused 'no such column' train "$work/data" $small --group sex --out "$work/x"
refused 'neither a side' train "$work/data" $small --size big --out "$work/x"

# What the data hold is told, and what cannot be learnt from them.
run 0 train "$work/data" $small --batch 1 --epochs 2 --dry-run
prints '; 2 epochs of [0-9]* iterations of 1 '
run 0 train digits:60,20 $small --batch 60 --epochs 1 --dry-run
prints '; 1 epoch of 1 iteration of 60 images; 1 thread$'
run 0 train "$work/data" $small --dry-run
prints '^[0-9]* x [0-9]* pixels, grey; classes (training, validation, test): dark [0-9]*/[0-9]*/[0-9]*, light '
refused "one class only, 'light'; there must be two" train "$work/data" $small --keep dark=0 --out "$work/x"
refused "one class only, '9'; there must be two" train digits:60,20 $small --keep 0=0 --keep 1=0 --keep 2=0 --keep 3=0 \
    --keep 4=0 --keep 5=0 --keep 6=0 --keep 7=0 --keep 8=0 --out "$work/x"
run 0 train digits:60,20 $small --keep 3=0 --keep 5=0 --dry-run
complains "2 of 10 classes have no training example, so that nothing is learnt of them: '3', '5'$"
awk -F, -v OFS=, 'NR > 1 && ++light < 4 && $2 == "light" { $2 = "lihgt"; $5 = "train" } 1' "$work/data/labels.csv" >"$work/data/typo.csv"
run 0 train "$work/data/typo.csv" $small --dry-run
complains "1 of 3 classes has fewer than 5 training examples, far fewer than the others: 'lihgt'; is 'lihgt' meant to be 'light'?"

# A validation part of whole patients, who are not torn apart where there are too few of them.
awk -F, -v OFS=, 'NR > 1 { $5 = $5 == "test" ? $5 : "train"; $4 = $5 == "test" ? "t" NR : "p" int(NR / 10) } 1' "$work/data/labels.csv" >"$work/data/visits.csv"
run 0 train "$work/data/visits.csv" $small --epochs 1 --validation 0.3 --out "$work/visits"
cut -d, -f1 "$work/visits/losses.csv" | tail -n +2 | sort >"$work/trained"
awk -F, -v trained="$work/trained" 'BEGIN { while ((getline name <trained) > 0) is[name] = 1 }
    NR > 1 && $5 == "train" { if (is[$1]) in_training[$4] = 1; else validated[$4] = 1 }
    END { for (p in validated) { some = 1; if (p in in_training) exit 1 } exit !some }' "$work/data/visits.csv" ||
    fail "a patient is both trained and validated on, or nobody is validated on"
awk -F, -v OFS=, 'NR > 1 && $5 != "test" { $4 = $2; $5 = "train" } 1' "$work/data/labels.csv" >"$work/data/two.csv"
refused 'no class has two patients' train "$work/data/two.csv" $small --epochs 1 --validation 0.3 --out "$work/x"

# The same of patients under another usual name, also where the data are divided and scored; a visit may be anything.
torn_by() { # name of the column: how many of its values are both trained and tested on
    awk -F, -v OFS=, -v name="$1" 'NR == 1 { $4 = name } NR > 1 { $4 = "p" int(NR / 4) } { print $1, $2, $3, $4 }' "$work/data/labels.csv" >"$work/data/ids.csv"
    rm -rf "$work/ids"
    run 0 train "$work/data/ids.csv" $small --epochs 1 --out "$work/ids"
    torn=$(awk -F, 'NR == FNR { trained[$1] = 1; next } FNR > 1 { if ($1 in trained) one[$4] = 1; else two[$4] = 1 }
        END { for (p in one) torn += p in two; print torn + 0 }' "$work/ids/losses.csv" "$work/data/ids.csv")
}
torn_by visit
[ "$torn" -gt 0 ] || fail "they stay together by chance: take others"
torn_by 'Patient ID'
complains "the column 'Patient ID' says whose each example is"
[ "$torn" -eq 0 ] || fail "$torn patients are both trained and tested on"
run 0 evaluate "$work/ids"
prints 'resampling [0-9]* patients'

# Evaluation by group.
run 0 evaluate "$work/run" --out "$work/scores"
prints '^class  *images  *sensitivity, % (95% CI)  *specificity, %  *precision, %  *F1, %  *loss$'
prints '^worst class: [a-z]*, of which [0-9.]*% are recognised'
grep -q '^class,images,accuracy,loss,sensitivity,sensitivity_low,sensitivity_high,specificity,.*,f1_high$' "$work/scores/classes.csv" ||
    fail 'classes.csv lacks rates'
[ "$(wc -l <"$work/scores/strata.csv")" -eq 4 ] || fail "all and two groups are expected"
head -n 2 "$work/scores/roc.csv" | tail -n 1 | grep -q '^light,inf,0,1$' || fail "the ROC curve does not begin with nothing taken"
tail -n 1 "$work/scores/roc.csv" | grep -q '^light,[0-9.e-]*,1,0$' || fail "the ROC curve does not end with all taken"

# A threshold, chosen on the validation part and scored on the test part.
run 0 evaluate "$work/run" --part val
prints '^all '
run 0 evaluate "$work/run" --at sensitivity=0.8 --by group --out "$work/point"
prints '^operating point: light where its probability is at least [0-9.e-]*, chosen on the validation part for a sensitivity of 80 %$'
prints '^validation part '
prints '^group odd '
[ "$(sed -n 's/^light,[^,]*,sensitivity=0.8,\([a-z]*\),\([^,]*\),\([a-z]*\),.*/\1 \2 \3/p' "$work/point/operating_point.csv" | tr '\n' ';')" = \
    "val  all;test  all;test group even;test group odd;" ] || fail "operating_point.csv has other rows"
awk -F, 'NR == 2 && $9 < 0.8 { exit 1 }' "$work/point/operating_point.csv" || fail "the goal is not reached where it was chosen"
threshold=$(awk -F, 'NR == 2 { print $2 }' "$work/point/operating_point.csv")
for at in "$threshold" 0 1; do # the positives of the test part that are found are those that evaluate counted; all; none
    run 0 predict "$work/run" --input "$work/data" --output "$work/called.csv" --threshold "light=$at"
    awk -F, -v at="$at" 'NR > 1 && ($2 == "light") != ($4 >= at) { exit 1 }' "$work/called.csv" || fail "the threshold $at is not followed"
done
for wrong in light light= light=2 light=x blue=0.5 =0.5; do
    refused 'write CLASS=P, one of dark, light' predict "$work/run" --input "$work/data" --output "$work/never.csv" --threshold "$wrong"
done
[ ! -e "$work/never.csv" ] || fail "scores were written with a wrong threshold"
run 0 evaluate "$work/run" --at specificity=0.5 --positive dark --out "$work/point" --quiet
grep -q '^dark,[^,]*,specificity=0.5,val,' "$work/point/operating_point.csv" || fail "another class is not followed"
run 0 evaluate "$work/run" --out "$work/point" --quiet
[ ! -e "$work/point/operating_point.csv" ] || fail "a threshold of an earlier evaluation stays"
refused 'write sensitivity=S or specificity=S' evaluate "$work/run" --at 0.8
refused 'one of dark, light' evaluate "$work/run" --at sensitivity=0.8 --positive blue
refused '--positive needs --at' evaluate "$work/run" --positive light
refused 'leave --part out' evaluate "$work/run" --at sensitivity=0.8 --part train
refused 'none of test, train and val' evaluate "$work/run" --part all
grep -q '^label,dark,light$' "$work/scores/confusion.csv" || fail "no confusion matrix"
head -n 1 "$work/scores/examples.csv" | grep -q '^example,label,prediction,loss,p_dark,p_light,group,patient$' || fail "examples.csv lacks columns"
[ "$(wc -l <"$work/scores/reliability.csv")" -eq 16 ] || fail "15 bins are expected"
refused 'no such column of groups; they have group, patient' evaluate "$work/run" --by sex
refused "names the column 'group' twice" evaluate "$work/run" --by group,group
# The worst group has the same interval below the table as in it.
for part in test train; do
    run 0 evaluate "$work/run" --data "$work/data/labels.csv" --by group --part $part
    row=$(sed -n 's/^worst group: \(group [a-z]*\) with [0-9.]*% (95 % CI \([0-9.]*\) to \([0-9.]*\))$/^\1 .* ( *\2 to *\3) /p' "$work/out")
    [ -n "$row" ] || fail "the worst group has no interval"
    prints "$row"
    prints "of accuracy, sensitivity, specificity and precision Wilson's"
done

# Examples without a group are told of, groups without examples are no rows, and nothing is kept of other data unless it is asked for.
awk -F, -v OFS=, 'NR > 1 && $5 == "test" && $3 == "odd" && !done++ { $3 = "" } NR > 1 && $5 == "train" { $3 = "far"; if (!other++) next } 1' "$work/data/labels.csv" >"$work/data/gaps.csv"
run 0 evaluate "$work/run" --data "$work/data/gaps.csv" --quiet
is_silent out
complains "1 of 32 examples have nothing in the column 'group' and are in none of its groups"
complains 'nothing of this evaluation is kept; --out'
run 0 evaluate "$work/run" --data "$work/data/gaps.csv" --by group,patient --out "$work/gaps"
prints '^groups of the data with none of these images: [1-9]'
grep -q '^group far ' "$work/out" && fail "a group without test pictures fills the table"
complains "the column 'patient' divides 32 examples into 32 groups, which are too small"
grep -q 'is kept' "$work/err" && fail "what is kept is said not to be"
run 0 compare "$work/gaps" "$work/gaps"
complains "1 of 32 examples have nothing in the column 'group'"

# Comparison, paired by example.
run 0 evaluate "$work/run" --quiet
[ -e "$work/run/examples.csv" ] || fail "an evaluation of the run's own test set is not kept"
run 0 evaluate "$work/photos" --quiet
run 0 compare "$work/run" "$work/photos" "$work/scores" --names first,augmented,again --out "$work/compared"
prints 'worst group'
prints 'McNemar'
[ "$(wc -l <"$work/compared/comparison.csv")" -eq 13 ] || fail "all, two groups and the worst of three methods are expected"
awk -F, 'NR > 1 && $4 == "again" && ($8 != 0 || $8 == "nan") { exit 1 }' "$work/compared/comparison.csv" || fail "a method differs from itself"
ece() { # a table: the calibration error of the first row, all examples, with its interval
    awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k } NR == 2 { print $at["ece"], $at["ece_low"], $at["ece_high"] }' "$1"
}
[ "$(ece "$work/scores/strata.csv")" = "$(ece "$work/compared/comparison.csv")" ] || fail "examples.csv does not keep all digits of the probabilities"
head -n -1 "$work/scores/examples.csv" >"$work/fewer" && mkdir "$work/fewer-scores" && mv "$work/fewer" "$work/fewer-scores/examples.csv"
refused 'not about the same examples' compare "$work/run" "$work/fewer-scores"
run 0 compare "$work/run" "$work/fewer-scores" --common
complains 'examples that all have'
refused 'no such column of groups; it has group, patient' compare "$work/run" "$work/photos" --by sex
sed '2s/,dark,/,green,/' "$work/scores/examples.csv" >"$work/fewer-scores/examples.csv"
refused "is no class" compare "$work/run" "$work/fewer-scores"
refused 'lazy has no examples.csv: evaluate the run first' compare "$work/lazy" "$work/run"
refused 'lazy has no examples.csv: evaluate the run first' compare "$work/run" "$work/lazy"
refused 'there is no .*nothing' compare "$work/run" "$work/nothing"
refused 'data has no examples.csv: it is neither' compare "$work/run" "$work/data"
# A run that was trained further since is told of, by the name that it has in the table.
cp -r "$work/run" "$work/further"
awk -F, -v OFS=, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k } NR > 1 { $at["iteration"] -= 1 } 1' "$work/run/strata.csv" >"$work/further/strata.csv"
run 0 compare "$work/run" "$work/further"
complains 'further was trained further after it was evaluated: .* Run hws evaluate again'
run 0 compare "$work/run" "$work/further/examples.csv" --names one,two
complains 'two was trained further'
run 0 compare "$work/run" "$work/photos"
is_silent err

# Pictures of the same patient are one witness, in evaluation, comparison and report; the name of the column is as for splitting.
awk -F, -v OFS=, 'NR == 1 { $4 = "Patient" } NR > 1 { $4 = "p" int(NR / 5) } 1' "$work/data/labels.csv" >"$work/data/series.csv"
run 0 evaluate "$work/run" --data "$work/data/series.csv" --part train --out "$work/series"
prints '^left out, since their images are of several classes: [1-9]'
awk -F, -v OFS=, 'NR == 1 { $4 = "Patient" } NR > 1 { $4 = "p" int(NR / 10) $2 } 1' "$work/data/labels.csv" >"$work/data/alike.csv"
run 0 evaluate "$work/run" --data "$work/data/alike.csv" --part train --out "$work/alike"
prints '^by patient, with the mean probability of its images:$'
! grep -q 'left out, since' "$work/out" || fail "patients of one class are left out"
awk -F, 'NR > 1 { seen += $2; sum = $5 + $6; if (sum < 0.999 || sum > 1.001) exit 1 } END { exit !(seen > 2 * (NR - 1)) }' "$work/alike/patients.csv" ||
    fail "patients.csv has no means over several pictures"
witnesses=$(awk -F, 'NR > 1 && $5 == "train" { print $4 }' "$work/data/series.csv" | sort -u | wc -l)
prints "resampling $witnesses patients; Wilson's interval where every resample gives the same share\\."
[ "$(sed -n 2p "$work/series/strata.csv" | awk -F, '{ print $NF }')" = "$witnesses" ] || fail "strata.csv does not count the patients"
run 0 evaluate "$work/photos" --data "$work/data/series.csv" --part train --out "$work/series-photos" --quiet
run 0 compare "$work/series" "$work/series-photos"
prints "resampling $witnesses patients"
prints 'p by patient'
cut -d, -f1-7 "$work/series/examples.csv" >"$work/series/without" && mv "$work/series/without" "$work/series/examples.csv"
run 0 compare "$work/series" "$work/series-photos" # as evaluated before there was the column
prints "resampling $witnesses patients"
cut -d, -f1-7 "$work/series-photos/examples.csv" >"$work/series/without" && mv "$work/series/without" "$work/series-photos/examples.csv"
run 0 compare "$work/series" "$work/series-photos"
prints 'McNemar'

# Columns of the data that are called like those of examples.csv.
mkdir "$work/clash" "$work/clash-scores"
awk -F, -v OFS=, 'NR == 1 { print $0, "loss", "data_loss", "prediction", "example", "p_light", "p_else" }
    NR > 1 { print $0, "l" NR % 2, "d" NR % 2, "p", "e", "c" NR % 2, "x" }' "$work/data/labels.csv" >"$work/clash/labels.csv"
cp "$work/data/"*.png "$work/clash"
run 0 train "$work/clash" $small --epochs 1 --group loss --out "$work/clashing"
run 0 evaluate "$work/clashing" --by loss,data_loss,p_light --out "$work/clash-scores"
head -n 1 "$work/clash-scores/examples.csv" |
    grep -q '^example,label,prediction,loss,p_dark,p_light,group,patient,data_loss,data_data_loss,data_prediction,data_example,data_p_light,p_else$' ||
    fail "examples.csv has other columns"
run 0 compare "$work/clash-scores" "$work/clash-scores" --by loss,data_loss,p_light,p_else
prints '^loss l1 '
prints '^data_loss d1 '
prints '^p_light c1 '
prints '^p_else x '
refused 'no such column' compare "$work/clash-scores" "$work/clash-scores" --by label
refused 'no such column' compare "$work/scores" "$work/scores" --by loss

# How far the run is stands in strata.csv. It is read before the weights, and a broken history fails before a file is replaced.
last=$(tail -n 1 "$work/run/history.csv" | cut -d, -f2)
awk -F, -v last="$last" 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k } NR > 1 && $at["iteration"] != last { exit 1 }' "$work/run/strata.csv" || fail "strata.csv does not say how far the run was"
cp -r "$work/run" "$work/broken"
echo '"' >>"$work/broken/history.csv"
for file in examples classes strata confusion; do echo old >"$work/broken/$file.csv"; done
refused 'broken/history.csv' evaluate "$work/broken"
for file in examples classes strata confusion; do grep -q old "$work/broken/$file.csv" || fail "$file.csv was replaced beside a broken history"; done
rm "$work/broken/"*.safetensors
refused 'broken/history.csv' evaluate "$work/broken"

# What was hard, and which labels are in doubt, by group.
run 0 inspect "$work/run" --hardest 3
prints '^group .*hardest'
prints '^even  *[0-9]'
run 0 inspect "$work/run" --hardest 3 --csv
prints 'rank,example,label,prediction,loss,draws,age,group'
prints ',\(even\|odd\)$'
run 0 triage "$work/run" --count 3
prints '^odd  *[0-9]* *[0-9]*$'

# The report shows the evaluation: groups, confusion matrix, reliability, curves and pictures by group.
run 0 report "$work/run" --out "$work/report.html"
for words in 'The test examples, by group' 'group odd' 'Confusion matrix' 'Reliability' 'Accuracy of group even' \
    'Hardest of group odd' 'Most doubtful' 'data:image/png'; do
    grep -q "$words" "$work/report.html" || fail "the report lacks '$words'"
done
[ "$(grep -c '^hardest,group,' "$work/run/worst.csv")" -eq 12 ] || fail "six of each group are expected"
run 0 report "$work/run" "$work/photos" "$work/lazy" --out "$work/report.html"

# Prediction: a folder, a CSV file, a single file, several runs.
run 0 predict "$work/run" "$work/lazy" --input "$work/data" --output "$work/pred"
[ "$(wc -l <"$work/pred/scores.csv")" -eq 97 ] || fail "96 pictures are expected"
prints '^96 pictures in .*pred/scores.csv$'
complains 'files are left out, such as [a-z]*.csv: not a .png, .jpg or .jpeg file$'
head -n 1 "$work/pred/scores.csv" | grep -q '^file,prediction,p_dark,p_light$' || fail "scores.csv lacks columns"
run 0 predict "$work/run" --input "$work/data/p007.png" --output "$work/one.csv"
prints '^1 picture in .*one.csv$'
# libhws_predict says the same, of one run and of two.
(cd "$work/data" && "$classify" "$work/run" p007.png >"$work/own.csv") || fail "the example fails"
same "$work/one.csv" "$work/own.csv"
(cd "$work/data" && "$classify" "$work/run,$work/lazy" p007.png p008.png >"$work/own.csv") || fail "the example fails with two runs"
grep -e '^file' -e '^p00[78]' "$work/pred/scores.csv" >"$work/two.csv"
same "$work/two.csv" "$work/own.csv"
# Names with commas are quoted as there; seventeen runs are as good as two; a full disk is an error.
mkdir "$work/odd"
cp "$work/data/p007.png" "$work/odd/x,1\".png"
run 0 predict "$work/run" --input "$work/odd/x,1\".png" --output "$work/odd.csv"
(cd "$work/odd" && "$classify" "$work/run" "x,1\".png" >"$work/own.csv") || fail "the example fails with a comma in a name"
same "$work/odd.csv" "$work/own.csv"
many=$work/nowhere
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do many=$work/run,$many; done
"$classify" "$many" "$work/data/p007.png" >"$work/out" 2>"$work/err" && fail "the example leaves the seventeenth run out"
grep -q nowhere "$work/err" || fail "the example does not name the run that is not there"
if [ -e /dev/full ]; then
    "$classify" "$work/run" "$work/data/p007.png" >/dev/full 2>"$work/err" && fail "the example does not notice a full disk"
    grep -q '^classify: .*space' "$work/err" || fail "the example does not say that the disk is full"
fi
"$classify" "$work/run" "$work/data/labels.csv" >"$work/out" 2>"$work/err" && fail "a CSV file passes for a picture"
grep -q 'labels.csv' "$work/err" || fail "the example does not name the file that it cannot read"
printf 'file\r\n"p007.png"\r\n' >"$work/data/some.csv"
run 0 predict "$work/run" --input "$work/data/some.csv" --output "$work/some.csv"
cmp -s "$work/one.csv" "$work/some.csv" || fail "a file and a CSV file that names it differ"

# The contents say what a file is, whatever its name; words are no table because of theirs.
cp "$work/data/p007.png" "$work/p007.jpg"
run 0 predict "$work/run" --input "$work/p007.jpg" --output "$work/misnamed.csv"
sed 's/p007.jpg/p007.png/' "$work/misnamed.csv" | cmp -s - "$work/one.csv" || fail "a PNG file that is called .jpg is read otherwise"
echo "a,b" >"$work/words.png"
refused 'words.png: is neither a PNG nor a JPEG' predict "$work/run" --input "$work/words.png" --output "$work/misnamed.csv"

cp "$work/data/p007.png" "$work/p007"
run 0 predict "$work/run" --input "$work/p007" --output "$work/bare.csv"
sed 's/p007,/p007.png,/' "$work/bare.csv" | cmp -s - "$work/one.csv" || fail "a PNG file without an ending is read otherwise"
# What is no input says what one would be.
mkdir "$work/tiffs"
refused 'has neither pictures .* nor IDX files .*; this run takes PNG and JPEG files' predict "$work/run" --input "$work/tiffs" --output "$work/x.csv"
printf 'II*\0' >"$work/tiffs/a.tif"
refused 'has neither pictures .* nor IDX files' predict "$work/run" --input "$work/tiffs" --output "$work/x.csv"
refused 'a.tif: is neither a picture nor a table nor an IDX file; this run takes PNG' predict "$work/run" --input "$work/tiffs/a.tif" --output "$work/x.csv"

# Broken files are named before anything is trained.
cp "$work/data/p001.png" "$work/whole-p001.png"
head -c 60 "$work/data/p001.png" >"$work/cut" && mv "$work/cut" "$work/data/p001.png"
refused 'p001.png: is a broken PNG file' train "$work/data" $small --out "$work/x"
[ ! -e "$work/x" ] || fail "something was left behind"
# Prediction goes on without them, and tells of them at the end; where none is left there are no scores.
run 1 predict "$work/run" "$work/lazy" --input "$work/data" --output "$work/pred2"
prints '^95 pictures in .*pred2/scores.csv$'
complains '1 of 96 pictures cannot be used; the others are scored:$'
grep -q '^  .*p001.png: is a broken PNG file' "$work/err" || fail "the broken picture is not named"
grep -v '^p001.png,' "$work/pred/scores.csv" >"$work/others.csv"
same "$work/others.csv" "$work/pred2/scores.csv"
printf 'file\np007.png\ngone.png\np008.png\nnotes.png\n' >"$work/data/lacking.csv" && echo words >"$work/data/notes.png"
run 1 predict "$work/run" "$work/lazy" --input "$work/data/lacking.csv" --output "$work/lacking.csv"
complains '2 of 4 pictures cannot be used; the others are scored:$'
for name in gone notes; do grep -q "^  .*$name.png: " "$work/err" || fail "$name.png is not named"; done
same "$work/two.csv" "$work/lacking.csv"
rm "$work/data/notes.png"
mkdir "$work/ruins" && cp "$work/data/p001.png" "$work/ruins/a.png" && cp "$work/data/p001.png" "$work/ruins/b.png"
refused '2 of 2 pictures cannot be used:' predict "$work/run" --input "$work/ruins" --output "$work/nothing"
[ ! -e "$work/nothing" ] || fail "there are scores of nothing"

# Names without their endings: one message, and what they lack.
sed 's/\.png,/,/' "$work/data/labels.csv" >"$work/data/bare.csv"
refused '96 of 96 pictures are not there: p000, p001, p002 and others, in .*; with .png behind its name the first is there$' \
    train "$work/data/bare.csv" $small --out "$work/x"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "one line is enough"
sed '2s/^p/q/' "$work/data/labels.csv" >"$work/data/astray.csv"
cp "$work/whole-p001.png" "$work/data/p001.png"
refused '1 of 96 pictures is not there: q000.png, in .*data/*$' train "$work/data/astray.csv" $small --out "$work/x"

# A table of numbers and words.
sh "$(dirname "$0")/../../experiments/make_table.sh" 400 >"$work/table.csv"
run 0 train "$work/table.csv" --label income --group sex $small --epochs 6 --out "$work/table"
complains 'a fifth of each class'
run 0 evaluate "$work/table" --by sex,job --out "$work/table-scores"
prints '^class  *rows '
prints '^group  *rows '
[ "$(wc -l <"$work/table-scores/strata.csv")" -eq 8 ] || fail "all, two and four groups are expected"
grep -q '^sex,female,' "$work/table-scores/strata.csv" || fail "no group of women"
run 0 evaluate "$work/table" --data "$work/table.csv" --by sex,job --out "$work/own-scores"
same "$work/table-scores/examples.csv" "$work/own-scores/examples.csv" # divided as it was
cut -d, -f1,2,4-7 "$work/table.csv" >"$work/narrow.csv"
refused "lacks the column 'hours'" evaluate "$work/table" --data "$work/narrow.csv"
# Prediction of a table needs neither labels nor the table that was trained on.
run 0 predict "$work/table" --input "$work/table.csv" --output "$work/people.csv"
[ "$(wc -l <"$work/people.csv")" -eq 401 ] || fail "400 rows are expected"
prints '^400 rows in .*people.csv$'
label=$(head -n 1 "$work/table.csv" | tr ',' '\n' | grep -n '^income$' | cut -d: -f1)
cut -d, -f"$label" --complement "$work/table.csv" >"$work/unlabelled.csv"
mv "$work/table.csv" "$work/gone.csv"
run 0 predict "$work/table" --input "$work/unlabelled.csv" --output "$work/people2.csv"
same "$work/people.csv" "$work/people2.csv"
run 0 evaluate "$work/table" --data "$work/gone.csv" --out "$work/gone-scores"
mv "$work/gone.csv" "$work/table.csv"
# A word that was not trained on says nothing, and that is told.
awk -F, -v OFS=, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "job") job = k } NR == 3 || NR == 5 { $job = "pilot" } 1' "$work/table.csv" >"$work/pilots.csv"
run 0 predict "$work/table" --input "$work/pilots.csv" --output "$work/pilots"
complains "2 of 400 rows have a 'job' that was not trained on, such as 'pilot' (line 3)"
run 0 evaluate "$work/table" --data "$work/pilots.csv" --out "$work/pilot-scores"
complains "2 of 400 rows have a 'job' that was not trained on, such as 'pilot' (line 3)"
sed 's/,/ ,  /g; 1s/ *, */,/g' "$work/table.csv" >"$work/spaced.csv"
run 0 predict "$work/table" --input "$work/spaced.csv" --output "$work/spaced-scores.csv"
is_silent err
same "$work/people.csv" "$work/spaced-scores.csv"
# Rows are called by their id everywhere, and runs are compared by it, whatever the order of the rows.
awk -F, -v OFS=, '{ $1 = NR == 1 ? $1 : "p" NR; $(NF + 1) = NR == 1 ? "split" : NR % 5 ? "train" : "test" } 1' "$work/table.csv" >"$work/named.csv"
(head -n 1 "$work/named.csv" && tail -n +2 "$work/named.csv" | sort -r) >"$work/turned.csv"
for name in named turned; do
    run 0 train "$work/$name.csv" --label income --group sex $small --epochs 1 --out "$work/$name"
    run 0 evaluate "$work/$name" --quiet
done
grep -q '^p7,' "$work/named/losses.csv" || fail "rows are not called by their id"
run 0 triage "$work/named" --count 3
prints ' p[0-9]'
run 0 compare "$work/named" "$work/turned"
cut -d, -f1,2 "$work/named/examples.csv" | sort >"$work/here"
cut -d, -f1,2 "$work/turned/examples.csv" | sort >"$work/there"
same "$work/here" "$work/there"
# What evaluate says of the same rows: they are called by their numbers.
head -n 1 "$work/people.csv" | grep -q '^id,prediction,p_' || fail "scores of a table have no such columns"
cut -d, -f1,5- "$work/table-scores/examples.csv" | cut -d, -f1-3 | tail -n +2 | sort >"$work/there"
cut -d, -f1,3- "$work/people.csv" | tail -n +2 | sort >"$work/here"
[ -s "$work/there" ] && [ "$(comm -23 "$work/there" "$work/here" | wc -l)" -eq 0 ] || fail "prediction and evaluation of a table differ"
refused "lacks the column 'hours'" predict "$work/table" --input "$work/narrow.csv" --output "$work/people3.csv"
# Scores do not take the place of what was asked about, under any name.
cp "$work/table.csv" "$work/kept.csv"
refused 'is the input' predict "$work/table" --input "$work/table.csv" --output "$work/table.csv"
ln -s table.csv "$work/alias.csv"
refused 'is the input' predict "$work/table" --input "$work/table.csv" --output "$work/alias.csv"
mkdir "$work/there-already" && cp "$work/table.csv" "$work/there-already/scores.csv"
refused 'is the input' predict "$work/table" --input "$work/there-already/scores.csv" --output "$work/there-already"
same "$work/table.csv" "$work/kept.csv"
same "$work/there-already/scores.csv" "$work/kept.csv"
cp "$work/data/some.csv" "$work/kept.csv"
refused 'is the input' predict "$work/run" --input "$work/data/some.csv" --output "$work/data/some.csv"
same "$work/data/some.csv" "$work/kept.csv"
refused 'this run takes a table' predict "$work/table" --input "$work/tiffs" --output "$work/people3.csv"
tr , ';' <"$work/table.csv" >"$work/semicolons.csv"
refused "lacks the column .*: is the file separated by ';'?" predict "$work/table" --input "$work/semicolons.csv" --output "$work/people3.csv"
refused 'cannot classify a table' predict "$work/run" --input "$work/table.csv" --output "$work/people3.csv"
sed '2s/,[0-9.]*$/,-1/' "$work/table/features.csv" >"$work/features" && mv "$work/features" "$work/table/features.csv"
refused 'features.csv: line 2' predict "$work/table" --input "$work/table.csv" --output "$work/people3.csv"
cut -d, -f"$label" --complement "$work/table.csv" >"$work/unlabelled.csv"
refused "no column 'income', in which the run's data have the classes; its first line names id, .*: call" evaluate "$work/table" --data "$work/unlabelled.csv"
tr , ';' <"$work/unlabelled.csv" >"$work/semicolons.csv"
refused "no column 'income': is the file separated by ';'?" evaluate "$work/table" --data "$work/semicolons.csv"
refused "no column 'label'" train "$work/table.csv" $small --out "$work/x"
for option in --flip '--size 8' '--size 8,9' '--colour grey'; do
    refused 'not for tables' train "$work/table.csv" --label income $small $option --out "$work/x"
done

# Columns of groups behind the 256th of a table are known if their values come twice; measurements are not groups.
awk 'BEGIN {
    for (k = 1; k <= 260; k++) printf "m%d,", k
    print "centre,last,label"
    for (i = 0; i < 700; i++) {
        for (k = 1; k <= 260; k++) printf "%d,", (i * k) % 7
        printf "c%d,%d,%s\n", i % 300, i, i % 2 ? "dark" : "light"
    }
}' >"$work/wide.csv"
run 0 train "$work/wide.csv" $small --epochs 1 --group centre --out "$work/wide"
run 0 evaluate "$work/wide" --out "$work/wide-scores"
prints '^centre c299 '
grep -q '^centre,c299,' "$work/wide-scores/strata.csv" || fail "no group of the 300th centre"
run 0 compare "$work/wide-scores" "$work/wide-scores" --by centre
refused 'no such column' train "$work/wide.csv" $small --group last --out "$work/x"

# Somebody else's pictures are all tested on.
for class in dark light; do
    mkdir -p "$work/elsewhere/$class"
    for k in 02 03 04 05 06 07; do cp "$work/data/p0$k.png" "$work/elsewhere/$class/$class$k.png"; done
done
run 0 evaluate "$work/run" --data "$work/elsewhere" --out "$work/elsewhere-scores"
complains 'all 12 are tested on'
[ "$(wc -l <"$work/elsewhere-scores/examples.csv")" -eq 13 ] || fail "12 examples are expected"

# A run among the classes is no class, wherever it is, and none is made of a run's own pictures.
for class in cat dog; do
    mkdir -p "$work/within/$class"
    for k in 10 11 12 13 14 15 16 17; do cp "$work/data/p0$k.png" "$work/within/$class/$class$k.png"; done
done
(cd "$work/within" && "$program" train . $small --epochs 1 --out runs/a) >"$work/out" 2>"$work/err" || fail "no run within its data"
run 0 train "$work/within" $small --epochs 1 --out "$work/within/cat/b"
complains '1 folder is left out, such as runs/a: '
run 0 train "$work/within" $small --epochs 1 --out "$work/within-c"
complains '2 folders are left out, such as cat/b: '
grep -q '"classes": \["cat", "dog"\]' "$work/within-c/config.json" || fail "a run became a class"
same "$work/within/runs/a/losses.csv" "$work/within-c/losses.csv"
run 0 predict "$work/within-c" --input "$work/within" --output "$work/within.csv"
run 0 evaluate "$work/within-c" --out "$work/within/scores"
run 0 evaluate "$work/within-c" --out "$work/within-scores"
complains '3 folders are left out'
same "$work/within/scores/examples.csv" "$work/within-scores/examples.csv"
[ "$(wc -l <"$work/within.csv")" -eq 17 ] || fail "pictures of a run were classified"
refused 'is the folder of the pictures' train "$work/within" $small --epochs 1 --out "$work/within"
[ ! -e "$work/within/config.json" ] || fail "something was left behind"
echo '{"model_type": "vit"}' >"$work/within/cat/config.json"
run 0 train "$work/within" $small --epochs 1 --out "$work/within-d"
same "$work/within-c/losses.csv" "$work/within-d/losses.csv"
cp "$work/within-c/config.json" "$work/within"
refused 'within: holds a run' train "$work/within" $small --epochs 1 --out "$work/x"

# What was trained on a table has no idea of pictures, whatever the number of its columns.
"$pictures" "$work/whole" 12 || fail "no pictures"
for columns in a,b a,b,c a,b,c,d,e; do
    awk -v names="$columns" 'BEGIN {
        n = split(names, name, ",")
        print names ",label"
        for (i = 0; i < 40; i++) {
            for (k = 1; k <= n; k++) printf "%d,", (i * 7 + k) % 11
            print (i % 2 ? "dark" : "light")
        }
    }' >"$work/numbers.csv"
    rm -rf "$work/numbers"
    run 0 train "$work/numbers.csv" $small --epochs 1 --out "$work/numbers"
    for input in "$work/whole/p007.png" "$work/whole" "$work/whole/labels.csv"; do
        refused 'trained on a table.*cannot classify pictures' predict "$work/numbers" --input "$input" --output "$work/nothing.csv"
    done
    refused 'trained on a table.*cannot classify pictures' evaluate "$work/numbers" --data "$work/whole"
    "$classify" "$work/numbers" "$work/whole/p007.png" >"$work/out" 2>"$work/err" && fail "a table's run classifies a picture"
    grep -q 'cannot classify pictures' "$work/err" || fail "the library does not say that the run is a table's"
done
[ ! -e "$work/nothing.csv" ] || fail "there are scores of pictures from a table's run"

# Pictures of 16 bits whose values are 16 times those of 8 bits: the same network, scores and pictures, if that is said.
"$pictures" "$work/deep" 96 16 || fail "no pictures of 16 bits"
run 0 train "$work/deep" $small --epochs 1 --out "$work/coarse"
complains '96 of the pictures have 16 bits and are divided by 257, to 8; the values are [0-9]* to 4080: hws train --greys [0-9]*,4080 spreads'
for memory in -1 0; do
    rm -rf "$work/fine"
    run 0 train "$work/deep" $small --epochs 4 --best worst-group --greys 0,4080 --picture-memory $memory --out "$work/fine"
    ! grep -q '16 bits' "$work/err" || fail "what was asked for is told"
    same "$work/run/losses.csv" "$work/fine/losses.csv"
done
for file in "$work/run/hardest/"*.png; do same "$file" "$work/fine/hardest/${file##*/}"; done
grep -q '"greys": "0,4080"' "$work/fine/config.json" || fail "greys are not recorded"
run 0 evaluate "$work/fine" --out "$work/fine-scores" --quiet
same "$work/scores/examples.csv" "$work/fine-scores/examples.csv"
run 0 predict "$work/fine" --input "$work/deep" --output "$work/fine.csv"
! grep -q '16 bits' "$work/err" || fail "what was asked for is told"
run 0 predict "$work/run" --input "$work/data" --output "$work/eight.csv"
same "$work/eight.csv" "$work/fine.csv"
(cd "$work/deep" && "$classify" "$work/fine" p007.png >"$work/own.csv") || fail "the example fails with 16 bits"
same "$work/one.csv" "$work/own.csv"
run 0 export "$work/fine" --onnx "$work/fine.onnx"
tr -d '\n' <"$work/fine.onnx" | grep -a -q 'greys.*\[0, 4080\]' || fail "the exported network does not tell its greys"
# Bytes have no such greys, and networks for different ones are not averaged.
cp "$work/data/p008.png" "$work/deep/eight.png"
run 1 predict "$work/fine" --input "$work/deep" --output "$work/fine2.csv"
complains '1 of 97 pictures cannot be used; the others are scored:'
grep -q 'eight.png: has 8 bits, but greys from 0 to 4080 are asked for' "$work/err" || fail "the picture of 8 bits is not named"
same "$work/fine.csv" "$work/fine2.csv"
rm "$work/deep/eight.png"
"$classify" "$work/fine" "$work/data/p007.png" >"$work/out" 2>"$work/err" && fail "a picture of 8 bits passes for one of 16"
refused 'different --greys' predict "$work/fine" "$work/run" --input "$work/deep" --output "$work/nothing.csv"
printf '\0\0\10\3' >"$work/x-images-idx3-ubyte"
refused 'IDX file, but the run was trained on pictures of 16 bits' predict "$work/fine" --input "$work/x-images-idx3-ubyte" --output "$work/nothing"
refused 'has no pictures of 16 bits' train digits:60,20 $small --greys 0,4095 --out "$work/x"
refused 'has no pictures of 16 bits' train "$work/numbers.csv" $small --greys 0,4095 --out "$work/x"
refused "has 8 bits, but greys" train "$work/whole" $small --greys 0,4095 --out "$work/x"
for greys in 4095 9,3 0,70000; do refused "the greys '$greys' are not LOW,HIGH" train "$work/deep" $small --greys $greys --out "$work/x"; done
refused "another 'greys'" train --resume --greys 0,4095 --out "$work/fine"

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
