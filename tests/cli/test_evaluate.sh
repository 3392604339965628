#!/bin/sh
# hws evaluate and hws compare: what they print, write and refuse. usage: test_evaluate.sh PROGRAM MAKE_MAPS
set -u
program=$1
maps=$2
. "$(dirname "$0")/testing.sh"

complains() { head -n 1 "$work/err" | grep -q -e "^hws: .*$1" || fail "stderr does not begin with 'hws: ...$1'"; }
refused() {
    words=$1
    shift
    run 2 "$@"
    complains "$words"
    is_silent out
}
holds() { grep -q -e "$2" "$1" || { fail "$1 lacks '$2'"; cat "$1" >&2; }; }

a=$work/erm b=$work/dro ref=$work/ref
mkdir "$a" "$b" "$ref"
"$maps" "$ref" x.nii.gz=11002200 y.nii=11112222 z.nii.gz=10000000 || exit 1
"$maps" "$a" x.nii.gz=10002200 y.nii.gz=11112222 z.nii.gz=01000000 || exit 1
"$maps" "$b" x.nii.gz=11002200 y.nii.gz=11112220 z.nii.gz=10000000 || exit 1
printf 'case,"the group"\nx,rare\ny,common\nz,rare\nother,none\n' >"$work/groups.csv"

run 0 evaluate --help
prints '^usage: hws evaluate --pred DIR --ref DIR'
run 0 compare --help
prints '^usage: hws compare EVALUATION EVALUATION...'
refused 'needs --pred DIR and --ref DIR' evaluate
refused 'needs --pred DIR and --ref DIR' evaluate --pred "$a"
refused "no option '--wrong'" evaluate --wrong
refused '--pred needs a value' evaluate --pred
refused "'extra'" evaluate --pred "$a" --ref "$ref" extra
refused '--by needs --groups' evaluate --pred "$a" --ref "$ref" --by x
refused 'no such place' evaluate --pred "$work/no such place" --ref "$ref"
for threads in 0 -1 x 1.5 4097; do refused '--threads' evaluate --pred "$a" --ref "$ref" --threads $threads; done
for labels in '' 1, a 1,1; do refused '' evaluate --pred "$a" --ref "$ref" --labels "$labels"; done
refused 'asked for twice' evaluate --pred "$a" --ref "$ref" --labels 1 --regions X=1
refused 'no column' evaluate --pred "$a" --ref "$ref" --groups "$work/groups.csv" --by nothing
refused "names the column 'the group' twice" evaluate --pred "$a" --ref "$ref" --groups "$work/groups.csv" \
    --by 'the group,the group'
refused 'could not be made' evaluate --pred "$a" --ref "$ref" --out "$work/groups.csv"

run 0 evaluate --pred "$a" --ref "$ref"
is_silent err
prints '^Dice (%)$'
prints '^all *1 *3  *55.6 '
prints '^all *2  *2 of 3  *100.0 '
prints ' 0.0  *too few  *z$'

# What neither has is no score, or right; summary.json says which, and compare honours it.
run 0 evaluate --pred "$a" --ref "$ref" --empty 1 --nsd 1 --out "$work/one"
prints '^all *2  *3  *100.0 '
prints '^NSD at 1 mm (%)$'
holds "$work/one/summary.json" '"empty": "1"'
holds "$work/one/summary.json" '"nsd_tolerance": 1'
run 0 evaluate --pred "$b" --ref "$ref" --nsd 2 --out "$work/nan" --quiet
holds "$work/nan/summary.json" '"empty": "nan"'
refused 'one was evaluated with --empty 1, nan with --empty nan; choose' compare "$work/one" "$work/nan"
run 0 compare "$work/one" "$work/nan" --empty nan
prints '^all (3) *one *2 *2 '
prints 'Up to 1 of 3 cases have a label neither in the reference nor in a prediction'
run 0 compare "$work/one" "$work/nan" --empty 1
prints '^all (3) *one *2 *3 '
refused 'tolerance of 1 mm, that of nan one of 2 mm' compare "$work/one" "$work/nan" --empty 1 --metric NSD
refused '--empty 2 is not one' evaluate --pred "$a" --ref "$ref" --empty 2
refused '--empty 2 is not one' compare "$work/one" "$work/nan" --empty 2
refused '--nsd' evaluate --pred "$a" --ref "$ref" --nsd 0

