#!/bin/sh
# The paper's brain tumour study (section 4.2: Table 3, Figure 4; Table 5): {ERM, DRO} x {SGD, Nesterov}, the grid of beta and importance
# sampling, Dice of the three regions, by centre.
#
# usage: experiments/brats.sh DATASET [OUT]          OUT: experiments/out/brats
#        experiments/brats.sh --dry-run [OUT]        the same on small phantoms with four channels and regions, in minutes
# DATASET is in nnU-Net's layout (regions in dataset.json, groups.csv with a column centre), or BraTS as it is distributed:
# folders HGG and LGG of cases with CASE_t1, _t1ce, _t2, _flair and _seg.nii.gz. Then a dataset of links is made in OUT; label values (0, 1,
# 2, 4) stay, and the centre (TCIA or other) is read from the cases' names.
# With imagesTs and labelsTs models are judged on them, otherwise on the validation cases of fold 0. Begun again, it goes on where it
# was. In the environment: JOBS, EPOCHS (1000), EPOCH_LENGTH (250), BATCH, BETAS ("10 100 1000"; 100 must be among them),
# WEIGHTS, HWS.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
script=$root/experiments/brats.sh study=brats
. "$root/experiments/study.sh"
BETAS=${BETAS:-10 100 1000}
REGIONS="whole tumour=1+2+4,tumour core=1+4,enhancing tumour=4"
export BETAS REGIONS

# BraTS's folders as a dataset: links, and the two files that nnU-Net's layout needs.
link_case() { # folder of a case, dataset, grade
    case_name=$(basename "$1")
    channel=0
    for sequence in t1 t1ce t2 flair; do
        for ending in nii.gz nii; do
            [ ! -e "$1/${case_name}_$sequence.$ending" ] || ln -sf "$(cd "$1" && pwd)/${case_name}_$sequence.$ending" \
                "$2/imagesTr/${case_name}_000$channel.$ending"
        done
        channel=$((channel + 1))
    done
    for ending in nii.gz nii; do
        [ ! -e "$1/${case_name}_seg.$ending" ] || ln -sf "$(cd "$1" && pwd)/${case_name}_seg.$ending" "$2/labelsTr/$case_name.$ending"
    done
    centre=other
    case $case_name in *TCIA*) centre=TCIA ;; esac
    echo "$case_name,$centre,$3" >>"$2/groups.part"
}

convert() { # raw folder, dataset
    mkdir -p "$2/imagesTr" "$2/labelsTr"
    echo "case,centre,grade" >"$2/groups.part"
    count=0
    for grade in HGG LGG; do
        for folder in "$1/$grade"/*/; do
            [ -d "$folder" ] || continue
            link_case "${folder%/}" "$2" $grade
            count=$((count + 1))
        done
    done
    [ $count -gt 0 ] || study_fail "$1 is neither a dataset nor BraTS: there is neither dataset.json nor a case in HGG or LGG"
    ending=nii.gz
    [ -n "$(find "$2/labelsTr" -name '*.nii.gz' | head -n 1)" ] || ending=nii
    mv "$2/groups.part" "$2/groups.csv"
    cat >"$2/dataset.json" <<END
{"name": "BraTS", "channel_names": {"0": "T1", "1": "T1c", "2": "T2", "3": "FLAIR"},
 "labels": {"background": 0, "whole tumour": [1, 2, 4], "tumour core": [1, 4], "enhancing tumour": [4]},
 "regions_class_order": [2, 1, 4], "numTraining": $count, "file_ending": ".$ending"}
END
}

optimiser() { # sgd or nesterov: its options
    [ "$1" = sgd ] && echo "--optimizer sgd" || echo "--optimizer nesterov --momentum 0.99"
}

train_erm() { train "erm-$1" --objective erm $(optimiser "$1"); } # optimiser

train_dro() { # optimiser, beta, is or no
    weights=--importance
    [ "$3" = is ] || weights=--no-importance
    train "dro-$1-b$2-$3" --objective dro --recipe paper --beta "$2" $weights $(optimiser "$1")
}

judge() { # run
    if has_test; then
        predict_test "$1" "$OUT/runs/$1" || return 1
        score "$1" "$OUT/predictions/$1" "$DATASET/labelsTs" "$DATASET/imagesTs"
    else
        "$HWS" evaluate "$OUT/runs/$1" --weights "$WEIGHTS" --hd95 --threads 1 --quiet ${DRY:+--no-mirror} \
            --out "$OUT/evaluations/$1"
    fi
}

study_begin "$@"
case " $BETAS " in *" 100 "*) ;; *) study_fail "BETAS lacks 100, the beta of Table 3" ;; esac
if [ -n "$DRY" ]; then
    [ -e "$DATASET/dataset.json" ] || "$HWS" phantom --tumours --out "$DATASET" --cases 8 --test 8 --size 20,24,20 --spacing 6
elif [ ! -e "$DATASET/dataset.json" ]; then
    [ -e "$OUT/data/dataset.json" ] || convert "$DATASET" "$OUT/data"
    DATASET=$OUT/data
fi
export DATASET
plan
job train_erm sgd
job train_erm nesterov
job train_dro sgd 100 is
grid="erm-nesterov" names=ERM
for beta in $BETAS; do
    for weights in no is; do
        job train_dro nesterov "$beta" $weights
        grid="$grid dro-nesterov-b$beta-$weights"
        label="DRO beta $beta"
        [ $weights = no ] || label="$label with IS"
        names="$names,$label"
    done
done
main="erm-sgd dro-sgd-b100-is erm-nesterov dro-nesterov-b100-is"
stage training
for run in $grid erm-sgd dro-sgd-b100-is; do job judge "$run"; done
stage evaluating

cd "$OUT/evaluations"
"$HWS" compare $main --layout wide --names "ERM SGD,DRO SGD,ERM Nesterov,DRO Nesterov" --out "$OUT/table3" >"$OUT/table3.txt"
"$HWS" compare $main --names "ERM SGD,DRO SGD,ERM Nesterov,DRO Nesterov" >"$OUT/table3-tail.txt"
"$HWS" compare $grid --layout wide --names "$names" --out "$OUT/table5" >"$OUT/table5.txt"
cd "$OUT"
page_begin "Brain tumours: ERM and DRO"
page_composition "The data (as Table 1)"
page_table "Table 3: Dice of the regions" "$OUT/table3.txt"
page_table "The same with the tail" "$OUT/table3-tail.txt"
page_boxes "Figure 4: Dice by centre" centre erm-nesterov dro-nesterov-b100-is
page_pictures "The worst cases of ERM" "ERM Nesterov,DRO Nesterov" erm-nesterov dro-nesterov-b100-is
page_report "ERM Nesterov,DRO Nesterov" erm-nesterov dro-nesterov-b100-is
page_table "Table 5: beta and importance sampling, Nesterov" "$OUT/table5.txt"
page_end
