'use strict';
// Serializes updates of views and writes of their database. PouchDB reads the rows of
// changes from a snapshot, but the newest revision of each document from the database, and
// omits rows of other revisions: a document that is written again meanwhile is omitted. A
// view that is updated at that time lacks a write that was acknowledged before the view was
// requested, which never happens in CouchDB. Other readers of the changes get the newer
// revision later.

const last = new Map(); // by the full name of a database: the end of its last task

// inTurn calls task after all earlier ones; a task ends when it calls its argument.
function inTurn(name, task) {
  const before = last.get(name) || Promise.resolve();
  last.set(name, before.then(() => new Promise(task)).catch((e) => console.error('turn:', e)));
}

// ofView reports whether pouchdb-abstract-mapreduce reads the changes.
const ofView = (opts) => opts.return_docs && opts.include_docs && opts.conflicts && opts.limit && !opts.continuous;

function changesInTurn(name, changes, opts) {
  if (!ofView(opts)) return changes(opts);
  let reading;
  let cancelled = false;
  inTurn(name, (done) => {
    if (cancelled) return done();
    const complete = (...args) => { done(); opts.complete(...args); };
    const { cancel } = changes({ ...opts, complete });
    reading = { cancel: () => { done(); cancel(); } };
  });
  return { cancel: () => { cancelled = true; if (reading) reading.cancel(); } };
}

function order(db, name) {
  const { _bulkDocs: write, _changes: changes, _destroy: destroy } = db;
  db._bulkDocs = (request, opts, callback) => inTurn(name, (done) => {
    write(request, opts, (...args) => { done(); callback(...args); });
  });
  db._changes = (opts) => changesInTurn(name, changes, opts);
  db._destroy = (...args) => { last.delete(name); destroy(...args); };
}

// takeTurns applies this to all databases of an adapter.
function takeTurns(adapters, adapter) {
  const Plain = adapters[adapter];
  function Ordered(opts, callback) {
    Plain.call(this, opts, callback);
    order(this, opts.name);
  }
  adapters[adapter] = Object.assign(Ordered, Plain);
}

module.exports = { takeTurns };
