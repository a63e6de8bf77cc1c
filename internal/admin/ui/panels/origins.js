// Origins with their circuit breakers, and the members of groups.

import { h, table } from '../dom.js';
import { count, term } from '../format.js';

export function panel(app) {
  const behind = (service, title, pick, log) => ({
    title: `${title} of ${service}`, path: 'api/v1/report?format=json', log,
    pick: (r) => pick(r.services.find((s) => s.name === service) ?? {}),
  });
  const figure = (title, member, log) => ({
    title, number: true, sort: (s) => s.origin[member],
    cell: (s) => ({ text: count(s.origin[member]), behind: behind(s.name, title, (o) => o.origin, log && term('service', s.name) + log) }),
  });
  const origins = table({
    caption: 'The origin of each service', show: app.show, key: (s) => s.name,
    columns: [
      { title: 'Service', cell: (s) => s.name, sort: (s) => s.name },
      { title: 'Breaker', cell: (s) => ({ text: s.origin.breaker, class: s.origin.breaker === 'closed' ? 'good' : s.origin.breaker === 'disabled' ? '' : 'bad' }) },
      figure('In flight', 'in_flight'),
      figure('Queued', 'queued'),
      figure('Limit', 'limit'),
      figure('Requests', 'requests', ' origin>0us'),
      figure('Retries', 'retries', ' error!='),
      { title: 'URL', long: true, cell: (s) => s.origin.url },
    ],
  });
  const members = table({
    caption: 'Members of groups of origins', show: app.show, key: (m) => JSON.stringify([m.service, m.origin]), empty: 'No service has several origins.',
    columns: [
      { title: 'Origin', cell: (m) => m.origin, sort: (m) => m.origin },
      { title: 'Service', cell: (m) => m.service, sort: (m) => m.service },
      { title: 'State', cell: (m) => ({ text: m.why ? `${m.state}: ${m.why}` : m.state, class: m.state === 'up' ? 'good' : 'bad' }), sort: (m) => m.state },
      { title: 'Weight', number: true, cell: (m) => ({ text: String(Number(m.weight.toPrecision(4))), behind: behind(m.service, 'Members', (o) => o.members) }) },
      { title: 'In flight', number: true, cell: (m) => ({ text: count(m.in_flight), behind: behind(m.service, 'Members', (o) => o.members) }) },
    ],
  });
  const group = h('div', {}, members.element);
  return {
    id: 'origins', title: 'Origins', element: h('div', {}, origins.element, group),
    report(report) {
      origins.update(report.services);
      const all = report.services.flatMap((s) => (s.members ?? []).map((m) => ({ ...m, service: s.name })));
      members.update(all);
      group.hidden = all.length === 0;
    },
  };
}
