# What the experiments on volumes share. Sourced after common.sh; needs dataset, methods, seeds and group.

options_of() {
    case $1 in
    dro) echo "--objective dro" ;;
    doubt) echo "--objective dro --doubt" ;;
    paper) echo "--objective dro --recipe paper" ;;
    beta10) echo "--objective dro --recipe paper --beta 10 --no-importance" ;;
    reweight | group-dro) echo "--objective $1 --group $group" ;;
    *) echo "--objective $1" ;;
    esac
}

# With MISLABEL some label maps of training cases are made wrong.
mislabel=""
[ "${MISLABEL:-0}" = 0 ] || mislabel="--mislabel $MISLABEL"

train_methods() { # options of all of them
    for seed in $seeds; do
        for method in $methods; do
            queue "$method-s$seed" "$dataset" --cache "$out/cache" $(options_of "$method") $mislabel --seed "$seed" "$@"
        done
    done
    train_queue
}

# "NAME=RUN" of all runs, for the tables.
all_runs() {
    for method in $methods; do for seed in $seeds; do echo "$method=$out/$method-s$seed"; done; done
}

each_run() { # command, to be called with each run
    all_runs | sed 's/^[^=]*=//' | while IFS= read -r run; do "$@" "$run" || exit 1; done
}

# The table: mean Dice by group, for each of the labels ("": all of them).
dice_tables() { # COLUMN LABELS
    column=$1 runs=$(all_runs)
    shift
    for label in "$@"; do
        printf '\nDice (%%), %s\n' "${label:-all labels}"
        (
            IFS='
'
            set -f
            "$root/experiments/dice_table" "$column" "$label" $runs
        )
    done >"$out/table.txt"
    cat "$out/table.txt"
}

# Below it, where labels were made wrong: how well triage tells them from all others, and from the rare cases, which have this
# value in the second column of groups.csv.
triage_table() { # VALUE
    [ -n "$mislabel" ] || return 0
    awk -F, -v rare="$1" '{ sub(/\r$/, "") } $2 == rare { print $1 }' "$dataset/groups.csv" >"$out/rare"
    {
        printf '\ntriage: area under the curve, wrong labels against all others, and against %s\n' "$1"
        all_runs | while IFS= read -r pair; do
            printf '%s\t%s\n' "${pair%%=*}" "$("$root/experiments/triage_auroc" "${pair#*=}" "@$out/rare")"
        done | "$root/experiments/seed_table" "wrong, all" "wrong, rare"
    } | tee -a "$out/table.txt"
}
