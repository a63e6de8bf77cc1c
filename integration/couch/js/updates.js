'use strict';
// _db_updates: which databases were created, deleted or changed. As in CouchDB,
// the changes of half a second are one event.

const { json } = require('./answers');

const GATHER = 250; // milliseconds
const KEPT = 1000;

class Updates {
  constructor(databases) {
    this.databases = databases;
    this.events = [];
    this.seq = 0;
    this.changed = new Set();
    this.listeners = new Set();
    databases.on('created', (name) => { this.push(name, 'created'); this.watch(name); });
    databases.on('destroyed', (name) => { this.changed.delete(name); this.push(name, 'deleted'); });
    for (const name of databases.names()) this.watch(name);
  }

  watch(name) {
    if (name.startsWith('_')) return;
    // The caller that creates the database is still opening it.
    setImmediate(() => {
      if (!this.databases.has(name)) return;
      this.databases.handle(name).changes({ live: true, since: 'now' })
        .on('change', () => this.touch(name)).on('error', () => {});
    });
  }

  touch(name) {
    if (this.changed.has(name)) return;
    this.changed.add(name);
    setTimeout(() => this.changed.delete(name) && this.push(name, 'updated'), GATHER);
  }

  push(db_name, type) {
    const event = { db_name, type, seq: String(++this.seq) };
    this.events.push(event);
    if (this.events.length > KEPT) this.events.shift();
    for (const notify of this.listeners) notify(event);
  }

  serve(req, res, query) {
    const since = query.get('since') === 'now' ? this.seq : Number(query.get('since') || 0);
    const ready = this.events.filter((e) => Number(e.seq) > since);
    const feed = query.get('feed') || 'normal';
    if (feed === 'continuous') return this.follow(res, query, ready);
    if (feed === 'longpoll' && ready.length === 0) return this.poll(res, query);
    json(res, 200, { results: ready, last_seq: String(this.seq) });
  }

  poll(res, query) {
    const over = (results) => {
      this.listeners.delete(notify);
      clearTimeout(limit);
      if (!res.writableEnded) json(res, 200, { results, last_seq: String(this.seq) });
    };
    const notify = (event) => over([event]);
    const limit = setTimeout(() => over([]), Number(query.get('timeout') || 60000));
    this.listeners.add(notify);
    res.on('close', () => { this.listeners.delete(notify); clearTimeout(limit); });
  }

  follow(res, query, ready) {
    res.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'must-revalidate' });
    res.write('\n');
    const notify = (event) => res.write(JSON.stringify(event) + '\n');
    ready.forEach(notify);
    const beat = setInterval(() => res.write('\n'), Number(query.get('heartbeat')) || 60000);
    this.listeners.add(notify);
    res.on('close', () => { this.listeners.delete(notify); clearInterval(beat); });
  }
}

module.exports = { Updates };
