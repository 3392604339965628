# What experiments/fetal.sh and experiments/brats.sh share: jobs that run side by side, each on one thread, and a page. Sourced.
#
# A study defines functions, calls study_begin "$@", then for each stage `job FUNCTION WORDS...` as often as it likes and
# `stage TITLE`, which runs the jobs. A job is this script called again (--job), so that functions and variables are there.
# What was done is kept: runs are resumed, predictions that are there are left alone.
#
# In the environment: JOBS (as many as processors), EPOCHS (1000), EPOCH_LENGTH (250), BATCH (the plan's), WEIGHTS (best or
# final), HWS (the program).

study_usage() {
    sed -n '2,/^set -eu/{/^set -eu/d; s/^# \{0,1\}//; p}' "$script"
    exit "$1"
}

study_fail() {
    echo "$(basename "$script"): $*" >&2
    exit 1
}

study_begin() {
    [ "${1:-}" != --job ] || { shift; study_job "$1"; exit; }
    DRY= DATASET=
    for word in "$@"; do
        case $word in
        --help | -h) study_usage 0 ;;
        --dry-run) DRY=1 ;;
        -*) study_usage 2 >&2 ;;
        *) [ -z "$DATASET" ] || [ -n "${OUT:-}" ] || OUT=$word; DATASET=${DATASET:-$word} ;;
        esac
    done
    # A dry run makes its own data: the only name is that of the folder.
    [ -z "$DRY" ] || { OUT=${DATASET:-${OUT:-$root/experiments/out/$study-dry-run}}; DATASET=$OUT/data; }
    [ -n "$DATASET" ] || study_usage 2 >&2
    OUT=${OUT:-$root/experiments/out/$study}
    HWS=${HWS:-$root/build/release/cli/hws}
    [ -x "$HWS" ] || study_fail "there is no program at $HWS; run make first"
    JOBS=${JOBS:-$(nproc)} EPOCHS=${EPOCHS:-1000} EPOCH_LENGTH=${EPOCH_LENGTH:-250} BATCH=${BATCH:-0} WEIGHTS=${WEIGHTS:-best}
    [ -z "$DRY" ] || { EPOCHS=2 EPOCH_LENGTH=8 BATCH=2; }
    mkdir -p "$OUT/logs"
    OUT=$(cd "$OUT" && pwd)
    [ -z "$DRY" ] || DATASET=$OUT/data
    : >"$OUT/jobs"
    export DRY DATASET OUT HWS EPOCHS EPOCH_LENGTH BATCH WEIGHTS OMP_WAIT_POLICY=passive
}

job() { echo "$*" >>"$OUT/jobs"; }

duration() { # seconds
    if [ "$1" -lt 120 ]; then echo "$1 s"; elif [ "$1" -lt 7200 ]; then echo "$(($1 / 60)) min"; else echo "$(($1 / 3600)) h"; fi
}

stage() { # title
    STAGE=$1 TOTAL=$(wc -l <"$OUT/jobs") BEGAN=$(date +%s)
    export STAGE TOTAL BEGAN
    : >"$OUT/done"
    echo "$STAGE: $TOTAL jobs, $JOBS at a time"
    xargs -P "$JOBS" -I '{}' sh "$script" --job '{}' <"$OUT/jobs" || study_fail "$STAGE failed; the same command goes on from here"
    : >"$OUT/jobs"
}

study_job() { # a line of the jobs
    set -- $1
    log=$OUT/logs/$(echo "$*" | tr ' /' '--').log
    "$@" >"$log" 2>&1 || { echo "FAILED: $* (see $log)" >&2; tail -n 3 "$log" >&2; exit 255; }
    echo "$*" >>"$OUT/done"
    finished=$(wc -l <"$OUT/done")
    left=$((($(date +%s) - BEGAN) * (TOTAL - finished) / finished))
    echo "$STAGE: $finished of $TOTAL, $(duration $left) left: $*"
}

# ---- what jobs do ---------------------------------------------------------------------------------------------------

