/* Asks every two seconds whether the runs have changed, and shows them anew if so. The page is complete without it. */
(function () {
  'use strict';
  var main = document.querySelector('main'), tag = null, received = Date.now(), updates = 0;

  function words(seconds) {
    var s = Math.round(seconds);
    if (s < 100) return s + ' s';
    if (s < 6000) return Math.round(s / 60) + ' min';
    return (s / 3600).toFixed(1) + ' h';
  }

  function tick() {
    var since = (Date.now() - received) / 1000;
    main.querySelectorAll('[data-left]').forEach(function (cell) {
      cell.textContent = words(Math.max(0, Number(cell.getAttribute('data-left')) - since));
    });
    main.querySelectorAll('[data-quiet]').forEach(function (cell) {
      cell.textContent = words(Number(cell.getAttribute('data-quiet')) + since);
    });
  }

  function open() { return Array.prototype.map.call(main.querySelectorAll('details'), function (one) { return one.open; }); }

  function show(html) {
    var unfolded = open();
    main.innerHTML = html;
    main.setAttribute('data-updates', ++updates);
    main.querySelectorAll('details').forEach(function (one, k) { if (unfolded[k]) one.open = true; });
    received = Date.now();
    window.hwsCharts(main);
    tick();
  }

  function lost(is) { var note = document.getElementById('lost'); if (note) note.hidden = !is; }

  function ask() {
    fetch('/live', { cache: 'no-store', headers: tag ? { 'If-None-Match': tag } : {} }).then(function (answer) {
      if (answer.status === 304) return null;
      if (!answer.ok) throw new Error('status ' + answer.status);
      return answer.text().then(function (html) { tag = answer.headers.get('ETag'); show(html); });
    }).then(function () { lost(false); }, function () { lost(true); }).then(function () {
      setTimeout(ask, document.hidden ? 10000 : 2000);
    });
  }

  setInterval(tick, 1000);
  tick();
  ask();
})();