run 0 evaluate --pred "$a" --ref "$ref" --groups "$work/groups.csv" --regions one=1,both=1+2 --hd95 --surface \
    --out "$work/erm_scores" --threads 2
is_silent err
prints '^HD95 (mm)$'
prints '^ASSD (mm)$'
prints '^rare *both *2 '
! grep -q none "$work/out" || fail "a group without a case is shown"
cp "$work/out" "$work/printed"
for file in summary.json cases.csv table.txt table.csv table.md table.tex; do
    [ -s "$work/erm_scores/$file" ] || fail "no $file"
done
cmp -s "$work/printed" "$work/erm_scores/table.txt" || fail "table.txt is not what was printed"
[ "$(ls "$work/erm_scores" | wc -l)" -eq 7 ] || fail "other files are left"
head -n 1 "$work/erm_scores/worst.csv" | grep -q '^rank,example,dice,label,label_dice$' || fail "worst.csv has other columns"

# The worst cases over their images; the label maps themselves serve as images.
run 0 evaluate --pred "$a" --ref "$ref" --labels 1 --images "$ref" --out "$work/pictures"
for case in x y z; do [ -s "$work/pictures/worst/$case.png" ] || fail "no picture of $case"; done
refused 'needs --out' evaluate --pred "$a" --ref "$ref" --images "$ref"
refused 'no folder' evaluate --pred "$a" --ref "$ref" --images "$work/nowhere" --out "$work/never"
holds "$work/erm_scores/summary.json" '"(1, 2)": {'
holds "$work/erm_scores/cases.csv" '^case,label,key,the group,Dice,IoU,TP,FP,FN,TN,n_pred,n_ref,HD95,ASSD$'
holds "$work/erm_scores/cases.csv" '^x,both,"(1, 2)",rare,0.8571428571,0.75,3,0,1,4,3,4,'
holds "$work/erm_scores/table.tex" '\\toprule'
holds "$work/erm_scores/table.md" '^| rare | both |'
holds "$work/erm_scores/table.csv" '^Dice,the group,rare,one,1,2,0,0.3333333333,'

run 0 evaluate --pred "$b" --ref "$ref" --regions one=1,both=1+2 --out "$work/dro_scores" --quiet
run 0 compare "$work/erm_scores/summary.json" "$work/dro_scores/summary.json" --groups "$work/groups.csv"
is_silent err
prints '^Dice (%): erm_scores and dro_scores$'
prints '^rare (2) *dro_scores *one *2 *100.0\*.* +66.7 '
prints '^all (3) *dro_scores *one *3 *100.0\*.* +44.4  *-  *-  *-$'
prints '^Differences are to erm_scores'
cp "$work/out" "$work/printed"
run 0 compare "$work/erm_scores" "$work/dro_scores/summary.json" --groups "$work/groups.csv" --out "$work/compared/here"
cmp -s "$work/printed" "$work/compared/here/comparison.txt" || fail "a folder is not compared as its summary.json is"
for file in csv md tex json; do [ -s "$work/compared/here/comparison.$file" ] || fail "no comparison.$file"; done
refused "names the column 'the group' twice" compare "$work/erm_scores" "$work/dro_scores" --groups "$work/groups.csv" \
    --by 'the group,the group'
