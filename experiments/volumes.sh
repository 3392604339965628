# What the experiments on volumes share. Sourced after common.sh; needs dataset, methods, seeds and group.

options_of() {
    case $1 in
    dro) echo "--objective dro" ;;
    paper) echo "--objective dro --recipe paper" ;;
    beta10) echo "--objective dro --recipe paper --beta 10 --no-importance" ;;
    reweight | group-dro) echo "--objective $1 --group $group" ;;
    *) echo "--objective $1" ;;
    esac
}

train_methods() { # options of all of them
    for seed in $seeds; do
        for method in $methods; do
            queue "$method-s$seed" "$dataset" --cache "$out/cache" $(options_of "$method") --seed "$seed" "$@"
        done
    done
    train_queue
}

# "NAME=RUN" of all runs, for the tables.
all_runs() {
    for method in $methods; do for seed in $seeds; do echo "$method=$out/$method-s$seed"; done; done
}

report_first() {
    first=${seeds%% *}
    set --
    for method in $methods; do set -- "$@" "$out/$method-s$first"; done
    "$hws" report "$@" --out "$out/report.html"
    echo "report: $out/report.html"
}
