/* Shows the values of all lines at the epoch (or what else the x axis has) nearest to the pointer, and moves through the slices of cases. The page is
   complete without it. */
(function () {
  'use strict';
  var tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  tip.setAttribute('aria-hidden', 'true');
  document.body.appendChild(tip);

  function read(group) {
    var list = function (name) { return group.getAttribute(name).split('|'); };
    return { name: group.getAttribute('data-name'), style: group.getAttribute('class'), epochs: list('data-e'),
             labels: list(group.hasAttribute('data-l') ? 'data-l' : 'data-e'), x: list('data-x').map(Number), texts: list('data-t') };
  }

  function nearest(all, x) {
    var best = null, distance = Infinity;
    all.forEach(function (one) {
      one.x.forEach(function (at, k) {
        if (Math.abs(at - x) < distance) { distance = Math.abs(at - x); best = { epoch: one.epochs[k], label: one.labels[k], x: at }; }
      });
    });
    return best;
  }

  function fill(all, epoch, title) {
    tip.textContent = title;
    all.forEach(function (one) {
      var k = one.epochs.indexOf(epoch);
      if (k < 0) return;
      var row = document.createElement('div'), dot = document.createElement('i'), value = document.createElement('span');
      row.className = one.style;
      value.textContent = one.texts[k];
      row.append(dot, one.name, value);
      tip.append(row);
    });
  }

  function place(box, x) {
    var width = tip.offsetWidth, left = x + 14;
    if (left + width > document.documentElement.clientWidth - 4) left = x - 14 - width;
    tip.style.left = Math.max(4, left) + window.scrollX + 'px';
    tip.style.top = box.top + window.scrollY + 6 + 'px';
  }

  function watch(svg) {
    var all = null, guide = svg.querySelector('.guide');
    function hide() { tip.hidden = true; guide.setAttribute('hidden', ''); }
    function show(event) {
      all = all || Array.prototype.map.call(svg.querySelectorAll('[data-e]'), read);
      var box = svg.getBoundingClientRect(), unit = box.width / svg.viewBox.baseVal.width;
      var best = nearest(all, (event.clientX - box.left) / unit);
      if (!best) return;
      fill(all, best.epoch, svg.getAttribute('data-axis') + ' ' + best.label);
      tip.hidden = false;
      guide.removeAttribute('hidden');
      guide.setAttribute('transform', 'translate(' + best.x + ' 0)');
      place(box, box.left + best.x * unit);
    }
    svg.addEventListener('pointermove', show);
    svg.addEventListener('pointerdown', show);
    svg.addEventListener('pointerleave', hide);
  }

  /* For pages whose charts are replaced (live.js). */
  window.hwsCharts = function (root) {
    tip.hidden = true;
    root.querySelectorAll('svg.hover').forEach(watch);
  };
  window.hwsCharts(document);

  document.querySelectorAll('.plane').forEach(function (plane) {
    var slider = plane.querySelector('input'), number = plane.querySelector('output');
    function show() {
      plane.style.setProperty('--slice', slider.value);
      number.textContent = Number(slider.value) + 1;
    }
    slider.addEventListener('input', show);
    show(); /* a browser may have kept where the slider was */
  });
})();
