# What experiments/phantom.sh and experiments/hippocampus.sh share. Sourced; needs root, hws, out and dataset.

jobs=${JOBS:-$(nproc)}
seeds=${SEEDS:-0}
epochs=${EPOCHS:?}
length=${EPOCH_LENGTH:-25}
batch=${BATCH:-2}
# The paper's beta of 100 with importance weights is made for its 250,000 iterations. While all losses still fall quickly,
# the weights are small, and short runs do not come far (docs/segmentation.md has numbers).
dro=${DRO:---recipe paper --beta 10 --no-importance}

train() { # name, options
    name=$1
    shift
    if [ -e "$out/$name/config.json" ]; then
        set -- --resume
    else
        set -- "$dataset" --cache "$out/cache" --epochs "$epochs" --epoch-length "$length" --batch "$batch" "$@"
    fi
    echo "training $name"
    "$hws" train "$@" --threads 1 --quiet --out "$out/$name" || { echo "$name failed" >&2; exit 1; }
}

finish() { # a run that failed ends the experiment
    for process in $running; do wait "$process" || exit 1; done
    running=""
}

began() { # process: waits when as many run as may
    running="$running $1"
    if [ "$(echo $running | wc -w)" -ge "$jobs" ]; then finish; fi
}

# tee would hide that hws failed.
compare() { # file, arguments of hws compare
    table=$1
    shift
    "$hws" compare "$@" >"$table" || exit 1
    cat "$table"
}

# Several runs at a time, each on one thread: nobody waits for anybody, and the results are the same.
train_both() {
    "$hws" plan "$dataset" --out "$out/cache"
    running=""
    for seed in $seeds; do
        train "erm-s$seed" --objective erm --seed "$seed" "$@" &
        began $!
        train "dro-s$seed" --objective dro $dro --seed "$seed" "$@" &
        began $!
    done
    finish
}