run 0 compare "$work/erm_scores" "$work/dro_scores" --json --groups "$work/groups.csv"
same "$work/out" "$work/compared/here/comparison.json"
run 0 compare "$work/erm_scores" "$work/dro_scores" "$work/erm_scores" "$work/dro_scores" --names a,b,c,d
prints '^Dice (%): a, b, c and d$'
run 0 compare "$work/erm_scores" "$work/dro_scores" "$work/erm_scores"
prints '^Dice (%): A, B and C$'
run 0 compare "$work/erm_scores/summary.json" "$work/dro_scores/summary.json" --names ERM,DRO --layout wide --format md
prints '| all (3) | ERM | 55.6 |'
run 0 compare "$work/erm_scores/summary.json" "$work/dro_scores/summary.json" --format csv --metric IoU
prints '^IoU,,all,one,1,erm_scores,3,0,'
refused 'has no HD95' compare "$work/erm_scores/summary.json" "$work/dro_scores/summary.json" --metric HD95
refused 'two or more evaluations' compare
refused 'two or more evaluations' compare "$work/erm_scores/summary.json"
refused 'there is no .*none.json' compare "$work/none.json" "$work/dro_scores/summary.json"
refused '--metric' compare a b --metric Nice
refused '--format' compare a b --format html
refused '--layout' compare a b --layout round
for names in A ,B A, A,B,C A,A ''; do refused '--names' compare a b --names "$names"; done
refused 'not JSON' compare "$work/groups.csv" "$work/dro_scores/summary.json"

# Evaluations of classifiers: no example twice, in whichever file; those that are left out are told of.
classified() { # folder, lines
    mkdir -p "$work/$1"
    { echo "${header:-example,label,prediction,loss,p_dark,p_light}"; printf "$2"; } >"$work/$1/examples.csv"
}
classified twice '1,dark,dark,0.1,0.9,0.1\n1,dark,dark,0.1,0.9,0.1\n2,light,light,0.1,0.1,0.9\n'
classified three '1,dark,dark,0.1,0.9,0.1\n2,light,light,0.1,0.1,0.9\n3,light,light,0.1,0.1,0.9\n'
classified two '1,dark,dark,0.1,0.9,0.1\n2,light,dark,0.9,0.6,0.4\n'
refused 'twice/examples.csv: the example 1 is there twice' compare "$work/twice" "$work/three"
refused 'twice/examples.csv: the example 1 is there twice' compare "$work/three" "$work/twice"
run 0 compare "$work/two" "$work/three" --common
complains 'compared are the 2 examples that all have'
run 0 compare "$work/three" "$work/two" --common
complains 'compared are the 2 examples that all have'
run 0 compare "$work/two" "$work/two"
is_silent err
# Columns of groups may be called as those of classes are; a class needs no example.
header=example,label,prediction,loss,p_dark,p_light,p_none,p_site,p_age
classified columns '1,dark,dark,0.1,0.9,0.1,0,x,70\n2,light,light,0.1,0.1,0.8,0.1,y,50\n'
run 0 compare "$work/columns" "$work/columns" --by p_site,p_age
prints '^p_site y (1)'
prints '^p_age 50 (1)'
refused "names the column 'p_site' twice" compare "$work/columns" "$work/columns" --by p_site,p_age,p_site
refused 'no such column' compare "$work/columns" "$work/columns" --by p_site,
header=example,label,prediction,loss,p_dark,p_light,p_flag
classified flags '1,dark,dark,0.1,0.9,0.1,1\n2,light,light,0.1,0.1,0.9,0\n'
run 0 compare "$work/flags" "$work/flags" --by p_flag
prints '^p_flag 1 (1)'
classified broken '1,dark,dark,0.1,x,0.1,1\n2,light,light,0.1,0.1,0.9,0\n'
refused "p_dark is 'x', not a finite number" compare "$work/broken" "$work/flags"
header=

