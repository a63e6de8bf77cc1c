// What requests have cost and saved at DynamoDB, by table or another property.

import { h, radios, setText, table } from '../dom.js';
import { count, percent, term } from '../format.js';

const since = '24h', maxRows = 50, every = 10_000;
const groups = { table: 'table', operation: 'operation', shape: 'query', principal: 'client' };

export const hasLedger = document.querySelector('meta[name=kasoku-ledger]').content === 'present';

export function panel(app) {
  let by = 'table', latest = 0;
  const path = () => 'api/v1/ledger?' + new URLSearchParams({ since, by: 'service,' + by });
  const name = (r) => r[by] || (r.total ? 'Total' : '–');
  const seconds = (n) => (n == null ? '–' : (n < 0 ? '−' : '') + count(Math.round(Math.abs(n))) + ' s');
  const number = (title, value, text) => ({
    title, number: true, sort: value,
    cell: (r) => ({
      text: value(r) == null ? '–' : text(value(r)),
      behind: {
        title: `${title}: ${name(r)} of ${r.service ?? 'all services'}, of the last ${since}`, path: path(),
        pick: (all) => (r.total ? all.total : all.rows.find((o) => o.service === r.service && o[by] === r[by])),
        log: r.service && term('service', r.service) + (by === 'table' && r.table ? ' ' + term('table', r.table) : ''),
      },
    }),
  });
  const units = (n) => count(Math.round(n));
  const list = table({
    caption: `Capacity units of the last ${since}`, show: app.show, key: (r) => JSON.stringify([r.service, r[by], r.total]), empty: 'No request was accounted for yet.',
    columns: [
      { title: 'Of', long: true, cell: name, sort: name },
      { title: 'Service', cell: (r) => r.service ?? '', sort: (r) => r.service ?? '' },
      number('Read', (r) => r.read_units, units),
      number('Written', (r) => r.write_units, units),
      number('Saved', (r) => r.saved_units, units),
      number('Unused', (r) => r.unused_units, units),
      number('Hit ratio', (r) => (r.requests ? r.hits / r.requests : null), percent),
      number('Time saved', (r) => r.saved_seconds, seconds),
      number('Spent', (r) => r.spent, (n) => n.toFixed(2)),
      number('Not spent', (r) => r.saved, (n) => n.toFixed(2)),
    ],
  });
  const note = h('p', { class: 'muted' });

  async function refresh() {
    const order = by;
    latest = Date.now();
    try {
      const answer = await app.get(path());
      if (order !== by) return;
      list.update(answer.rows.length ? [{ ...answer.total, total: true }, ...answer.rows.slice(0, maxRows)] : []);
      setText(note, (answer.currency ? `Amounts are in ${answer.currency}` + (answer.price_date ? `, by the prices of ${answer.price_date}. ` : '. ') : '')
        + (answer.rows.length > maxRows ? `${answer.rows.length - maxRows} more with fewer units.` : ''));
    } catch { /* the state of the connection shows it */ }
  }

  return {
    id: 'ledger', title: 'Ledger', wide: true,
    element: h('div', {}, h('div', { class: 'controls' }, radios('By', Object.entries(groups), (group) => {
      by = group;
      refresh();
    })), list.element, note),
    report() {
      if (!hasLedger) return false;
      if (Date.now() - latest >= every) refresh();
      return true;
    },
  };
}
