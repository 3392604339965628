#!/bin/sh
# The report in headless Chromium: curves and pictures are drawn, tooltips come up, the console is silent.
# usage: browser.sh HWS EXAMPLE_RUNS
set -u
program=$1
example_runs=$2
browser=${CHROMIUM:-chromium}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# browse PAGE WIDTH: leaves the page as the browser has it in $work/dom, what it logs in $work/log.
browse() {
    rm -rf "$work/profile"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync --user-data-dir="$work/profile" \
        --window-size="$2",1000 --enable-logging=stderr --v=0 --dump-dom "file://$1" >"$work/dom" 2>"$work/log" ||
        fail "the browser ended with $? on $1"
}

is_silent() { ! grep CONSOLE "$work/log" || fail "the console of $1 is not silent"; }
finds() { grep -q "data-$1=\"$2\"" "$work/dom" || fail "$1 is not $2: $(grep -o "data-$1=\"[^\"]*\"" "$work/dom")"; }

# A page that measures itself once it is there, and writes what it finds into its body's attributes.
with_probe() {
    sed '$d' "$1" | sed '$d' # the last two lines close the body and the page
    cat <<'END'
<script>
(function () {
  var found = document.body.dataset, all = function (what) { return Array.from(document.querySelectorAll(what)); };
  var wide = function (one) { return one.getBBox().width > 50; };
  found.curves = all('.panels .series .line').filter(wide).length;
  found.bands = all('.panels .band').filter(wide).length;
  found.tall = all('.panels .band').filter(function (one) { return one.getBBox().height > 8; }).length;
  found.boxes = all('.panels .box').filter(function (one) { return one.getBBox().width > 5; }).length;
  found.slices = all('.gallery.large img, .gallery.sheets img').filter(function (one) {
    return one.complete && one.naturalWidth === 200 && one.getBoundingClientRect().width > 150;
  }).length;
  found.dots = all('.panels.wide .mark').filter(function (one) { return one.getBBox().width > 2; }).length;
  found.pictures = all('.gallery img').filter(function (one) { return one.complete && one.naturalWidth === 28; }).length;
  found.views = all('.view').filter(function (one) {
    return one.getBoundingClientRect().width > 80 && /data:image/.test(getComputedStyle(one).backgroundImage);
  }).length;
  var slider = document.querySelector('.plane input');
  if (slider) {
    var view = document.querySelector('.view'), where = function () { return getComputedStyle(view).backgroundPosition; };
    slider.value = 0;
    slider.dispatchEvent(new Event('input'));
    var first = where();
    slider.value = slider.max;
    slider.dispatchEvent(new Event('input'));
    found.slider = first !== where() && slider.closest('.plane').querySelector('output').textContent - 1 === slider.max * 1;
  }
  found.fits = document.documentElement.scrollWidth <= document.documentElement.clientWidth;
  found.outside = performance.getEntriesByType('resource').filter(function (one) { return !/^data:/.test(one.name); }).length;
  var chart = document.querySelector('svg.hover');
  if (!chart) return;
  var box = chart.getBoundingClientRect(), tip = document.querySelector('.tip');
  chart.dispatchEvent(new PointerEvent('pointermove', { clientX: box.right - 12, clientY: box.top + 50 }));
  found.tip = tip.hidden ? 'hidden' : tip.textContent;
  chart.dispatchEvent(new PointerEvent('pointerleave'));
  found.tipafter = tip.hidden ? 'hidden' : 'shown';
})();
</script>
</body>
</html>
END
}

"$example_runs" "$work" && "$program" report "$work/erm" "$work/dro" --out "$work/two.html" >/dev/null &&
    "$program" report "$work/dro" --out "$work/one.html" >/dev/null &&
    "$program" report "$work/segmentation" --out "$work/volumes.html" >/dev/null || fail "no page was written"
"$program" phantom --out "$work/heads" --cases 3 >/dev/null && "$program" evaluate --pred "$work/heads/labelsTr" --ref \
    "$work/heads/labelsTr" --out "$work/scores" --quiet >/dev/null &&
    "$program" report "$work/scores" --out "$work/evaluation.html" >/dev/null || fail "no page of an evaluation"
with_probe "$work/evaluation.html" >"$work/evaluation_probed.html"
with_probe "$work/two.html" >"$work/two_probed.html"
with_probe "$work/one.html" >"$work/one_probed.html"
with_probe "$work/volumes.html" >"$work/volumes_probed.html"

for page in one two volumes evaluation; do
    browse "$work/$page.html" 1280
    is_silent $page
done
for width in 1280 500; do
    browse "$work/two_probed.html" $width
    is_silent "two at $width"
    finds curves 14
    finds bands 14
    finds dots 20
    finds pictures 40
    finds fits true
    finds outside 0
    finds tip 'epoch 6ERM95.0&nbsp;%DRO β=1095.0&nbsp;%'
    finds tipafter hidden
    browse "$work/one_probed.html" $width
    is_silent "one at $width"
    finds curves 7
    finds bands 7
    finds dots 10
    finds pictures 20
    finds fits true
    browse "$work/volumes_probed.html" $width
    is_silent "volumes at $width"
    finds curves 7
    finds bands 7
    finds tall 7
    finds boxes 4
    finds slices 10
    finds dots 2
    finds fits true
    finds outside 0
    finds tip 'epoch 8DRO β=10080.0&nbsp;%'
    browse "$work/evaluation_probed.html" $width
    is_silent "evaluation at $width"
    finds slider true
    finds fits true
    finds outside 0
    grep -q 'data-views="[1-9]' "$work/dom" || fail "no views of cases at $width"
done

# The check of the console can fail at all.
echo '<script>console.log("hello")</script>' >"$work/loud.html"
browse "$work/loud.html" 500
grep -q CONSOLE "$work/log" || fail "the browser does not log its console, so silence means nothing"

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