# Long names are cut between letters, wherever they are cut: what is written stays UTF-8.
is_utf8() { for file in "$@"; do iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1 || fail "$file is not UTF-8"; done; }
letters() { printf "$1"; printf 'ä%.0s' $(seq "$2"); } # bytes in front, then letters of two bytes
long=$(letters '' 40)
header=example,label,prediction,loss,p_dark,p_light,$(letters a 40)
classified "$long" "1,dark,dark,0.1,0.9,0.1,$(letters a 30)\n2,light,light,0.1,0.1,0.9,y\n"
classified "$long/other" "1,dark,dark,0.1,0.9,0.1,$(letters a 30)\n2,light,light,0.1,0.1,0.9,y\n"
header=
run 0 compare "$work/$long" "$work/$long/other" --by "$(letters a 40)" --out "$work/cut"
prints "^$(letters a 19) $(letters a 24) (1) *$(letters '' 31) "
prints "^worst $(letters a 29) "
is_utf8 "$work/cut/"*
cp "$work/erm_scores/summary.json" "$work/$long"
sed "s/\"one\"/\"$(letters '' 40)\"/" "$work/dro_scores/summary.json" >"$work/$long/$(letters '' 40).json"
printf "case,group\nx,$(letters '' 70)\ny,common\nz,common\n" >"$work/long.csv"
run 0 compare "$work/$long/$(letters '' 40).json" "$work/dro_scores" --common --groups "$work/long.csv" --out "$work/cut"
is_utf8 "$work/cut/"*
prints "^$(letters '' 63) *$(letters '' 31) *$(letters '' 31) "
run 0 compare "$work/$long/summary.json" "$work/dro_scores" --common --out "$work/cut"
is_utf8 "$work/cut/"*

# The report of evaluations that no run of ours belongs to; nnU-Net's summary has no names, its label maps lie beside it.
run 0 report "$work/erm_scores" "$work/dro_scores/summary.json" --names ERM,DRO --groups "$work/groups.csv" \
    --images "$ref" --out "$work/page.html"
is_silent err
for words in 'Evaluation report' 'Evaluated in full on 3 cases' 'too few cases to tell' 'class="view"' 'prediction DRO' \
    'errors ERM' 'Worst of .*rare' '>made up: a label' '90 % reach' 'By the group\|Dice score of one'; do
    holds "$work/page.html" "$words"
