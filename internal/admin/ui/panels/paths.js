// The paths of the API that can be read.

import { figure, h } from '../dom.js';

const paths = [
  ['api/v1/report?format=json', 'everything on this page and more'],
  ['api/v1/services', 'the services'],
  ['api/v1/config', 'the configuration that runs, and the last reload'],
];

export function panel(app) {
  const items = paths.map(([path, text]) => {
    const link = figure(app.show);
    link.update('/' + path, { title: text, path });
    return h('li', {}, link.element, ' ' + text);
  });
  return {
    id: 'paths', title: 'API',
    element: h('div', {},
      h('ul', {}, items),
      h('p', {}, h('code', {}, '/metrics'), ' is for Prometheus, ', h('code', {}, '/api/v1/events'), ' and ', h('code', {}, '/api/v1/log'), ' are streams, ',
        h('code', {}, '/api/v1/history'), ' has one service. ', h('code', {}, 'curl'), ' of this page lists all paths.')),
  };
}
