// Services with their present rates.

import { h, table } from '../dom.js';
import { bytes, count, percent, rate, term } from '../format.js';

export function panel(app) {
  let services = [], live = new Map(), seconds = 1;

  const report = (s, title, pick) => ({ title, path: 'api/v1/report?format=json', pick: (r) => pick(r.services.find((o) => o.name === s.name) ?? {}) });
  const recent = (s, name, log) => ({
    title: `Requests of ${s.name}: ${name}, in steps of 10 s`,
    path: `api/v1/history?service=${encodeURIComponent(s.name)}&since=1h`,
    pick: (all) => all.points.slice(-30).map((p) => ({ time: p.time, seconds: p.seconds, [name]: p[name] })),
    log: term('service', s.name) + log,
  });
  const persecond = (title, name, log) => ({
    title, number: true,
    sort: (s) => live.get(s.name)?.[name] ?? 0,
    cell: (s) => ({ text: rate((live.get(s.name)?.[name] ?? 0) / seconds), behind: recent(s, name, log) }),
  });
  const now = (title, name, pick) => ({
    title, number: true,
    sort: (s) => live.get(s.name)?.[name] ?? 0,
    cell: (s) => ({ text: count(live.get(s.name)?.[name] ?? 0), behind: report(s, `${title} of ${s.name}`, pick) }),
  });
  const rows = table({
    caption: 'Requests per second, of the last second', show: app.show, key: (s) => s.name, empty: 'There are no services.',
    columns: [
      { title: 'Service', cell: (s) => ({ text: s.name, behind: report(s, `Service ${s.name}`, (all) => all) }), sort: (s) => s.name },
      { title: 'Type', cell: (s) => s.type, sort: (s) => s.type },
      { title: 'State', cell: (s) => (s.ready ? { text: 'ready', class: 'good' } : { text: s.trouble ?? 'listener down', class: 'bad' }) },
      persecond('Hits', 'hits', ' decision=hit*'),
      persecond('Misses', 'misses', ' decision=miss*,revalidated,coalesced,partial'),
      persecond('Writes', 'writes', ' decision=write'),
      persecond('Other', 'other', ' decision=bypass*,pass,local,none,cache-fault'),
      persecond('Errors', 'errors', ' status>=500'),
      { title: 'Hit ratio now', number: true, sort: (s) => live.get(s.name)?.hit_ratio, cell: (s) => ({ text: percent(live.get(s.name)?.hit_ratio), behind: recent(s, 'hit_ratio', ' decision=hit*,miss*') }) },
      { title: 'since start', number: true, sort: (s) => s.hit_ratio, cell: (s) => ({ text: percent(s.hit_ratio), behind: report(s, `Requests of ${s.name} by decision, since the start`, (all) => all.decisions) }) },
      now('At the origin', 'in_flight', (all) => all.origin),
      now('Connections', 'connections', (all) => ({ listen: all.listen, connections: all.connections })),
      {
        title: 'Memory', number: true, sort: (s) => s.cache.bytes,
        cell: (s) => ({ text: bytes(s.cache.bytes) + (s.cache.shared ? ' (shared)' : ''), behind: report(s, `Memory of ${s.name}`, (all) => all.cache) }),
      },
    ],
  });
  return {
    id: 'services', title: 'Services', wide: true, element: h('div', {}, rows.element),
    report(all) {
      services = all.services;
      rows.update(services);
    },
    event(event) {
      live = new Map(event.services.map((s) => [s.service, s]));
      seconds = event.seconds || 1;
      rows.update(services);
    },
  };
}