done
# Cases that are all equal are not too few.
set --
for k in 1 2 3 4 5 6 7 8 9 10 11 12; do set -- "$@" "case$k.nii.gz=11002200"; done
mkdir "$work/many"
"$maps" "$work/many" "$@" || exit 1
run 0 evaluate --pred "$work/many" --ref "$work/many" --out "$work/many_scores" --quiet
cp -r "$work/many_scores" "$work/many_again"
run 0 report "$work/many_scores" "$work/many_again" --names one,same --images "$work/many" --out "$work/page.html"
holds "$work/page.html" 'these cases do not tell the two apart'
fold=$work/results/fold_0/validation
mkdir -p "$fold"
cp "$b"/*.nii.gz "$fold"
sed -e '/"label_names"/,/}/d' -e '/"empty"/d' -e "s,$b/,/nowhere/,; s,$ref/,/nowhere/,; s/\.nii\",/.nii.gz\",/" \
    "$work/dro_scores/summary.json" >"$fold/summary.json"
mkdir "$work/results/imagesTr" "$work/results/labelsTr"
cp "$ref"/* "$work/results/imagesTr"
cp "$ref"/* "$work/results/labelsTr"
echo '{"channel_names": {"0": "MRI"}, "labels": {"background": 0, "left": 1, "right": 2}, "file_ending": ".nii.gz",
"numTraining": 3}' >"$work/results/dataset.json"
printf 'case,site\nx,s10\ny,s2\nz,s10\n' >"$work/results/groups.csv"
run 0 compare "$work/results/fold_0" "$work/erm_scores"
prints '^s2 (1) *fold_0 *left'
run 0 report "$work/results/fold_0" --out "$work/page.html"
for words in 'Evaluation report' '>left<' 'class="view"' 'site.*s10'; do holds "$work/page.html" "$words"; done
! grep -q 'No picture' "$work/page.html" || fail "pictures of nnU-Net's predictions are missing"
refused '--names' report "$work/erm_scores" "$work/dro_scores" --names ERM --out "$work/page.html"
refused 'nowhere' report "$work/erm_scores" --groups "$work/nowhere.csv" --out "$work/page.html"
refused 'needs --out' report "$work/erm_scores/summary.json"

# A case that one side lacks is named before any work.
rm "$b/y.nii.gz"
refused 'lacks y' evaluate --pred "$b" --ref "$ref" --out "$work/never"
[ ! -e "$work/never" ] || fail "a folder was made before the input was checked"
run 0 evaluate --pred "$b" --ref "$ref" --common --regions one=1,both=1+2 --out "$work/less_scores"
complains 'lacks y; these cases are left out'
refused 'lacks y' compare "$work/less_scores/summary.json" "$work/dro_scores/summary.json"
run 0 compare "$work/less_scores/summary.json" "$work/dro_scores/summary.json" --common
prints '^all (2)'
complains 'less_scores lacks y; compared are the 2 cases that all have'
printf 'case,group\nx,rare\n' >"$work/short.csv"
run 0 evaluate --pred "$b" --ref "$ref" --common --quiet --groups "$work/short.csv"
complains 'lacks y; these cases are left out' # --quiet swallows no warning
run 0 evaluate --pred "$a" --ref "$ref" --groups "$work/short.csv"
complains 'no row of the groups.*y, z'
run 0 evaluate --pred "$a" --ref "$ref" --labels 1
complains 'labels that are not evaluated, such as 2 in x'

"$maps" "$b" y.nii.gz=11112222@1.5
refused 'y: the affines differ' evaluate --pred "$b" --ref "$ref"
head -c 50 "$a/y.nii.gz" >"$b/y.nii.gz"
refused 'y.nii.gz' evaluate --pred "$b" --ref "$ref"
printf 'case,group\nx\n' >"$work/bad.csv"
refused 'bad.csv' evaluate --pred "$a" --ref "$ref" --groups "$work/bad.csv"

# Names with commas and quotes stay what they are, in every file and beside groups.csv.
odd=$work/odd
mkdir "$odd" "$odd/pred" "$odd/ref"
"$maps" "$odd/ref" 'a, "b".nii.gz=11002200' plain.nii.gz=11112222 || exit 1
"$maps" "$odd/pred" 'a, "b".nii.gz=10000000' plain.nii.gz=11112222 || exit 1
printf 'case,"the ""odd"", group"\n"a, ""b""","rare, ""very"""\nplain,common\n' >"$odd/groups.csv"
run 0 evaluate --pred "$odd/pred" --ref "$odd/ref" --groups "$odd/groups.csv" --images "$odd/ref" --out "$odd/run"
is_silent err
prints '^rare, "very"  *1 *1 .*too few  *a, "b"$'
holds "$odd/run/cases.csv" '^case,label,key,"the ""odd"", group",Dice,'
holds "$odd/run/cases.csv" '^"a, ""b""",1,1,"rare, ""very""",0.6666666667,'
holds "$odd/run/worst.csv" '^1,"a, ""b""",0.333333333,2,0$'
holds "$odd/run/table.csv" '^Dice,"the ""odd"", group","rare, ""very""",1,1,1,0,.*,"a, ""b""",$'
holds "$odd/run/summary.json" '"prediction_file": ".*/a, \\"b\\".nii.gz"'
[ -s "$odd/run/worst/a, \"b\".png" ] || fail "no picture of a case with an odd name"
run 0 compare "$odd/run/summary.json" "$odd/run/summary.json" --groups "$odd/groups.csv"
is_silent err
prints '^rare, "very" (1) *A '
run 0 compare "$odd/run/summary.json" "$odd/run/summary.json" --groups "$odd/groups.csv" --format csv
prints '^Dice,"the ""odd"", group","rare, ""very""",1,1,A,1,0,'
echo '{"task": "segmentation"}' >"$odd/run/config.json"
run 0 report "$odd/run"
for words in 'a, &quot;b&quot;' 'rare, &quot;very&quot;' 'src="data:image/png'; do holds "$odd/run/report.html" "$words"; done
cp "$odd/groups.csv" "$odd/run/groups.csv"
run 0 report "$odd/run"
holds "$odd/run/report.html" 'rare, &quot;very&quot;'
! grep -q 'no group' "$odd/run/report.html" || fail "the report does not find a case with an odd name in groups.csv"

