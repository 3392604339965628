# What the experiments share. Sourced; needs root and out. Runs wait in a queue and are trained JOBS at a time (as many as
# there are processors), each on one thread: nobody waits for anybody, and the results are the same. Finished runs are
# kept, and runs that were cut short go on.

export LC_ALL=C # awk and printf must read and write numbers as hws does
hws=${HWS:-$root/build/release/cli/hws}
jobs=${JOBS:-$(nproc)}
[ -x "$hws" ] || { echo "${0##*/}: there is no program at $hws; run make first" >&2; exit 1; }
. "$root/experiments/side_by_side.sh"
mkdir -p "$out"
: >"$out/queue"
: >"$out/finished"

# A file of words for each run, since words may have blanks; its name may not.
queue() { # NAME WORDS: arguments of hws train
    echo "$1" >>"$out/queue"
    words=$out/$1.words
    shift
    printf '%s\n' "$@" >"$words"
}

train_queue() {
    total=$(wc -l <"$out/queue")
    echo "$total runs, $jobs at a time"
    export out hws total
    side_by_side "$jobs" "$out/queue" sh "$root/experiments/one_run"
    [ "$(wc -l <"$out/finished")" -eq "$total" ] || { echo "${0##*/}: a run failed" >&2; exit 1; }
}

# A page about the runs of the first seed. Needs methods and seeds.
report_first() {
    first=${seeds%% *}
    set --
    for method in $methods; do set -- "$@" "$out/$method-s$first"; done
    "$hws" report "$@" --out "$out/report.html"
    echo "report: $out/report.html"
}

# A plan with so many features in the first stage, and as many times fewer in the others.
narrow_plan() { # CACHE FEATURES
    awk -v features="$2" '{ if (match($0, /"features": [0-9]+/)) {
        now = substr($0, RSTART + 12, RLENGTH - 12); if (!first) first = now
        sub(/"features": [0-9]+/, "\"features\": " int(now * features / first)) } print }' \
        "$1/plans.json" >"$1/plans.json.new"
    mv "$1/plans.json.new" "$1/plans.json"
}
