#!/bin/sh
# The paper's Figure 2: MNIST with 1 % of the 3s, WRN-16-1, SGD with rate 0.01, batch 64: ERM, DRO for the paper's four beta,
# and DRO as it is by default. With MISLABEL=0.05 the same with wrong labels: ERM, beta 10, the default, --trim and --doubt,
# and how well hws triage finds them. The weights judged are the last ones, and after 20 epochs or more also those of the last
# ten epochs on average: nothing is chosen by the test set.
# Writes OUT/curves.svg and OUT/report.html and prints the table.
#
# usage: experiments/mnist.sh [OUT]          (experiments/out/mnist)
# In the environment: SEEDS ("0 1 2"), EPOCHS (40: ERM's curve is flat from 35 on), METHODS (of "erm beta0.1 beta1 beta10
# beta100 default trim doubt group-dro reweight jtt cvar-batch"; the first six), PRECISION (f32), DATA (mnist; or digits),
# MISLABEL (0), JOBS (runs at a time), HWS (the program). About a minute per epoch and run.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/experiments/out/mnist}
. "$root/experiments/common.sh"
data=${DATA:-mnist}
seeds=${SEEDS:-0 1 2}
epochs=${EPOCHS:-40}
mislabel=${MISLABEL:-0}
methods=${METHODS:-erm beta0.1 beta1 beta10 beta100 default}
[ "$mislabel" = 0 ] || methods=${METHODS:-erm beta10 default trim doubt}
[ "$data" != mnist ] || "$hws" fetch mnist

options_of() {
    case $1 in
    default) echo "--objective dro" ;;
    beta*) echo "--objective dro --recipe paper --beta ${1#beta}" ;;
    trim) echo "--objective dro --trim 0.05" ;;
    doubt) echo "--objective dro --doubt" ;;
    *) echo "--objective $1" ;;
    esac
}

more=""
[ "$mislabel" = 0 ] || more="--mislabel $mislabel"
for seed in $seeds; do
    for method in $methods; do
        queue "$method-s$seed" "$data" --keep 3=0.01 --epochs "$epochs" --precision "${PRECISION:-f32}" \
            $(options_of "$method") --seed "$seed" $more
    done
done
train_queue

set --
for method in $methods; do for seed in $seeds; do set -- "$@" "$method=$out/$method-s$seed"; done; done
"$root/experiments/accuracy_table" 3 "$@" >"$out/table.txt"
if [ "$epochs" -ge 20 ]; then
    echo "means over the last ten epochs"
    LAST=10 "$root/experiments/accuracy_table" 3 "$@"
fi >>"$out/table.txt"
if [ "$mislabel" != 0 ]; then
    echo "triage: area under the curve, wrong labels against all others, and against the 3s"
    for pair in "$@"; do printf '%s\t%s\n' "${pair%%=*}" "$("$root/experiments/triage_auroc" "${pair#*=}" 3)"; done |
        "$root/experiments/seed_table" "wrong, all" "wrong, rare"
fi >>"$out/table.txt"
cat "$out/table.txt"
"$root/experiments/learning_curves" 3 "$@" >"$out/curves.svg"
echo "curves: $out/curves.svg"
report_first
