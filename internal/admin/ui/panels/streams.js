// Streams of tables that are followed, and feeds that clients share.

import { h, table } from '../dom.js';
import { bytes, count, duration, term } from '../format.js';

export function panel(app) {
  const behind = (of, title, pick, log) => ({
    title, path: 'api/v1/report?format=json', log, pick: (r) => pick(r.services.find((s) => s.name === of.service) ?? {}),
  });
  const streams = table({
    caption: 'Streams of tables', show: app.show, key: (s) => JSON.stringify([s.service, s.table]),
    columns: [
      { title: 'Table', cell: (s) => s.table, sort: (s) => s.table },
      { title: 'Service', cell: (s) => s.service, sort: (s) => s.service },
      {
        title: 'Lag', number: true, sort: (s) => s.lag_seconds,
        cell: (s) => ({
          text: duration(s.lag_seconds),
          behind: behind(s, `Stream of table ${s.table}`, (o) => o.streams?.find((t) => t.table === s.table), `${term('service', s.service)} ${term('table', s.table)} decision=bypass-lagging`),
        }),
      },
      { title: 'Served', cell: (s) => (s.served ? { text: 'from memory', class: 'good' } : { text: 'from the origin', class: 'warn' }) },
      { title: 'Reader', cell: (s) => s.reader ?? 'this process' },
      { title: 'Trouble', long: true, cell: (s) => ({ text: s.trouble ?? '–', class: s.trouble ? 'bad' : '' }) },
    ],
  });
  const feeds = table({
    caption: 'Feeds that clients share', show: app.show, key: (f) => JSON.stringify([f.service, f.database, f.query, f.origin]),
    columns: [
      { title: 'Database', cell: (f) => f.database, sort: (f) => f.database },
      { title: 'Service', cell: (f) => f.service },
      { title: 'State', cell: (f) => f.state },
      { title: 'Clients', number: true, sort: (f) => f.clients, cell: (f) => ({ text: count(f.clients), behind: behind(f, `Feeds of ${f.service}`, (o) => o.feeds) }) },
      { title: 'Kept', number: true, sort: (f) => f.bytes, cell: (f) => ({ text: bytes(f.bytes), behind: behind(f, `Feeds of ${f.service}`, (o) => o.feeds) }) },
      { title: 'Query', long: true, cell: (f) => f.query.slice(0, 200) || '–' },
    ],
  });
  const one = h('div', {}, streams.element), other = h('div', {}, feeds.element);
  return {
    id: 'streams', title: 'Streams', element: h('div', {}, one, other),
    report(report) {
      const all = (member) => report.services.flatMap((s) => (s[member] ?? []).map((x) => ({ ...x, service: s.name })));
      const followed = all('streams'), shared = all('feeds').slice(0, 50);
      streams.update(followed);
      feeds.update(shared);
      one.hidden = followed.length === 0;
      other.hidden = shared.length === 0;
      return followed.length + shared.length > 0;
    },
  };
}
