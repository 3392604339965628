#!/bin/sh
# A real rare group: 140 heart scans of 70 patients with five diagnoses (ACDC), one of which is made rare in training, with
# 2 of its patients left. Folds by patient, stratified by diagnosis; Dice of the fold's validation cases by diagnosis. ERM,
# DRO as it is by default, and with the diagnosis known, group DRO and reweighting; the paper's recipe. With MISLABEL=0.1 the label maps of
# some training cases are emptied or have their labels exchanged, and hws triage has to tell them from the rare ones.
#
# usage: experiments/acdc.sh DATASET_FOLDER [OUT]        (experiments/out/acdc)
# DATASET_FOLDER has a groups.csv with a column diagnosis and cases called PATIENT_ED and PATIENT_ES; it is not written to.
# In the environment: SEEDS ("0 1 2"), METHODS ("erm dro group-dro reweight paper"; with MISLABEL "erm dro doubt"), RARE (RV),
# PATIENTS (2), FOLD (0), EPOCHS (8), EPOCH_LENGTH (50), BATCH (2), FEATURES (16, of the first stage), MISLABEL (0), JOBS, HWS. About ten minutes per run on one core of a
# machine that is shared.
set -eu
[ $# -ge 1 ] || { echo "usage: experiments/acdc.sh DATASET_FOLDER [OUT]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
given=$(cd "$1" && pwd)
out=${2:-$root/experiments/out/acdc}
. "$root/experiments/common.sh"
. "$root/experiments/volumes.sh"
dataset=$out/data seeds=${SEEDS:-0 1 2} methods=${METHODS:-erm dro group-dro reweight paper} group=diagnosis
[ "${MISLABEL:-0}" = 0 ] || methods=${METHODS:-erm dro doubt}

# The same files with a column of patients.
mkdir -p "$dataset"
for part in imagesTr labelsTr dataset.json; do [ -e "$dataset/$part" ] || ln -s "$given/$part" "$dataset/$part"; done
awk -F, '{ sub(/\r$/, "") } NR == 1 { print $0 ",patient"; next } { patient = $1; sub(/_E[DS]$/, "", patient); print $0 "," patient }' \
    "$given/groups.csv" >"$dataset/groups.csv"
if [ ! -e "$dataset/splits_final.json" ]; then
    "$hws" plan "$dataset" --out "$out/cache" --stratify diagnosis --keep-together patient
    narrow_plan "$out/cache" "${FEATURES:-16}"
    awk -v RARE="${RARE:-RV}" -v KEEP="${PATIENTS:-2}" -f "$root/experiments/rare_group.awk" \
        "$dataset/groups.csv" "$out/cache/splits_final.json" >"$out/splits.json"
    mv "$out/splits.json" "$dataset/splits_final.json"
fi
train_methods --fold "${FOLD:-0}" --optimizer adam --lr 0.003 --weight-decay 0 --epochs "${EPOCHS:-8}" \
    --epoch-length "${EPOCH_LENGTH:-50}" --batch "${BATCH:-2}"

judge() { "$hws" evaluate "$1" --no-mirror --quiet >/dev/null; } # run
each_run judge
dice_tables diagnosis "" RV MYO LV
triage_table "${RARE:-RV}"
report_first
