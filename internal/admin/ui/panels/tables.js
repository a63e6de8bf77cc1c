// Tables with their figures since the start.

import { field, h, setText, table } from '../dom.js';
import { bytes, count, duration, percent, term } from '../format.js';

const maxRows = 100;

export function panel(app) {
  let all = [];
  const behind = (t, title, pick, decisions) => ({
    title: `${title} of table ${t.table} of ${t.service}, since the start`,
    path: 'api/v1/report?format=json',
    pick: (r) => pick(r.services.find((s) => s.name === t.service)?.tables?.find((o) => o.table === t.table) ?? {}),
    log: `${term('service', t.service)} ${term('table', t.table)}` + decisions,
  });
  const time = (title, member, quantile, filter) => ({
    title, number: true, sort: (t) => t[member]?.[quantile],
    cell: (t) => ({ text: duration(t[member]?.[quantile]), behind: behind(t, title, (o) => o[member], filter(t[member]?.[quantile])) }),
  });
  const longer = (name) => (seconds) => (seconds == null ? '' : ` ${name}>${Math.ceil(seconds * 1e6)}us`);
  const misses = (t) => t.requests - ['hit', 'hit-negative', 'hit-stale', 'write', 'pass', 'local', 'none', 'cache-fault', ...Object.keys(t.decisions).filter((d) => d.startsWith('bypass'))]
    .reduce((sum, d) => sum + (t.decisions[d] ?? 0), 0);
  const list = table({
    caption: 'Requests by table, since the start', show: app.show, key: (t) => JSON.stringify([t.service, t.table]), empty: 'No table, or none that matches.',
    columns: [
      { title: 'Table', cell: (t) => t.table, sort: (t) => t.table },
      { title: 'Service', cell: (t) => t.service, sort: (t) => t.service },
      { title: 'Requests', number: true, sort: (t) => t.requests, cell: (t) => ({ text: count(t.requests), behind: behind(t, 'Requests', (o) => o.decisions, '') }) },
      { title: 'Misses', number: true, sort: misses, cell: (t) => ({ text: count(misses(t)), behind: behind(t, 'Misses', (o) => o.decisions, ' decision=miss*,revalidated,coalesced,partial') }) },
      { title: 'Hit ratio', number: true, sort: (t) => t.hit_ratio, cell: (t) => ({ text: percent(t.hit_ratio), behind: behind(t, 'Hit ratio', (o) => o, ' decision=hit*,miss*') }) },
      time('Hit p50', 'hit_seconds', 'p50', longer('time')),
      time('Hit p99', 'hit_seconds', 'p99', longer('time')),
      time('Origin p50', 'origin_seconds', 'p50', longer('origin')),
      time('Origin p99', 'origin_seconds', 'p99', longer('origin')),
      { title: 'Sent', number: true, sort: (t) => t.sent_bytes, cell: (t) => ({ text: bytes(t.sent_bytes), behind: behind(t, 'Bytes sent', (o) => o, '') }) },
      { title: 'Why?', cell: (t) => ({ text: 'Explain', label: `Explain a request for table ${t.table} of ${t.service}`, action: () => app.fill('explain', { service: t.service, table: t.table }) }) },
    ],
  });
  const only = h('input', { type: 'search', maxlength: 255, oninput: draw });
  const more = h('p', { class: 'muted' });

  function draw() {
    const wanted = only.value.trim().toLowerCase();
    const matching = all.filter((t) => t.table.toLowerCase().includes(wanted)), shown = matching.slice(0, maxRows);
    list.update(shown);
    setText(more, matching.length > shown.length ? `${matching.length - shown.length} more with fewer requests; find them by their name.` : '');
  }

  return {
    id: 'tables', title: 'Tables', wide: true,
    element: h('div', {}, h('div', { class: 'controls' }, field('Tables with this in their name', only)), list.element, more),
    report(report) {
      all = report.services.flatMap((s) => (s.tables ?? []).map((t) => ({ ...t, service: s.name }))).sort((a, b) => b.requests - a.requests);
      draw();
      return all.length > 0;
    },
  };
}
