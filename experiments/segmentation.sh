# What experiments/phantom.sh and experiments/hippocampus.sh share. Sourced; needs root, hws, out and dataset.

jobs=${JOBS:-$(nproc)}
seeds=${SEEDS:-0}
epochs=${EPOCHS:-20}
length=${EPOCH_LENGTH:-25}
batch=${BATCH:-2}

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

# Several runs at a time, each on one thread: nobody waits for anybody, and the results are the same.
train_both() {
    "$hws" plan "$dataset" --out "$out/cache"
    running=""
    for seed in $seeds; do
        for objective in erm dro; do
            train "$objective-s$seed" --objective "$objective" --seed "$seed" "$@" &
            running="$running $!"
            if [ "$(echo $running | wc -w)" -ge "$jobs" ]; then finish; fi
        done
    done
    finish
}
