# What the experiments share. Sourced; needs root and out. Runs wait in a queue and are trained JOBS at a time (as many as
# there are processors), each on one thread: nobody waits for anybody, and the results are the same. Finished runs are
# kept, and runs that were cut short go on.

hws=${HWS:-$root/build/release/cli/hws}
jobs=${JOBS:-$(nproc)}
[ -x "$hws" ] || { echo "${0##*/}: there is no program at $hws; run make first" >&2; exit 1; }
. "$root/experiments/side_by_side.sh"
mkdir -p "$out"
: >"$out/queue"
: >"$out/finished"

queue() { echo "$*" >>"$out/queue"; } # NAME OPTIONS, without blanks in any of them

train_queue() {
    total=$(wc -l <"$out/queue")
    echo "$total runs, $jobs at a time"
    export out hws total
    side_by_side "$jobs" "$out/queue" sh "$root/experiments/one_run"
    [ "$(wc -l <"$out/finished")" -eq "$total" ] || { echo "${0##*/}: a run failed" >&2; exit 1; }
}

# tee would hide that hws failed.
compare() { # file, arguments of hws compare
    table=$1
    shift
    "$hws" compare "$@" >"$table" || exit 1
    cat "$table"
}

# A plan with so many features in the first stage, and as many times fewer in the others.
narrow_plan() { # CACHE FEATURES
    awk -v features="$2" '{ if (match($0, /"features": [0-9]+/)) {
        now = substr($0, RSTART + 12, RLENGTH - 12); if (!first) first = now
        sub(/"features": [0-9]+/, "\"features\": " int(now * features / first)) } print }' \
        "$1/plans.json" >"$1/plans.json.new"
    mv "$1/plans.json.new" "$1/plans.json"
}
