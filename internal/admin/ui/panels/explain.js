// The form that asks how a request would be answered now.

import { field, h, setOptions, table } from '../dom.js';
import { parseKey } from '../key.js';

const operations = ['GetItem', 'Query', 'Scan', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'];

// bodyOf is the request of an operation for one item, or for the items with its key.
function bodyOf(operation, table, text) {
  const body = { TableName: table };
  if (!text.trim()) return body;
  const key = parseKey(text);
  if (operation === 'Query') {
    const names = Object.keys(key);
    return {
      ...body, KeyConditionExpression: names.map((_, i) => `#k${i} = :k${i}`).join(' AND '),
      ExpressionAttributeNames: Object.fromEntries(names.map((n, i) => ['#k' + i, n])),
      ExpressionAttributeValues: Object.fromEntries(names.map((n, i) => [':k' + i, key[n]])),
    };
  }
  if (operation === 'BatchGetItem') return { RequestItems: { [table]: { Keys: [key] } } };
  return { ...body, [operation === 'PutItem' ? 'Item' : 'Key']: key };
}

export function panel(app) {
  const types = new Map();
  const service = h('select', { onchange: choose });
  const operation = h('select', {}, operations.map((o) => h('option', { value: o }, o)));
  const name = h('input', { autocomplete: 'off', spellcheck: 'false' }), key = h('input', { autocomplete: 'off', spellcheck: 'false', placeholder: 'id=alice or {"id":{"S":"alice"}}' });
  const whole = h('textarea', { rows: 4, spellcheck: 'false' });
  const url = h('input', { autocomplete: 'off', spellcheck: 'false', placeholder: 'http://host/path' });
  const method = h('input', { autocomplete: 'off', value: 'GET' }), fields = h('textarea', { rows: 2, spellcheck: 'false' });
  const byTable = h('div', {}, field('Operation', operation), field('Table', name), field('Key', key),
    h('details', {}, h('summary', {}, 'The whole request instead'), field('Request as JSON', whole)));
  const byURL = h('div', {}, field('URL or path', url), field('Method', method), field('Header lines, such as Accept-Language: ja', fields));
  const result = h('div', { role: 'status' });
  const steps = table({
    caption: 'Steps', key: (s) => s.index, show: app.show,
    columns: [{ title: 'Step', cell: (s) => s.what }, { title: 'Value', long: true, cell: (s) => s.value }, { title: 'Note', long: true, cell: (s) => s.note ?? '' }],
  });
  const details = h('div', { hidden: true }, steps.element);

  function choose() {
    const tables = types.get(service.value) === 'dynamodb';
    byTable.hidden = !tables;
    byURL.hidden = tables;
  }

  function request() {
    if (!byTable.hidden) {
      const body = whole.value.trim() ? JSON.parse(whole.value) : bodyOf(operation.value, name.value.trim(), key.value);
      return { service: service.value, headers: { 'X-Amz-Target': operation.value }, body };
    }
    const headers = {};
    for (const line of fields.value.split('\n').filter((l) => l.trim())) {
      const at = line.indexOf(':');
      if (at < 1) throw new Error(`${line} is not a line such as Accept: text/html`);
      headers[line.slice(0, at).trim()] = line.slice(at + 1).trim();
    }
    return { service: service.value, path: url.value.trim(), method: method.value.trim(), headers };
  }

  async function submit(event) {
    event.preventDefault();
    result.replaceChildren();
    try {
      const e = await app.post('api/v1/explain', request());
      result.replaceChildren(h('p', {}, 'It would be answered with the decision ', h('b', {}, e.decision), '.'));
      steps.update(e.steps.map((s, index) => ({ ...s, index })));
      details.hidden = false;
    } catch (error) {
      result.replaceChildren(h('p', { class: 'bad' }, error.message));
      details.hidden = true;
    }
  }

  return {
    id: 'explain', title: 'Explain',
    element: h('div', {},
      h('p', {}, 'How would a request be answered now, and why? Nothing is sent to the origin.'),
      h('form', { onsubmit: submit }, field('Service', service), byTable, byURL, h('button', { type: 'submit' }, 'Explain')), result, details),
    report(report) {
      types.clear();
      for (const s of report.services) types.set(s.name, s.type);
      setOptions(service, [...types.keys()]);
      choose();
    },
    fill(values) {
      service.value = values.service;
      choose();
      name.value = values.table ?? '';
      whole.value = '';
      url.value = values.url ?? '';
      (byTable.hidden ? url : key).focus();
    },
  };
}
