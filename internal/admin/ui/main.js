// The dashboard. To add a panel, write a module like the others in panels, and list it here. It
// exports panel(app), which returns {id, title, wide, element}, and optionally
//   report(report), called with each answer of /api/v1/report, which returns false to hide the panel;
//   event(event), called with each event of /api/v1/events.

import { Refused, dropToken, events, get, needsToken, post, setToken, token } from './api.js';
import { opener } from './behind.js';
import { h, setText } from './dom.js';
import { age } from './format.js';
import * as cluster from './panels/cluster.js';
import * as configuration from './panels/configuration.js';
import * as decisions from './panels/decisions.js';
import * as explain from './panels/explain.js';
import * as history from './panels/history.js';
import * as keys from './panels/keys.js';
import * as ledger from './panels/ledger.js';
import * as origins from './panels/origins.js';
import * as paths from './panels/paths.js';
import * as purge from './panels/purge.js';
import * as services from './panels/services.js';
import * as streams from './panels/streams.js';
import * as tables from './panels/tables.js';

const modules = [services, history, tables, keys, ledger, decisions, origins, streams, cluster, explain, purge, configuration, paths];

const element = (id) => document.getElementById(id);
const reportEvery = 5000, longestPause = 10_000;

let panels = [];
let running = null; // aborts the requests of the running dashboard

// app is what panels can use.
const app = {
  get: (path) => guarded(get(path)),
  post: (path, body) => guarded(post(path, body)),
  show: opener(element('behind'), (path) => app.get(path)),
  confirm: element('confirm'),
  // fill fills the form of a panel, and moves the focus there.
  fill(id, values) {
    panels.find((p) => p.id === id).fill(values);
  },
};

// guarded shows the form for the token if a request was refused.
async function guarded(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Refused) login('The token was refused: ' + error.message);
    throw error;
  }
}

function start() {
  element('login').hidden = true;
  element('forget').hidden = !needsToken;
  panels = modules.map((m) => m.panel(app));
  for (const p of panels) {
    p.link = h('li', {}, h('a', { href: '#' + p.id }, p.title));
    p.section = h('section', { id: p.id, class: p.wide ? 'wide' : null, 'aria-labelledby': p.id + '-title' },
      h('h2', { id: p.id + '-title' }, p.title), p.element);
    element('contents').append(p.link);
    element('content').append(p.section);
  }
  resume();
}

function stop() {
  running?.abort();
  running = null;
}

// resume starts the requests, unless the tab is hidden.
function resume() {
  if (running || document.hidden || panels.length === 0) return;
  running = new AbortController();
  pollReports(running.signal);
  readEvents(running.signal);
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function pollReports(signal) {
  while (!signal.aborted) {
    try {
      const report = await guarded(get('api/v1/report?format=json', signal));
      for (const p of panels) {
        const hidden = p.report?.(report) === false;
        p.section.hidden = hidden;
        p.link.hidden = hidden;
      }
    } catch { /* the state of the connection shows it */ }
    await pause(reportEvery, signal);
  }
}

async function readEvents(signal) {
  for (let wait = 1000; !signal.aborted; wait = Math.min(2 * wait, longestPause)) {
    setText(element('connection'), 'Connecting');
    try {
      await guarded(events(signal, (event) => {
        wait = 500;
        setText(element('connection'), 'Live');
        state(event);
        for (const p of panels) p.event?.(event);
      }));
    } catch (error) {
      if (signal.aborted || error instanceof Refused) return;
    }
    setText(element('connection'), 'Disconnected, trying again');
    await pause(wait, signal);
  }
}

// state shows the version, the time since the start and whether the node is ready.
function state(event) {
  setText(element('version'), `${event.version}, up ${age((new Date(event.time) - new Date(event.started)) / 1000)},`);
  const ready = element('ready');
  setText(ready, event.draining ? 'stopping,' : event.ready ? 'ready,' : 'not ready,');
  ready.className = event.ready ? 'good' : 'bad';
}

// login removes all figures and asks for the token.
function login(message) {
  stop();
  dropToken();
  for (const p of panels) {
    p.link.remove();
    p.section.remove();
  }
  panels = [];
  for (const dialog of document.querySelectorAll('dialog')) {
    dialog.close();
    dialog.replaceChildren();
  }
  for (const id of ['version', 'ready', 'connection']) setText(element(id), '');
  element('forget').hidden = true;
  element('login').hidden = false;
  setText(element('refused'), message);
  element('token').focus();
}

element('login').addEventListener('submit', (event) => {
  event.preventDefault();
  setToken(element('token').value.trim());
  element('token').value = '';
  setText(element('refused'), '');
  start();
  element('content').focus();
});
element('forget').addEventListener('click', () => login(''));
document.addEventListener('visibilitychange', () => (document.hidden ? stop() : resume()));

if (needsToken && !token()) login('');
else start();