plan() {
    "$HWS" plan "$DATASET" --out "$OUT/cache"
    # A dry run is about the way, not the network.
    [ -z "$DRY" ] || { sed 's/"features": [0-9]*/"features": 16/' "$OUT/cache/plans.json" >"$OUT/cache/plan.part" &&
        mv "$OUT/cache/plan.part" "$OUT/cache/plans.json"; }
}

train() { # name, options
    name=$1
    shift
    if [ -e "$OUT/runs/$name/config.json" ]; then
        set -- --resume
    else
        mkdir -p "$OUT/runs"
        set -- "$DATASET" --cache "$OUT/cache" --schedule poly-epoch --epochs "$EPOCHS" --epoch-length "$EPOCH_LENGTH" \
            --batch "$BATCH" "$@"
    fi
    "$HWS" train "$@" --threads 1 --quiet --out "$OUT/runs/$name"
}

# The paper averages probabilities, and over mirror images; a dry run has no time for those.
predict_test() { # name, runs
    name=$1
    shift
    "$HWS" predict "$@" --input "$DATASET/imagesTs" --output "$OUT/predictions/$name" --average probabilities \
        --weights "$WEIGHTS" --threads 1 --quiet ${DRY:+--no-mirror}
}

score() { # name, predictions, references, images
    groups=
    [ ! -e "$DATASET/groups.csv" ] || groups="--groups $DATASET/groups.csv"
    "$HWS" evaluate --pred "$2" --ref "$3" --images "$4" --hd95 --threads 1 ${REGIONS:+--regions "$REGIONS"} $groups \
        --out "$OUT/evaluations/$1" --quiet
}

has_test() { [ -d "$DATASET/imagesTs" ] && [ -d "$DATASET/labelsTs" ]; }

# ---- the page -------------------------------------------------------------------------------------------------------

page_begin() { # title
    page=$OUT/page.html
    cat >"$page.part" <<END
<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>$1</title>
<style>body{font:16px/1.5 sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}pre{overflow-x:auto;font-size:13px;line-height:1.35;background:#f6f6f4;padding:1rem}
figure{display:inline-block;margin:0 1rem 1rem 0;vertical-align:top}figure img{height:16rem;image-rendering:pixelated}figcaption{font-size:14px;color:#555}svg{max-width:100%}</style>
<h1>$1</h1>
END
    [ -z "$DRY" ] || echo "<p><b>A dry run on synthetic phantoms with $EPOCHS epochs of $EPOCH_LENGTH iterations: it shows that every
step works. The numbers mean nothing.</b></p>" >>"$page.part"
}

escaped() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

page_table() { # title, file
    { echo "<h2>$1</h2><pre>"; escaped <"$2"; echo "</pre>"; } >>"$page.part"
}

# The worst cases of the first method that all methods have a picture of, or else the worst ones of each, side by side.
page_pictures() { # title, then evaluations
    echo "<h2>$1</h2>" >>"$page.part"
    shift
    first=$1
    shown=0
    for picture in "$OUT/evaluations/$first"/worst/*.png; do
        [ -e "$picture" ] && [ $shown -lt 4 ] || continue
        shown=$((shown + 1))
        for name in "$@"; do
            file=$OUT/evaluations/$name/worst/$(basename "$picture")
            [ -e "$file" ] || continue
            printf '<figure><img alt="" src="data:image/png;base64,%s"><figcaption>%s, %s</figcaption></figure>\n' \
                "$(base64 "$file" | tr -d '\n')" "$(basename "$picture" .png)" "$name" >>"$page.part"
        done
        echo "<br>" >>"$page.part"
    done
}

page_boxes() { # title, column of the groups, then evaluations
    title=$1 column=$2
    shift 2
    { echo "<h2>$title</h2>"; for name in "$@"; do sed "s|^|$name,|" "$OUT/evaluations/$name/cases.csv"; done |
        awk -v column="$column" -f "$root/experiments/box_plots.awk"; } >>"$page.part"
}

page_end() {
    echo "</html>" >>"$page.part"
    mv "$page.part" "$page"
    echo "page: $page"
}
