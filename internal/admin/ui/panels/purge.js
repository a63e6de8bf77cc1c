// The form that drops entries from the cache, after a confirmation.

import { field, h, setOptions } from '../dom.js';
import { parseKey } from '../key.js';

// Each kind has its fields as [member, label], the types of services that have it, and the words
// of the confirmation.
const kinds = {
  all: { text: 'Everything of the service', types: ['dynamodb', 'http', 'couchdb', 'memcached'], fields: [], words: () => 'everything' },
  table: { text: 'A table', types: ['dynamodb'], fields: [['table', 'Table']], words: (v) => `everything of table ${v.table}` },
  partition: { text: 'A partition of a table', types: ['dynamodb'], fields: [['table', 'Table'], ['partition', 'Value of the partition key']], words: (v) => `partition ${v.partition} of table ${v.table}` },
  item: { text: 'An item of a table', types: ['dynamodb'], fields: [['table', 'Table'], ['key', 'Key, as id=alice or {"id":{"S":"alice"}}']], words: (v) => `the item with the key ${v.key} of table ${v.table}` },
  key: { text: 'A key', types: ['memcached'], fields: [['key', 'Key, as the application has it']], words: (v) => `the value of ${v.key}, also in memcached` },
  url: { text: 'A URL', types: ['http', 'couchdb', 'memcached'], fields: [['url', 'URL']], words: (v) => v.url },
  prefix: { text: 'URLs with a prefix', types: ['http'], fields: [['prefix', 'Prefix']], words: (v) => `all that begins with ${v.prefix}` },
  pattern: { text: 'URLs that match a pattern', types: ['http'], fields: [['pattern', 'Pattern']], words: (v) => `all that matches ${v.pattern}` },
  tag: { text: 'Answers with a tag', types: ['http'], fields: [['tag', 'Tag']], words: (v) => `all that is tagged ${v.tag}` },
};

// partition is a text, or an attribute value such as {"N":"42"}.
function partition(text) {
  return text.startsWith('{') ? JSON.parse(text) : text;
}

export function panel(app) {
  const types = new Map(), inputs = new Map();
  const service = h('select', { onchange: chooseService }), kind = h('select', { onchange: chooseKind });
  const fields = h('div'), soft = h('input', { type: 'checkbox' });
  const softly = h('p', {}, h('label', {}, soft, 'Only mark them as stale, so that they are still there if the origin fails'));
  const result = h('div', { role: 'status' });

  function chooseService() {
    const type = types.get(service.value);
    const fitting = Object.entries(kinds).filter(([, k]) => k.types.includes(type));
    if (kind.options.length !== fitting.length || fitting.some(([name], i) => kind.options[i].value !== name)) {
      kind.replaceChildren(...fitting.map(([name, k]) => h('option', { value: name }, k.text)));
      chooseKind();
    }
    softly.hidden = type !== 'http';
  }

  function chooseKind() {
    inputs.clear();
    fields.replaceChildren(...(kinds[kind.value]?.fields ?? []).map(([member, label]) => {
      const input = h('input', { required: true, autocomplete: 'off', spellcheck: 'false' });
      inputs.set(member, input);
      return field(label, input);
    }));
  }

  function request() {
    const body = { service: service.value }, values = {};
    for (const [member, input] of inputs) {
      const text = input.value.trim();
      values[member] = text;
      if (kind.value === 'item' && member === 'key') body.key = parseKey(text);
      else body[member] = member === 'partition' ? partition(text) : text;
    }
    if (!softly.hidden && soft.checked) body.soft = true;
    return { body, words: kinds[kind.value].words(values) };
  }

  async function submit(event) {
    event.preventDefault();
    result.replaceChildren();
    try {
      const { body, words } = request();
      if (!(await confirmed(body, words))) return;
      const dropped = await app.post('api/v1/purge', body);
      const nodes = dropped.nodes?.length ? ` On the nodes ${dropped.nodes.join(', ')}.` : '';
      result.replaceChildren(h('p', { class: 'good' }, `Dropped from ${body.service}: ${dropped.dropped}.${nodes}`));
    } catch (error) {
      result.replaceChildren(h('p', { class: 'bad' }, error.message));
    }
  }

  // confirmed repeats the selection, and resolves to true if it was confirmed.
  function confirmed(body, words) {
    return new Promise((resolve) => {
      const dialog = app.confirm;
      const cancel = h('button', { type: 'button', class: 'plain', onclick: () => dialog.close() }, 'Cancel');
      dialog.replaceChildren(
        h('h2', { id: 'confirm-title' }, body.soft ? 'Mark these as stale?' : 'Drop these from the cache?'),
        h('p', {}, 'Service ', h('b', {}, body.service), ': ', h('b', {}, words), '.'),
        h('p', {}, 'The next requests for them are sent to the origin, whose data does not change. In a cluster this applies to all nodes.'),
        h('pre', { tabindex: 0, role: 'group', 'aria-label': 'Request' }, 'POST /api/v1/purge\n' + JSON.stringify(body, null, 2)),
        h('div', { class: 'row' }, cancel, h('button', { type: 'button', onclick: () => dialog.close('yes') }, body.soft ? 'Mark as stale' : 'Drop')),
      );
      dialog.returnValue = '';
      // The event of an earlier confirmation may arrive while this one is open.
      const closed = () => {
        if (dialog.open) return;
        dialog.removeEventListener('close', closed);
        resolve(dialog.returnValue === 'yes');
      };
      dialog.addEventListener('close', closed);
      dialog.showModal();
      cancel.focus();
    });
  }

  return {
    id: 'purge', title: 'Purge',
    element: h('div', {}, h('form', { onsubmit: submit }, field('Service', service), field('Drop', kind), fields, softly, h('button', { type: 'submit' }, 'Purge')), result),
    report(report) {
      types.clear();
      for (const s of report.services) types.set(s.name, s.type);
      setOptions(service, [...types.keys()]);
      chooseService();
    },
  };
}
