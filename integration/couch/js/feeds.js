'use strict';
// Live feeds of a database: longpoll, continuous and eventsource. They observe
// timeouts and heartbeats, and end when the database is deleted or the client
// disconnects. Filtered feeds are served by express-pouchdb.

const http = require('http');
const { json } = require('./answers');

const LIVE = ['longpoll', 'continuous', 'eventsource'];
const MINUTE = 60000;

const live = (url) => LIVE.includes(url.searchParams.get('feed'));

// wanted returns the requested kind of live feed, or null if it is not served here.
function wanted(req, url) {
  const feed = url.searchParams.get('feed');
  const changes = /^\/+[^/_][^/]*\/+_changes\/?$/.test(url.pathname);
  return changes && req.method === 'GET' && LIVE.includes(feed) && !url.searchParams.has('filter') ? feed : null;
}

function serve(databases, port, req, res, url, feed) {
  const name = decodeURIComponent(url.pathname.split('/').filter(Boolean)[0]);
  allowed(port, req, name, (status, body) => {
    if (status === 200 && !databases.has(name)) [status, body] = [404, gone];
    if (status !== 200) return json(res, status, body);
    const since = start(databases.sequences, req, url, Number(body.update_seq.split('-')[0]));
    if (since === null) return malformed(res);
    new Feed(databases, name, res, url.searchParams, feed).run(since);
  });
}

const gone = { error: 'not_found', reason: 'Database does not exist.' };

// allowed sends a request to the node itself, which checks permissions.
function allowed(port, req, name, then) {
  const headers = {};
  for (const k of ['authorization', 'cookie']) if (req.headers[k]) headers[k] = req.headers[k];
  http.get({ host: '127.0.0.1', port, path: '/' + encodeURIComponent(name), headers }, (answer) => {
    const parts = [];
    answer.on('data', (d) => parts.push(d));
    answer.on('end', () => then(answer.statusCode, JSON.parse(Buffer.concat(parts))));
  }).on('error', () => req.destroy());
}

function malformed(res) {
  json(res, 400, { error: 'bad_request', reason: 'Malformed sequence supplied in \'since\' parameter.' });
}

// start returns the position at which the feed begins. A position beyond the end
// belongs to an earlier database of the same name; existing changes are then not
// sent again.
function start(sequences, req, url, now) {
  const since = sequences.read(req.headers['last-event-id'] || url.searchParams.get('since') || '0');
  return since === 'now' ? now : since === null ? null : Math.min(since, now);
}

// translate replaces a position in the URL by one for express-pouchdb. It returns
// false if the position is malformed.
function translate(sequences, req, url) {
  const since = url.searchParams.get('since');
  if (since === null || !/\/_changes\/?$/.test(url.pathname)) return true;
  const n = sequences.read(since);
  if (n === null) return false;
  url.searchParams.set('since', n);
  req.url = url.pathname + url.search;
  return true;
}

class Feed {
  constructor(databases, name, res, query, feed) {
    this.databases = databases;
    this.name = name;
    this.db = databases.handle(name);
    this.token = (n) => databases.sequences.token(n);
    this.res = res;
    this.feed = feed;
    this.limit = Number(query.get('limit') || Infinity);
    this.heartbeat = query.get('heartbeat') === 'true' ? MINUTE : Number(query.get('heartbeat') || 0);
    this.timeout = Math.min(Number(query.get('timeout') || MINUTE), MINUTE);
    this.options = { return_docs: false, include_docs: query.get('include_docs') === 'true', conflicts: query.get('conflicts') === 'true' };
    if (query.get('style')) this.options.style = query.get('style');
    this.sent = 0;
    this.live = false; // true once all existing changes are sent
    this.over = false;
  }

  run(since) {
    this.last = since;
    this.res.writeHead(200, {
      'Content-Type': this.feed === 'eventsource' ? 'text/event-stream' : 'application/json',
      'Cache-Control': this.feed === 'eventsource' ? 'no-cache' : 'must-revalidate',
    });
    this.res.write(this.feed === 'longpoll' ? '{"results":[\n' : '\n');
    this.beat = this.heartbeat && setInterval(() => this.res.write(this.pulse()), this.heartbeat);
    this.rearm();
    // PouchDB does not always notify listeners when their database is deleted.
    this.gone = (name) => { if (name === this.name) this.end(); };
    this.databases.on('destroyed', this.gone);
    this.res.on('close', () => this.stop());
    // For a live feed PouchDB reads all existing changes, even if the feed is cancelled
    // after the first one: it would read the whole database for each small batch that
    // a replicator requests.
    this.read({ since, ...(this.limit < Infinity && { limit: this.limit }) }, () => this.follow());
  }

  read(options, then) {
    this.changes = this.db.changes({ ...this.options, ...options })
      .on('change', (row) => this.row(row))
      .on('complete', then)
      .on('error', () => this.end());
  }

  // follow sends further changes.
  follow() {
    if (this.over) return;
    if (this.feed === 'longpoll' && this.sent > 0) return this.end();
    this.live = true;
    this.read({ since: this.last, live: true }, () => this.end());
  }

  pulse() { return this.feed === 'eventsource' ? 'event: heartbeat\ndata: \n\n' : '\n'; }

  // rearm restarts the timeout for the next row. With a heartbeat there is none.
  rearm() {
    clearTimeout(this.quiet);
    if (!this.heartbeat) this.quiet = setTimeout(() => this.end(), this.timeout);
  }

  row({ seq, id, changes, deleted, doc }) {
    if (this.over) return;
    this.last = seq;
    const text = JSON.stringify({ seq: this.token(seq), id, changes, ...(deleted && { deleted }), ...(doc && { doc }) });
    if (this.feed === 'eventsource') this.res.write(`data: ${text}\nid: ${this.token(seq)}\n\n`);
    else if (this.feed === 'continuous') this.res.write(text + '\n');
    else this.res.write((this.sent ? ',\r\n' : '') + text);
    this.sent++;
    if (this.sent >= this.limit) return this.end();
    // A long poll is one batch: it ends with the changes that are available now.
    if (this.live && this.feed === 'longpoll' && this.sent === 1) setImmediate(() => this.end());
    else this.rearm();
  }

  end() {
    if (this.over) return;
    if (this.feed === 'longpoll') this.res.write(`\n],\n"last_seq":"${this.token(this.last)}","pending":0}\n`);
    if (this.feed === 'continuous') this.res.write(`{"last_seq":"${this.token(this.last)}","pending":0}\n`);
    this.res.end();
    this.stop();
  }

  stop() {
    if (this.over) return;
    this.over = true;
    clearInterval(this.beat);
    clearTimeout(this.quiet);
    this.databases.off('destroyed', this.gone);
    if (this.changes) this.changes.cancel();
  }
}

module.exports = { wanted, serve, translate, malformed, live };
