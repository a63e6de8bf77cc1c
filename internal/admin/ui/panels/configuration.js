// The running configuration, problems of the last reload, and keys that wait for a restart.

import { figure, h, setText } from '../dom.js';
import { clock } from '../format.js';

export function panel(app) {
  const loaded = h('p'), running = h('pre', { tabindex: 0, role: 'group', 'aria-label': 'Running configuration' });
  const list = (title, name, kind) => {
    const link = figure(app.show), items = h('ul');
    const element = h('div', { hidden: true }, h('h3', {}, title, ' (', link.element, ')'), items);
    let before = '';
    return {
      element,
      update(all = []) {
        element.hidden = all.length === 0;
        link.update(String(all.length), { title, path: 'api/v1/config', pick: (c) => c[name] });
        if (before === all.join('\n')) return;
        before = all.join('\n');
        items.replaceChildren(...all.map((text) => h('li', { class: kind }, text)));
      },
    };
  };
  const problems = list('Problems of the file, which was not taken', 'problems', 'bad');
  const pending = list('Changed keys that wait for a restart', 'pending', 'warn');
  const none = h('p', { class: 'muted' }, 'No changed key waits for a restart.');
  return {
    id: 'configuration', title: 'Configuration',
    element: h('div', {}, loaded, problems.element, pending.element, none, h('details', {}, h('summary', {}, 'The running configuration, with every default and no secrets'), running)),
    report({ config }) {
      setText(loaded, `${config.file || 'Without a file'}, read ${new Date(config.loaded).toLocaleDateString('sv')} ${clock(config.loaded)}.`);
      problems.update(config.problems);
      pending.update(config.pending);
      none.hidden = Boolean(config.pending?.length);
      setText(running, JSON.stringify(config.running, null, 2));
    },
  };
}
