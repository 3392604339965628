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

# ---- inspect: the median of an even number, and losses that are not finite
printf 'example,stale_loss,age,draws,label\n0,1,1,1,0\n1,2,1,1,1\n2,4,1,1,0\n3,8,1,1,1\n' >"$work/a/losses.csv"
run 0 inspect "$work/a"
prints 'median 3,'
printf 'example,stale_loss,age,draws,label\n0,inf,1,1,0\n1,inf,1,1,1\n' >"$work/a/losses.csv"
refused 'no example has a finite loss' inspect "$work/a"
printf 'example,stale_loss,age,draws,label\n0,,0,0,0\n' >"$work/a/losses.csv"
refused 'no example has a loss yet' inspect "$work/a"

# ---- columns are as wide as what is in them, in letters; long names lose their middle, but not as CSV
straight() { # all lines from the title on are equally wide
    LC_ALL=C tr -d '\200-\277' <"$work/out" | sed -n '/^ *rank /,$p' | LC_ALL=C awk '{ print length($0) }' | sort -u | wc -l |
        grep -q '^1$' || fail "columns are shifted"
}
long=images/train_N_NORMAL2-IM-1400-0001-of-the-second-hospital.png
cat >"$work/a/losses.csv" <<END
example,stale_loss,age,draws,label,group
$long,4,1,1,0,a group with a long name
größe/ärzte-7.png,2,1,1,1,short
END
run 0 inspect "$work/a"
straight
prints '    1 images/train_N_NOR...second-hospital.png        a'
prints 'größe/ärzte-7.png        b'
run 0 inspect "$work/a" --csv
prints "^1,$long,a,"
cat >"$work/a/triage.csv" <<END
rank,example,doubt,loss,loss_mean,peers,trend,evidence,draws,label,prediction,margin
1,$long,0.9,2,3,0.1,-1,3.478,9,a,b,-2
2,größe/ärzte-7.png,0.25,2,3,0.1,-1,2.25,9,a,b,-2
END
run 0 triage "$work/a"
straight
prints '    1 images/train_N_NOR...second-hospital.png   0.90'
run 0 triage "$work/a" --csv
prints "^1,$long,0.9,"
run 0 triage "$work/a" --count 1
prints '^ rank  *example  *doubt '

# ---- options that would do nothing are refused
refused 'is a classifier: --groups' report "$work/a" --images "$work" --out "$work/a.html"
refused 'is given twice' report "$work/a" "$work/a/" --out "$work/a.html"
refused "--onnx needs a file's name" export "$work/a" --onnx ''
refused 'instead of --beta' bench sampler --n 1e2 --beta 3 --tail 0.1
refused 'not a list of whole numbers' bench sampler --n 1e2,
refused '--n needs a list' bench sampler --n ''
refused "no precision 'f16'; f32 and bf16 are known" bench train --model mlp-1-8 --precision f16
refused "none of auto, direct, winograd" bench train --model mlp-1-8 --conv fft
refused 'are for unet and resenc, not for mlp-1-8' bench train --model mlp-1-8 --levels 3
run 1 watch "$work/a" --address 192.0.2.1 --port 0 # of no machine, by RFC 5737
complains 'is no address of this machine: choose another --address'

exit $((failures > 0))