# What a stranger may give: each is refused with the name of the thing and what to do.
mkdir "$work/empty"
echo text >"$work/file"
echo '{"mean": {}}' >"$work/other.json"
refused 'empty has no .nii.*name a folder' evaluate --pred "$work/empty" --ref "$ref"
refused 'the folder .*file cannot be read' evaluate --pred "$work/file" --ref "$ref"
refused 'nowhere.csv: there is no such file; name' evaluate --pred "$a" --ref "$ref" --groups "$work/nowhere.csv"
refused 'empty is a folder; name' evaluate --pred "$a" --ref "$ref" --groups "$work/empty"
refused "empty: is not a run's folder" evaluate "$work/empty"
refused "file: is not a run's folder" evaluate "$work/file"
refused 'nowhere.csv: there is no such file; name' compare "$work/erm_scores/summary.json" \
    "$work/dro_scores/summary.json" --groups "$work/nowhere.csv"
refused 'empty has no summary.json: it is neither' compare "$work/erm_scores" "$work/empty"
refused 'other.json .*not a summary.json' compare "$work/other.json" "$work/dro_scores/summary.json"

if [ -c /dev/full ]; then
    "$program" evaluate --pred "$a" --ref "$ref" >/dev/full 2>"$work/err"
    [ $? -eq 1 ] || fail "a full disk goes unnoticed"
fi

# Two cases of each of twelve patients: patients are counted, by a column of the dataset's groups.csv, also where its labels are a
# link into a folder with another one.
mkdir -p "$work/store/labelsTr" "$work/linked" "$work/first" "$work/second"
set -- && later=
for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
    set -- "$@" "p${k}_a.nii.gz=11110000" "p${k}_b.nii.gz=11110000"
    later="$later p${k}_a.nii.gz=11100000 p${k}_b.nii.gz=11$((k % 2))00000"
done
"$maps" "$work/store/labelsTr" "$@" && "$maps" "$work/first" "$@" && "$maps" "$work/second" $later || exit 1
ln -s "$work/store/labelsTr" "$work/linked/labelsTr"
cp "$work/results/dataset.json" "$work/store/dataset.json"
cp "$work/results/dataset.json" "$work/linked/dataset.json"
ls "$work/store/labelsTr" | sed 's/\.nii\.gz//; s/\(.*\)_\(.\)/\1_\2,scan \2/; 1i case,scan' >"$work/store/groups.csv"
sed '1s/$/,Patient/; 2,$s/^\(.*\)_\(.*\)$/\1_\2,\1/' "$work/store/groups.csv" >"$work/linked/groups.csv"
for name in first second; do
    run 0 evaluate --pred "$work/$name" --ref "$work/linked/labelsTr" --labels 1 --groups "$work/linked/groups.csv" \
        --out "$work/$name.scores" --quiet
done
is_silent err
prints 'resampling 12 patients, from 10 patients on'
prints '^scan b *1 *12 '
! grep -q '^p1' "$work/out" || fail "each patient is a group"
holds "$work/second.scores/table.csv" '^Dice,,all,1,1,24,0,.*,12$'
run 0 compare "$work/first.scores" "$work/second.scores"
prints 'resampling 12 patients,$'
prints "Wilcoxon: of the patients' mean differences"
run 0 compare "$work/first.scores" "$work/second.scores" --format csv
prints ',0,12,0,0,0\.00048828125,.*,12$' # all twelve are worse: 2 / 2^12
run 0 compare "$work/first.scores" "$work/second.scores" --groups "$work/store/groups.csv" --format csv
prints ',0,24,0,0,1.192092896e-07,.*,$' # as if there were 24 of them
for name in first second; do # no dataset there: an evaluation's own cases.csv has its groups
    run 0 evaluate --pred "$work/$name" --ref "$work/first" --labels 1 --groups "$work/linked/groups.csv" --out "$work/$name.own" --quiet
done
run 0 compare "$work/first.own" "$work/second.own" --by scan
prints 'resampling 12 patients,$'
prints '^scan b (12) '
run 0 report "$work/first.own" "$work/second.own" --out "$work/page.html"
holds "$work/page.html" 'on 24 cases of 12 patients'
! grep -q 'By Patient' "$work/page.html" || fail "the report draws each patient"
run 0 report "$work/first.scores" "$work/second.scores" --out "$work/page.html"
holds "$work/page.html" 'on 24 cases of 12 patients'
holds "$work/page.html" 'intervals of the mean, resampling patients, from 10 patients on'

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
