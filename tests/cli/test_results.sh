#!/bin/sh
# What the verbs say that read the folder of a run. test_results.sh HWS
set -u
program=$1
. "$(dirname "$0")/testing.sh"

# A classifier's folder by hand.
make_run() {
    mkdir -p "$1"
    cat >"$1/config.json" <<END
{"task": "classification", "data": "digits", "model": "mlp-1-8", "objective": "erm", "seed": $2, "classes": ["a", "b"]}
END
    printf 'epoch,iteration,test_accuracy\n1,10,0.9\n' >"$1/history.csv"
}

# ---- triage: what is not in doubt does not look it
make_run "$work/a" 0
cat >"$work/a/triage.csv" <<END
rank,example,doubt,loss,loss_mean,peers,trend,evidence,draws,label,prediction,margin
1,0,0.4956,2,3,0.1,-1,3.478,9,a,b,-2
2,1,0.25,2,3,0.1,-1,2.25,9,a,b,-2
END
run 0 triage "$work/a"
prints '0 of 2 labels are in doubt'
prints ' 0\.49 '
prints ' 0\.25 '
if grep -q ' 0\.50 ' "$work/out"; then fail "a label looks in doubt that is not"; fi

exit $((failures > 0))
