// Elements of the page. All text of clients becomes text nodes or attributes, never markup.

const svg = 'http://www.w3.org/2000/svg';

// h makes an element with attributes, listeners (names that begin with "on") and children. A name
// that begins with "svg:" is of that namespace.
export function h(name, attributes = {}, ...children) {
  const e = name.startsWith('svg:') ? document.createElementNS(svg, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(key.slice(2), value);
    else if (value === true) e.setAttribute(key, '');
    else if (value !== false && value != null) e.setAttribute(key, value);
  }
  e.append(...children.flat().filter((c) => c != null));
  return e;
}

// setText changes the text of an element if it is another one.
export function setText(e, text) {
  text = String(text);
  if (e.textContent !== text) e.textContent = text;
}

let ids = 0;
export function newID() { return 'id' + ++ids; }

// field is a labelled input, select or textarea.
export function field(label, input) {
  input.id ||= newID();
  return h('p', { class: 'field' }, h('label', { for: input.id }, label), input);
}

// radios is a group of choices. change is called with the value of another one.
export function radios(legend, choices, change) {
  const name = newID();
  return h('fieldset', {}, h('legend', {}, legend), choices.map(([value, text], i) =>
    h('label', {}, h('input', { type: 'radio', name, value, checked: i === 0, onchange: () => change(value) }), text)));
}

// setOptions changes the options of a select, and keeps the chosen one if it is still there.
export function setOptions(select, values) {
  if (select.options.length === values.length && values.every((v, i) => select.options[i].value === v)) return;
  const chosen = select.value;
  select.replaceChildren(...values.map((v) => h('option', { value: v }, v)));
  if (values.includes(chosen)) select.value = chosen;
}

// figure is a link to the request behind a number. show(behind) opens it; update changes both.
export function figure(show) {
  let behind;
  const element = h('a', {
    class: 'figure',
    onclick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(behind);
    },
  });
  const update = (text, next) => {
    behind = next;
    setText(element, text);
    if (element.getAttribute('href') !== next.path) element.setAttribute('href', next.path);
    element.title = next.title;
  };
  return { element, update };
}

// table is a table in a region that scrolls. Rows and their elements are kept between updates, so
// that the focus is too.
//
// A column has a title, and cell(item), which returns a text, {text, behind} for a figure, {text,
// action} for a button, or any of these with a class. With sort(item) it can be sorted.
export function table({ caption, columns, key, show, empty }) {
  const body = h('tbody'), rows = new Map(), id = newID();
  let items = [], order = null, descending = false;
  const heads = columns.map((c) => {
    const attributes = { scope: 'col', class: c.number ? 'number' : c.long ? 'long' : null };
    if (!c.sort) return h('th', attributes, c.title);
    return h('th', attributes, h('button', { type: 'button', onclick: () => sortBy(c) }, c.title));
  });
  const none = h('p', { class: 'muted', hidden: true }, empty ?? 'None.');
  const region = h('div', { class: 'scroll', role: 'region', 'aria-labelledby': id, tabindex: 0 },
    h('table', {}, h('caption', { id }, caption), h('thead', {}, h('tr', {}, heads)), body));

  function sortBy(column) {
    descending = order === column ? !descending : Boolean(column.number);
    order = column;
    columns.forEach((c, i) => {
      if (c === column) heads[i].setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else heads[i].removeAttribute('aria-sort');
    });
    draw();
  }

  function makeRow() {
    const cells = columns.map((c, i) => {
      const attributes = { class: c.number ? 'number' : c.long ? 'long' : null };
      return i === 0 ? h('th', { scope: 'row', ...attributes }) : h('td', attributes);
    });
    return { element: h('tr', {}, cells), cells: cells.map((element) => ({ element, kind: null, update: null })) };
  }

  function fill(cell, value) {
    const v = typeof value === 'object' ? value : { text: value };
    const kind = v.behind ? 'figure' : v.action ? 'action' : 'text';
    if (cell.kind !== kind) {
      cell.kind = kind;
      if (kind === 'figure') {
        const f = figure(show);
        cell.element.replaceChildren(f.element);
        cell.update = (now) => f.update(now.text, now.behind);
      } else if (kind === 'action') {
        let action;
        const button = h('button', { type: 'button', onclick: () => action() });
        cell.element.replaceChildren(button);
        cell.update = (now) => {
          action = now.action;
          setText(button, now.text);
          button.setAttribute('aria-label', now.label ?? now.text);
        };
      } else {
        const text = h('span');
        cell.element.replaceChildren(text);
        cell.update = (now) => {
          setText(text, now.text);
          text.className = now.class ?? '';
        };
      }
    }
    cell.update(v);
  }

  function draw() {
    const list = order ? [...items].sort((a, b) => compare(order.sort(a), order.sort(b)) * (descending ? -1 : 1)) : items;
    const wanted = list.map((item) => {
      const k = key(item);
      if (!rows.has(k)) rows.set(k, makeRow());
      const row = rows.get(k);
      columns.forEach((c, i) => fill(row.cells[i], c.cell(item)));
      return row.element;
    });
    const present = new Set(list.map(key));
    for (const k of rows.keys()) if (!present.has(k)) rows.delete(k);
    if (wanted.length !== body.children.length || wanted.some((e, i) => body.children[i] !== e)) {
      const focus = body.contains(document.activeElement) ? document.activeElement : null;
      body.replaceChildren(...wanted);
      if (focus && body.contains(focus)) focus.focus({ preventScroll: true });
    }
    none.hidden = list.length > 0;
    region.hidden = list.length === 0;
  }

  return {
    element: h('div', {}, region, none),
    update(next) {
      items = next;
      draw();
    },
  };
}

function compare(a, b) {
  if (typeof a === 'string' && typeof b === 'string') return a.localeCompare(b);
  return (a ?? -1) - (b ?? -1);
}
