// The members of the cluster, as this node sees them.

import { h, setText, table } from '../dom.js';
import { age, duration } from '../format.js';

export function panel(app) {
  const behind = (title, pick) => ({ title, path: 'api/v1/cluster', pick });
  const state = h('p');
  const members = table({
    caption: 'Members', show: app.show, key: (m) => m.node, empty: 'There are no members.',
    columns: [
      { title: 'Node', cell: (m) => m.node + (m.self ? ' (this)' : ''), sort: (m) => m.node },
      { title: 'State', cell: (m) => ({ text: m.state, class: m.state === 'serving' ? 'good' : 'warn' }), sort: (m) => m.state },
      { title: 'Zone', cell: (m) => m.zone || '–', sort: (m) => m.zone },
      { title: 'Address', cell: (m) => m.address },
      ...[['Ack', 'ack_ms'], ['Silent', 'silent_ms']].map(([title, name]) => ({
        title, number: true, sort: (m) => m[name],
        cell: (m) => (m.self ? '–' : { text: duration(m[name] / 1000), behind: behind(`Node ${m.node}`, (c) => c.members.find((o) => o.node === m.node)) }),
      })),
    ],
  });
  const away = table({
    caption: 'Nodes that left or were taken out', show: app.show, key: (a) => a.node,
    columns: [
      { title: 'Node', cell: (a) => a.node },
      { title: 'For', number: true, cell: (a) => ({ text: age((Date.now() - new Date(a.since)) / 1000), behind: behind('Nodes that are away', (c) => c.away) }) },
      { title: 'Reason', long: true, cell: (a) => a.reason },
    ],
  });
  const gone = h('div', {}, away.element);
  return {
    id: 'cluster', title: 'Cluster', element: h('div', {}, state, members.element, gone),
    report(report) {
      const c = report.cluster;
      if (!c) return false;
      setText(state, `${c.name}, node ${c.node}: ${c.state}, epoch ${c.epoch}.${c.obstacle ? ' ' + c.obstacle : ''}`);
      members.update(c.members ?? []);
      away.update(c.away ?? []);
      gone.hidden = !c.away?.length;
      return true;
    },
  };
}
