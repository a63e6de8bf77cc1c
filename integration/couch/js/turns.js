'use strict';
// Bringing a view up to date and writing its database, one after the other. PouchDB
// reads the rows of changes from a snapshot but what is newest of each document from the
// database, and leaves out what is not the newest: a document that is written again
// meanwhile is in neither form among them. A view that is brought up to date just then
// lacks what was acknowledged before it was asked for, as CouchDB's never does. To
// whoever follows the changes the newer form comes later.

const last = new Map(); // by the name of a database, prefix and all: the end of the last one's turn

// inTurn calls task when all before it are done; it is done when it calls its argument.
function inTurn(name, task) {
  const before = last.get(name) || Promise.resolve();
  last.set(name, before.then(() => new Promise(task)).catch((e) => console.error('turn:', e)));
}

// ofView tells what pouchdb-abstract-mapreduce asks for from everything else.
const ofView = (opts) => opts.return_docs && opts.include_docs && opts.conflicts && opts.limit && !opts.continuous;

function changesInTurn(name, changes, opts) {
  if (!ofView(opts)) return changes(opts);
  let reading;
  let cancelled = false;
  inTurn(name, (done) => {
    if (cancelled) return done();
    const complete = (...told) => { done(); opts.complete(...told); };
    const { cancel } = changes({ ...opts, complete });
    reading = { cancel: () => { done(); cancel(); } };
  });
  return { cancel: () => { cancelled = true; if (reading) reading.cancel(); } };
}

function order(db, name) {
  const { _bulkDocs: write, _changes: changes, _destroy: destroy } = db;
  db._bulkDocs = (request, opts, callback) => inTurn(name, (done) => {
    write(request, opts, (...told) => { done(); callback(...told); });
  });
  db._changes = (opts) => changesInTurn(name, changes, opts);
  db._destroy = (...args) => { last.delete(name); destroy(...args); };
}

// takeTurns has all databases of an adapter do so.
function takeTurns(adapters, adapter) {
  const Plain = adapters[adapter];
  function Ordered(opts, callback) {
    Plain.call(this, opts, callback);
    order(this, opts.name);
  }
  adapters[adapter] = Object.assign(Ordered, Plain);
}

module.exports = { takeTurns };
