#!/bin/sh
# The paper's Table 2 on synthetic phantoms: heads of which few are abnormal, judged on a test set in which a third of the
# cases is of each condition: ERM, DRO as it is by default, and with the condition known, group DRO and reweighting as
# oracles. Nothing about patients follows from it (docs/phantoms.md). With MISLABEL=0.1 the label maps of some training
# cases are emptied or have their labels exchanged, and hws triage has to tell them from the cases with spina bifida.
#
# usage: experiments/phantom.sh [OUT]        (experiments/out/phantom)
# In the environment: SEEDS ("0 1 2"), METHODS ("erm dro group-dro reweight"; with MISLABEL "erm dro doubt"; also paper, beta10,
# jtt, cvar-batch), CASES (60), TEST (45), SIZE (24,32,24) and SPACING (5) of the volumes, EPOCHS (8), EPOCH_LENGTH (100),
# BATCH (2), MISLABEL (0), JOBS, HWS.
# About half an hour on two cores with the defaults.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/experiments/out/phantom}
. "$root/experiments/common.sh"
. "$root/experiments/volumes.sh"
dataset=$out/data seeds=${SEEDS:-0 1 2} methods=${METHODS:-erm dro group-dro reweight} group=condition
[ "${MISLABEL:-0}" = 0 ] || methods=${METHODS:-erm dro doubt}
[ -e "$dataset/dataset.json" ] || "$hws" phantom --out "$dataset" --cases "${CASES:-60}" --test "${TEST:-45}" \
    --size "${SIZE:-24,32,24}" --spacing "${SPACING:-5}"
"$hws" plan "$dataset" --out "$out/cache"
# With so few iterations Adam comes further than nnU-Net's momentum of 0.99.
train_methods --fold -1 --optimizer adam --lr 0.002 --epochs "${EPOCHS:-8}" --epoch-length "${EPOCH_LENGTH:-100}" \
    --batch "${BATCH:-2}"

judge() { # run
    "$hws" predict "$1" --input "$dataset/imagesTs" --output "$1/test" --quiet || return 1
    "$hws" evaluate --pred "$1/test" --ref "$dataset/labelsTs" --groups "$dataset/groups.csv" --by condition \
        --regions "white matter=1,intra-axial CSF=2,cerebellum=3" --images "$dataset/imagesTs" --out "$1" --quiet >/dev/null
}
each_run judge
dice_tables condition "" "white matter" "intra-axial CSF" cerebellum
triage_table spina_bifida
report_first
