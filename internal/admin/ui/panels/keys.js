// Keys with the most requests of a table, and the requests that the origin has throttled.

import { needsToken, setToken } from '../api.js';
import { field, h, radios, setOptions, setText, table } from '../dom.js';
import { age, bytes, count, percent, term } from '../format.js';

const maxKeys = 10, maxThrottles = 50;
const metrics = { requests: 'requests', misses: 'misses', bytes: 'bytes sent', invalidations: 'invalidations' };

export function panel(app) {
  let by = 'requests', all = [], shown = false;
  const name = (t) => (t.table ? `${t.table} (${t.service})` : t.service);
  const number = (n) => (by === 'bytes' ? bytes(n) : count(n));
  const log = (t, hash) => `${term('service', t.service)}` + (t.table ? ` ${term('table', t.table)}` : '') + (hash ? ` key=${hash}` : '');
  const behind = (t, title, hash, pick) => ({
    title: `${title} of ${name(t)}`, log: log(t, hash), pick: (r) => pick(r.tables.find((o) => name(o) === name(t)) ?? {}),
    path: 'api/v1/keys?' + new URLSearchParams({ service: t.service, table: t.table ?? '', by }),
  });
  const figure = (title, value) => ({
    title, number: true, sort: (k) => value(k)[0],
    cell: (k) => ({ text: value(k)[1], behind: behind(k.of, title, k.hash, (o) => o.top?.[by]?.find((c) => c.hash === k.hash)) }),
  });
  const list = table({
    caption: 'Keys with the highest counts in the last minutes', show: app.show, key: (k) => k.hash, empty: 'No key of this table was counted.',
    columns: [
      { title: 'Key', long: true, cell: (k) => k.key || k.hash },
      figure('Count', (k) => [k.count, number(k.count)]),
      figure('±', (k) => [k.error, number(k.error)]),
      figure('Share', (k) => [k.count, percent(k.of.totals[by] ? k.count / k.of.totals[by] : null)]),
    ],
  });
  const rowOf = (r) => behind(r.of, `Throttled requests`, r.hash, (o) => o.throttles?.filter((x) => x.reason === r.reason && x.hash === r.hash));
  const throttles = table({
    caption: 'Requests that the origin has throttled', show: app.show, key: (r) => JSON.stringify([r.of.service, r.of.table, r.reason, r.resource, r.hash, r.key]),
    columns: [
      { title: 'Table', cell: (r) => name(r.of), sort: (r) => name(r.of) },
      { title: 'Key', long: true, cell: (r) => r.key || r.partition || r.hash || '–' },
      { title: 'Reason', long: true, cell: (r) => ({ text: r.reason, class: r.recent > 0 ? 'bad' : '' }), sort: (r) => r.reason },
      { title: 'In 5 min', number: true, sort: (r) => r.recent, cell: (r) => ({ text: count(r.recent), behind: rowOf(r) }) },
      { title: 'Total', number: true, sort: (r) => r.count, cell: (r) => ({ text: count(r.count), behind: rowOf(r) }) },
      { title: 'Last', cell: (r) => age((Date.now() - new Date(r.last)) / 1000) + ' ago' },
      { title: 'Advice', long: true, cell: (r) => r.advice ?? '–' },
    ],
  });
  const chosen = h('select', { onchange: draw }), note = h('p', { class: 'muted' }), throttled = h('div', { hidden: true }, throttles.element);
  const secret = h('input', { type: 'password', autocomplete: 'off', required: true });
  const form = h('form', { hidden: true, onsubmit: submit }, field('Token that shows keys', secret), h('button', { type: 'submit' }, 'Show keys'));

  function submit(event) {
    event.preventDefault();
    setToken(secret.value.trim());
    secret.value = '';
    refresh();
  }

  function draw() {
    setOptions(chosen, all.map(name));
    const t = all.find((o) => name(o) === chosen.value);
    list.update((t?.top[by] ?? []).map((k) => ({ ...k, of: t })));
    const rows = all.flatMap((o) => (o.throttles ?? []).map((r) => ({ ...r, of: o }))).sort((a, b) => b.recent - a.recent || b.count - a.count);
    throttles.update(rows.slice(0, maxThrottles));
    throttled.hidden = rows.length === 0;
    note.hidden = shown;
    setText(note, 'Keys are hashes, because the token does not show them. ' + (needsToken ? 'To see them, forget it and enter that of admin.keys_token_env.' : 'That of admin.keys_token_env does.'));
    form.hidden = shown || needsToken;
  }

  async function refresh() {
    const order = by;
    try {
      const answer = await app.get(`api/v1/keys?by=${order}&n=${maxKeys}`);
      if (order !== by) return;
      all = answer.tables;
      shown = answer.shown;
      draw();
    } catch { /* the state of the connection shows it */ }
  }

  return {
    id: 'keys', title: 'Hot keys', wide: true,
    element: h('div', {}, h('div', { class: 'controls' }, field('Table', chosen), radios('By', Object.entries(metrics), (order) => {
      by = order;
      refresh();
    })), list.element, throttled, note, form),
    report() { refresh(); },
  };
}
