// Charts as SVG. Each draws itself at the width that it has.

import { h } from './dom.js';
import { clock, count, duration, percent, rate } from './format.js';

const left = 52, right = 8, height = 90, maxColumns = 72;

// frame is a figure with a caption and a picture, which assistive technology reads as a text.
function frame(caption) {
  const picture = h('svg:svg', { role: 'img' });
  const element = h('figure', {}, h('figcaption', {}, caption), picture);
  return {
    element,
    set(text, tall, marks) {
      picture.setAttribute('aria-label', text);
      picture.setAttribute('viewBox', `0 0 ${width(element)} ${tall}`);
      picture.setAttribute('height', tall);
      picture.replaceChildren(...marks);
    },
  };
}

function width(element) { return Math.max(240, element.clientWidth || 600); }

function text(x, y, anchor, value) {
  return h('svg:text', { x, y, 'text-anchor': anchor }, value);
}

function line(x1, y1, x2, y2) {
  return h('svg:line', { x1, y1, x2, y2, class: 'axis' });
}

// columns merges points, so that there are not too many.
function columns(points) {
  const each = Math.ceil(points.length / maxColumns), list = [];
  for (let i = 0; i < points.length; i += each) list.push(merge(points.slice(i, i + each)));
  return list;
}

function merge(points) {
  const sum = (name) => points.reduce((n, p) => n + p[name], 0);
  const buckets = (name) => points.reduce((all, p) => p[name]?.map((n, i) => n + (all[i] ?? 0)) ?? all, []);
  const end = new Date(points.at(-1).time).getTime(), seconds = sum('seconds');
  return {
    begin: end - seconds * 1000, end, seconds, hits: sum('hits'), misses: sum('misses'), writes: sum('writes'), other: sum('other'),
    latency: buckets('latency'), origin_latency: buckets('origin_latency'),
  };
}

// times returns the scale of the time, from the first point to the last, and its marks.
function times(all, wide, tall) {
  const begin = all[0].begin, end = all.at(-1).end;
  const x = (time) => left + ((time - begin) / Math.max(1, end - begin)) * (wide - left - right);
  const marks = [text(left, tall + 14, 'start', clock(begin)), text(wide - right, tall + 14, 'end', clock(end))];
  if (wide > 420) marks.push(text((left + wide - right) / 2, tall + 14, 'middle', clock((begin + end) / 2)));
  return { x, marks };
}

// ratioChart draws the hit ratio as a line, which is interrupted where nothing was read.
export function ratioChart() {
  const f = frame('Hit ratio');
  return {
    element: f.element,
    draw(points) {
      const all = columns(points), wide = width(f.element), { x, marks } = times(all, wide, height);
      const y = (share) => 6 + (1 - share) * (height - 6);
      for (const share of [0, 0.5, 1]) marks.push(line(left, y(share), wide - right, y(share)), text(left - 6, y(share) + 4, 'end', share * 100 + ' %'));
      let path = '', open = false;
      const ratios = all.map((c) => (c.hits + c.misses > 0 ? c.hits / (c.hits + c.misses) : null));
      all.forEach((c, i) => {
        if (ratios[i] === null) {
          open = false;
          return;
        }
        path += `${open ? 'L' : 'M'}${x(c.begin).toFixed(1)} ${y(ratios[i]).toFixed(1)}L${x(c.end).toFixed(1)} ${y(ratios[i]).toFixed(1)}`;
        open = true;
      });
      marks.push(h('svg:path', { d: path, class: 'curve' }));
      const present = ratios.filter((r) => r !== null);
      f.set(present.length === 0 ? 'Hit ratio: nothing was read.'
        : `Hit ratio from ${clock(all[0].begin)} to ${clock(all.at(-1).end)}: last ${percent(present.at(-1))}, lowest ${percent(Math.min(...present))}, highest ${percent(Math.max(...present))}.`,
      height + 18, marks);
    },
  };
}

const classes = ['hits', 'misses', 'writes', 'other'];

// stackChart draws the requests per second by class, one above the other.
export function stackChart() {
  const f = frame(['Requests per second: ', classes.map((c) => [h('span', { class: 'key ' + c }), c + ' '])].flat(2));
  return {
    element: f.element,
    draw(points) {
      const all = columns(points), wide = width(f.element), { x, marks } = times(all, wide, height);
      const sum = (c) => classes.reduce((n, name) => n + c[name], 0) / (c.seconds || 1);
      const most = Math.max(...all.map(sum)), scale = (height - 6) / (most || 1);
      marks.push(line(left, height, wide - right, height), text(left - 6, 12, 'end', rate(most)), text(left - 6, height + 4, 'end', '0'));
      for (const c of all) {
        let y = height;
        for (const name of classes) {
          const tall = (c[name] / (c.seconds || 1)) * scale;
          if (tall <= 0) continue;
          y -= tall;
          marks.push(h('svg:rect', { x: x(c.begin), y, width: Math.max(1, x(c.end) - x(c.begin) - 1), height: tall, class: 'fill-' + name },
            h('svg:title', {}, `${clock(c.begin)}: ${rate(c[name] / (c.seconds || 1))} ${name} per second`)));
        }
      }
      f.set(`Requests per second: at most ${rate(most)}. In all ${classes.map((name) => `${count(all.reduce((n, c) => n + c[name], 0))} ${name}`).join(', ')}.`, height + 18, marks);
    },
  };
}

const row = 13;

// heatMap draws the distribution of times: a column for a time, a row for a bucket.
export function heatMap() {
  const f = frame('Latency: darker (lighter on a dark page) is more requests');
  return {
    element: f.element,
    draw(points, kind, bounds) {
      const all = columns(points), wide = width(f.element), sums = merge(points)[kind];
      const first = sums.findIndex((n) => n > 0), last = sums.findLastIndex((n) => n > 0);
      if (first < 0) {
        f.set('Latency: no requests.', 24, [text(left, 16, 'start', 'No requests')]);
        return;
      }
      const rows = last - first + 1, tall = rows * row, { x, marks } = times(all, wide, tall);
      const most = Math.log(1 + Math.max(...all.flatMap((c) => c[kind])));
      const name = (b) => (b < bounds.length ? `up to ${duration(bounds[b])}` : `above ${duration(bounds.at(-1))}`);
      for (let b = first; b <= last; b++) {
        const y = (last - b) * row;
        marks.push(h('svg:rect', { x: left, y, width: wide - left - right, height: row - 1, class: 'fill-empty' }));
        marks.push(text(left - 6, y + row - 3, 'end', b < bounds.length ? duration(bounds[b]) : 'more'));
        for (const c of all) {
          const n = c[kind][b] ?? 0;
          if (n === 0) continue;
          marks.push(h('svg:rect', {
            x: x(c.begin), y, width: Math.max(1, x(c.end) - x(c.begin) - 1), height: row - 1, class: 'heat' + Math.min(7, 1 + Math.floor((6.99 * Math.log(1 + n)) / most)),
          }, h('svg:title', {}, `${clock(c.begin)}, ${name(b)}: ${count(n)}`)));
        }
      }
      const busiest = sums.indexOf(Math.max(...sums));
      f.set(`Latency: most requests took ${name(busiest)}; the longest ${name(last)}.`, tall + 18, marks);
    },
  };
}
