#!/bin/sh
# The paper's fetal brain study (section 4.2: Tables 1 and 2, Figure 3): nnU-Net with ERM and with DRO, five folds each, ensembles of the five,
# by condition.
#
# usage: experiments/fetal.sh DATASET [OUT]          OUT: experiments/out/fetal
#        experiments/fetal.sh --dry-run [OUT]        the same on small phantoms, in minutes
# DATASET is in nnU-Net's layout, with groups.csv (case, then columns such as condition). With imagesTs and labelsTs the ensembles are
# judged on them; otherwise each fold's validation cases by the run that did not see them.
# Begun again, it goes on where it was. In the environment: JOBS, EPOCHS (1000), EPOCH_LENGTH (250), BATCH, BY (the column of groups
# for box plots: condition), REGIONS (names of labels, such as "white matter=1,CSF=2"), DRO (its options), WEIGHTS, HWS.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
script=$root/experiments/fetal.sh study=fetal
. "$root/experiments/study.sh"
BY=${BY:-condition} DRO=${DRO:---recipe paper}
export BY DRO

train_fold() { # objective, fold
    options=
    [ "$1" != dro ] || options=$DRO
    train "$1-f$2" --fold "$2" --objective "$1" $options
}

# An ensemble of the folds on the test set, or every fold on its own validation cases.
judge() { # objective
    if has_test; then
        predict_test "$1" "$OUT/runs/$1-f0" "$OUT/runs/$1-f1" "$OUT/runs/$1-f2" "$OUT/runs/$1-f3" "$OUT/runs/$1-f4" || return 1
        score "$1" "$OUT/predictions/$1" "$DATASET/labelsTs" "$DATASET/imagesTs"
        return
    fi
    folder=validation
    [ "$WEIGHTS" = best ] || folder=$folder-latest
    [ -z "$DRY" ] || folder=$folder-unmirrored
    mkdir -p "$OUT/predictions/$1"
    for fold in 0 1 2 3 4; do
        "$HWS" evaluate "$OUT/runs/$1-f$fold" --weights "$WEIGHTS" --threads 1 --quiet ${DRY:+--no-mirror} || return 1
        cp "$OUT/runs/$1-f$fold/$folder"/*.nii* "$OUT/predictions/$1" || return 1
    done
    score "$1" "$OUT/predictions/$1" "$DATASET/labelsTr" "$DATASET/imagesTr"
}

study_begin "$@"
if [ -n "$DRY" ]; then
    REGIONS="white matter=1,intra-axial CSF=2,cerebellum=3"
    export REGIONS
    [ -e "$DATASET/dataset.json" ] || "$HWS" phantom --out "$DATASET" --cases 10 --spina-bifida 2 --other 2 --test 6 --size 16,24,16 \
        --spacing 6
fi
plan
for fold in 0 1 2 3 4; do
    job train_fold erm $fold
    job train_fold dro $fold
done
stage training
job judge erm
job judge dro
stage evaluating

"$HWS" compare "$OUT/evaluations/erm" "$OUT/evaluations/dro" --names nnU-Net-ERM,nnU-Net-DRO --out "$OUT/table2" >"$OUT/table2.txt"
"$HWS" compare "$OUT/evaluations/erm" "$OUT/evaluations/dro" --names nnU-Net-ERM,nnU-Net-DRO --metric HD95 >"$OUT/table2-hd95.txt"
page_begin "Fetal brain 3D MRI: ERM and DRO"
page_composition "Table 1: the data"
page_table "Table 2: Dice by group" "$OUT/table2.txt"
page_table "Hausdorff distances (95 %)" "$OUT/table2-hd95.txt"
page_boxes "Dice by $BY" "$BY" erm dro
page_pictures "Figure 3: the worst cases of nnU-Net-ERM" "nnU-Net-ERM,nnU-Net-DRO" erm dro
page_report "nnU-Net-ERM,nnU-Net-DRO" erm dro
page_end
