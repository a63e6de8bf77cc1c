// Hit ratio, requests and latency over the last hour or day.

import { heatMap, ratioChart, stackChart } from '../chart.js';
import { field, figure, h, radios, setOptions } from '../dom.js';
import { count, duration, percent, term } from '../format.js';

const every = 10; // events between two requests

export function panel(app) {
  let since = '1h', kind = 'latency', data = null, waiting = 0, asked = 0;
  const service = h('select', { onchange: load });
  const figures = ['Hit ratio', 'Requests', 'Errors', 'Median', '99th percentile', 'Origin median', 'Origin 99th percentile'].map((title) => ({ title, ...figure(app.show) }));
  const ratio = ratioChart(), requests = stackChart(), heat = heatMap();
  const trouble = h('p', { class: 'bad', role: 'status' });
  const path = () => `api/v1/history?service=${encodeURIComponent(service.value)}&since=${since}`;

  async function load() {
    waiting = 0;
    if (!service.value) return;
    const mine = ++asked;
    try {
      const next = await app.get(path());
      if (mine !== asked) return; // a newer choice is being loaded
      data = next;
      trouble.textContent = '';
      draw();
    } catch (error) {
      if (mine === asked) trouble.textContent = error.message;
    }
  }

  function draw() {
    if (!data) return;
    const t = data.total, of = term('service', data.service), all = t.hits + t.misses + t.writes + t.other;
    const texts = [
      [percent(t.hit_ratio), ' decision=hit*,miss*'], [count(all), ''], [count(t.errors), ' status>=500'],
      ...[data.latency_seconds?.p50, data.latency_seconds?.p99].map((s) => [duration(s), s ? ` time>${Math.ceil(s * 1e6)}us` : '']),
      ...[data.origin_seconds?.p50, data.origin_seconds?.p99].map((s) => [duration(s), s ? ` origin>${Math.ceil(s * 1e6)}us` : '']),
    ];
    figures.forEach((f, i) => f.update(texts[i][0], {
      title: `${f.title} of ${data.service}, ${data.since}`, path: path(), log: of + texts[i][1],
      pick: ({ points, ...rest }) => ({ ...rest, points: `${points.length} points are left out: see the path` }),
    }));
    ratio.draw(data.points);
    requests.draw(data.points);
    heat.draw(data.points, kind, data.bounds_seconds);
  }

  new ResizeObserver(draw).observe(ratio.element);
  return {
    id: 'history', title: 'Hit ratio and latency', wide: true,
    element: h('div', {},
      h('div', { class: 'controls' }, field('Service', service),
        radios('Over the last', [['1h', 'hour'], ['24h', 'day']], (value) => {
          since = value;
          load();
        }),
        radios('Heat map of', [['latency', 'requests'], ['origin_latency', 'waiting for the origin']], (value) => {
          kind = value;
          draw();
        })),
      h('ul', { class: 'figures' }, figures.map((f) => h('li', {}, f.title, ' ', h('b', {}, f.element)))),
      trouble, ratio.element, requests.element, heat.element),
    report(report) {
      setOptions(service, report.services.map((s) => s.name));
      if (!data || data.service !== service.value) load();
      return report.services.length > 0;
    },
    event() {
      if (++waiting >= every) load();
    },
  };
}
