// Requests by decision.

import { h, table } from '../dom.js';
import { count, percent, rate, term } from '../format.js';

export function panel(app) {
  let rows = [], live = new Map(), seconds = 1;
  const perSecond = (r) => (live.get(r.service)?.decisions[r.decision] ?? 0) / seconds;
  const behind = (r, title) => ({
    title: title + ` of ${r.service} with the decision ${r.decision}`,
    path: 'api/v1/report?format=json',
    pick: (all) => ({ [r.decision]: all.services.find((s) => s.name === r.service)?.decisions[r.decision] }),
    log: `${term('service', r.service)} ${term('decision', r.decision)}`,
  });
  const list = table({
    caption: 'How requests were answered', show: app.show, key: (r) => JSON.stringify([r.service, r.decision]), empty: 'There was no request yet.',
    columns: [
      { title: 'Service', cell: (r) => r.service, sort: (r) => r.service },
      { title: 'Decision', cell: (r) => r.decision, sort: (r) => r.decision },
      { title: 'Per second', number: true, sort: perSecond, cell: (r) => ({ text: rate(perSecond(r)), behind: behind(r, 'Requests') }) },
      { title: 'Since start', number: true, sort: (r) => r.total, cell: (r) => ({ text: count(r.total), behind: behind(r, 'Requests') }) },
      { title: 'Share', number: true, sort: (r) => r.share, cell: (r) => ({ text: percent(r.share), behind: behind(r, 'Share of requests') }) },
    ],
  });
  return {
    id: 'decisions', title: 'Decisions', element: h('div', {}, list.element),
    report(all) {
      rows = all.services.flatMap((s) => {
        const entries = Object.entries(s.decisions).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
        const sum = entries.reduce((so, [, n]) => so + n, 0);
        return entries.map(([decision, total]) => ({ service: s.name, decision, total, share: total / sum }));
      });
      list.update(rows);
    },
    event(event) {
      live = new Map(event.services.map((s) => [s.service, s]));
      seconds = event.seconds || 1;
      list.update(rows);
    },
  };
}
