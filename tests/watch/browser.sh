#!/bin/sh
# hws watch in headless Chromium: a run in progress appears, its curves grow while the page is open, the console is silent.
# usage: browser.sh HWS
set -u
program=$1
browser=${CHROMIUM:-chromium}
work=$(mktemp -d) || exit 1
served=""
trap '[ -z "$served" ] || kill "$served" 2>/dev/null; rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# A run that is begun and stopped has all files of one in progress; epochs are added to its history by hand.
"$program" train digits:400,100 --model mlp-1-16 --batch 20 --epochs 40 --threads 1 --quiet --out "$work/whole" 2>/dev/null ||
    fail "the run failed"
cp -r "$work/whole" "$work/run"
cp "$work/run/history.csv" "$work/history"
show_epochs() { # as a trainer does: whole or not at all
    head -n $(($1 + 1)) "$work/history" >"$work/next" && mv "$work/next" "$work/run/history.csv"
}
show_epochs 2

"$program" watch "$work/run" "$work/whole" --port 0 >"$work/address" 2>&1 &
served=$!
for _ in $(seq 600); do
    grep -q '^http' "$work/address" && break
    sleep 0.1
done
address=$(sed -n 's/^\(http[^ ]*\).*/\1/p' "$work/address")
[ -n "$address" ] || fail "hws watch does not say where it is"

# The browser makes its own time pass as fast as its requests are answered, so that it asks many times in a few seconds.
# browse WIDTH: the page as the browser has it after some polls, while epochs are added, in $work/dom; its log in $work/log.
browse() {
    rm -rf "$work/profile"
    timeout 300 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync --user-data-dir="$work/profile" \
        --window-size="$1",1000 --enable-logging=stderr --v=0 --virtual-time-budget=400000 --dump-dom "$address" >"$work/dom" 2>"$work/log" &
    page=$!
    epoch=2
    while kill -0 $page 2>/dev/null; do
        [ $epoch -ge 39 ] || epoch=$((epoch + 1))
        show_epochs $epoch
        sleep 0.1
    done
    wait $page || fail "the browser ended with $?"
}

for width in 1280 500; do
    show_epochs 2
    browse $width
    ! grep CONSOLE "$work/log" || fail "the console is not silent at $width"
    grep -q 'data-updates="\([3-9]\|[1-9][0-9]\)"' "$work/dom" ||
        fail "the page did not follow: $(grep -o 'data-updates="[0-9]*"' "$work/dom")"
    grep -q 'data-e="1|2|3|4|5' "$work/dom" || fail "the curves have not grown"
    grep -q 'of 40</td>' "$work/dom" || fail "the page does not say how far the run is"
    grep -q '<td>finished</td>' "$work/dom" || fail "the page does not say that the other run is finished"
    grep -q 'data:image/png;base64' "$work/dom" || fail "there are no pictures"
done

kill -TERM "$served" # scripts ignore INT in the background
wait "$served"
code=$?
served=""
[ $code -eq 0 ] || fail "hws watch ended with $code"

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
