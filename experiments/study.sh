# What experiments/fetal.sh and experiments/brats.sh share: jobs that run side by side, each on one thread, and a page. Sourced.
#
# A study defines functions, calls study_begin "$@", then for each stage `job FUNCTION WORDS...` as often as it likes and
# `stage TITLE`, which runs the jobs. A job is this script called again (--job), so that functions and variables are there.
# What was done is kept: runs are resumed, predictions that are there are left alone.
#
# In the environment: JOBS (as many as processors), EPOCHS (1000), EPOCH_LENGTH (250), BATCH (the plan's), WEIGHTS (best or
# final), HWS (the program).

export LC_ALL=C # awk and printf must read and write numbers as hws does
. "$root/experiments/side_by_side.sh"

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
    [ -n "$DRY" ] || [ -d "$DATASET" ] || study_fail "there is no folder $DATASET"
    JOBS=${JOBS:-$(nproc)} EPOCHS=${EPOCHS:-1000} EPOCH_LENGTH=${EPOCH_LENGTH:-250} BATCH=${BATCH:-0} WEIGHTS=${WEIGHTS:-best}
    [ -z "$DRY" ] || { EPOCHS=2 EPOCH_LENGTH=8 BATCH=2; }
    mkdir -p "$OUT/logs"
    # Absolute, since steps change into folders.
    OUT=$(cd "$OUT" && pwd)
    case $HWS in /*) ;; *) HWS=$(pwd)/$HWS ;; esac
    if [ -n "$DRY" ]; then DATASET=$OUT/data; else DATASET=$(cd "$DATASET" && pwd); fi
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
    rm -f "$OUT/failed"
    echo "$STAGE: $TOTAL jobs, $JOBS at a time"
    side_by_side "$JOBS" "$OUT/jobs" sh "$script" --job
    [ "$(wc -l <"$OUT/done")" -eq "$TOTAL" ] || study_fail "$STAGE failed; the same command goes on from here"
    : >"$OUT/jobs"
}

# After a failure no further job begins; those that run are waited for.
study_job() { # a line of the jobs
    [ ! -e "$OUT/failed" ] || exit 1
    set -- $1
    log=$OUT/logs/$(echo "$*" | tr ' /' '--').log
    "$@" >"$log" 2>&1 || { : >"$OUT/failed"; echo "FAILED: $* (see $log)" >&2; tail -n 3 "$log" >&2; exit 1; }
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
    set -- --pred "$2" --ref "$3" --images "$4" --out "$OUT/evaluations/$1"
    [ ! -e "$DATASET/groups.csv" ] || set -- "$@" --groups "$DATASET/groups.csv"
    "$HWS" evaluate "$@" --hd95 --threads 1 ${REGIONS:+--regions "$REGIONS"} --quiet
}

has_test() { [ -d "$DATASET/imagesTs" ] && [ -d "$DATASET/labelsTs" ]; }

# ---- the page -------------------------------------------------------------------------------------------------------

page_begin() { # title
    page=$OUT/page.html
    cat >"$page.part" <<END
<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>$1</title>
<meta name="viewport" content="width=device-width">
<style>:root{color-scheme:light dark;--ink:#222;--soft:#555;--paper:#fff;--box:#f6f6f4;--line:#ddd}
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--soft:#aaa;--paper:#16171a;--box:#212327;--line:#3a3d42}}
body{font:16px/1.5 sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}
pre,.scroll{overflow-x:auto}pre{font-size:13px;line-height:1.35;background:var(--box);padding:1rem}
table{border-collapse:collapse}th,td{text-align:left;padding:.2rem 1.2rem .2rem 0;border-bottom:1px solid var(--line)}
figure{display:inline-block;margin:0 1rem 1rem 0;vertical-align:top;max-width:100%}figcaption{font-size:14px;color:var(--soft)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));gap:1rem;margin-bottom:1.5rem}.pair figure{margin:0}.pair img{width:100%}
svg{max-width:100%;height:auto}.line{stroke:var(--line)}</style>
<h1>$1</h1>
END
    [ -z "$DRY" ] || echo "<p><b>A dry run on synthetic phantoms with $EPOCHS epochs of $EPOCH_LENGTH iterations: it shows that every
step works. The numbers mean nothing.</b></p>" >>"$page.part"
}

escaped() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

page_table() { # title, file
    { echo "<h2>$1</h2><pre>"; escaped <"$2"; echo "</pre>"; } >>"$page.part"
}

# What the dataset is made of.
page_composition() { # title
    [ -e "$DATASET/groups.csv" ] || return 0
    for set in train test; do
        folder=$DATASET/labelsTr
        [ $set = train ] || folder=$DATASET/labelsTs
        ls "$folder" 2>/dev/null | sed "s/[.]nii.*//; s/^/$set,/"
    done >"$OUT/sets"
    { echo "<h2>$1</h2>"
        awk -f "$root/experiments/csv.awk" -f "$root/experiments/composition.awk" "$OUT/sets" "$DATASET/groups.csv"; } >>"$page.part"
}

caption() { # evaluation, case, the method's name
    awk -v method="$3" -f "$root/experiments/csv.awk" -f "$root/experiments/captions.awk" "$OUT/evaluations/$1/cases.csv" |
        awk -F '\t' -v case="$2" '$1 == case { print $2 }'
}

# The worst cases of the first method, the worst first, by all methods that have a picture of them, side by side.
page_pictures() { # title, names of the methods, separated by commas, then their evaluations
    echo "<h2>$1</h2><p>Rows are planes, each in the slice with the most wrong voxels.</p>" >>"$page.part"
    method_names=$2
    shift 2
    sed 1d "$OUT/evaluations/$1/worst.csv" | cut -d, -f2 | head -n 4 | while IFS= read -r case_name; do
        echo '<div class="pair">' >>"$page.part"
        place=0
        for evaluation in "$@"; do
            place=$((place + 1))
            file=$OUT/evaluations/$evaluation/worst/$case_name.png
            [ -e "$file" ] || continue
            printf '<figure><img alt="%s" src="data:image/png;base64,%s"><figcaption>%s</figcaption></figure>\n' "$case_name" \
                "$(base64 "$file" | tr -d '\n')" \
                "$(caption "$evaluation" "$case_name" "$(echo "$method_names" | cut -d, -f$place)")" >>"$page.part"
        done
        echo '</div>' >>"$page.part"
    done
}

# The worst case of each group, by all methods, with a slider over the slices: hws report, a page of its own.
page_report() { # names of the methods, then their evaluations
    report_names=$1
    shift
    images=$DATASET/imagesTs
    has_test || images=$DATASET/imagesTr
    [ ! -e "$DATASET/groups.csv" ] || set -- "$@" --groups "$DATASET/groups.csv"
    (cd "$OUT/evaluations" && "$HWS" report "$@" --names "$report_names" --images "$images" --out "$OUT/report.html") >/dev/null
    echo '<p>The worst case of each group, by all methods, slice by slice: <a href="report.html">report.html</a>.</p>' >>"$page.part"
}

page_boxes() { # title, column of the groups, then evaluations
    title=$1 column=$2
    shift 2
    { echo "<h2>$title</h2>"; for name in "$@"; do sed "s|^|$name,|" "$OUT/evaluations/$name/cases.csv"; done |
        awk -v column="$column" -f "$root/experiments/csv.awk" -f "$root/experiments/box_plots.awk"; } >>"$page.part"
}

page_end() {
    echo "</html>" >>"$page.part"
    mv "$page.part" "$page"
    echo "page: $page"
}
