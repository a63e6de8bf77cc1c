// The dialog with the request behind a number: its path, commands to copy, and its answer.

import { needsToken } from './api.js';
import { h } from './dom.js';
import { shell } from './format.js';

const maxText = 200_000;

// curl is the command for a path.
function curl(path) {
  const auth = needsToken ? ' -H "Authorization: Bearer $KASOKU_ADMIN_TOKEN"' : '';
  return `curl -s${auth} ${shell(new URL(path, document.baseURI).href)}`;
}

// logCommand is the command that prints requests as they end.
export function logCommand(filter) {
  const admin = new URL('.', document.baseURI).href.replace(/\/$/, '');
  return `kasoku log -q ${shell(filter)}` + (admin === 'http://127.0.0.1:9090' ? '' : ` --admin ${shell(admin)}`);
}

function command(label, text) {
  const copied = h('span', { role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      copied.textContent = ' Copied.';
    } catch {
      getSelection().selectAllChildren(code);
      copied.textContent = ' Selected: copy it with the keyboard.';
    }
  };
  const code = h('pre', { class: 'command', tabindex: 0, role: 'group', 'aria-label': label }, text);
  return [h('h3', {}, label), code, h('p', {}, h('button', { type: 'button', class: 'plain', 'aria-label': 'Copy: ' + label, onclick: copy }, 'Copy'), copied)];
}

// opener returns the function that shows {title, path, pick, log}: pick selects a part of the
// answer, and log is a filter of the log.
export function opener(dialog, request) {
  return async (behind) => {
    const answer = h('pre', { tabindex: 0, role: 'group', 'aria-label': 'Answer' }, 'Loading');
    dialog.replaceChildren(
      h('h2', { id: 'behind-title' }, behind.title),
      h('p', {}, 'GET ', h('code', {}, '/' + behind.path)),
      answer,
      ...command('The same with curl', curl(behind.path)),
      ...(behind.log ? command('Requests like these, as they end', logCommand(behind.log)) : []),
      h('div', { class: 'row' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Close')),
    );
    dialog.showModal();
    try {
      const all = await request(behind.path);
      const text = JSON.stringify(behind.pick ? behind.pick(all) ?? null : all, null, 2);
      answer.textContent = text.length > maxText ? text.slice(0, maxText) + '\n(the rest is left out)' : text;
    } catch (error) {
      answer.textContent = error.message;
    }
  };
}
