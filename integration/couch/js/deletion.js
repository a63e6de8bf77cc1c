'use strict';
// Deleting a database, alone: PouchDB makes a database anew for a request that
// comes while it is being deleted, and then the deletion has not happened.

const under = new Map(); // name -> requests that are being answered
const deleting = new Map(); // name -> what waits for the deletion's end

// name is the database of a path, as it stands there; undefined for the server.
const nameOf = (url) => url.pathname.split('/').filter(Boolean)[0];

const deletes = (req, url) => req.method === 'DELETE' && url.pathname.split('/').filter(Boolean).length === 1;

// enter calls go when the request may be answered.
function enter(req, res, url, go) {
  const name = nameOf(url);
  if (name === undefined) return go();
  const waiting = deleting.get(name);
  if (waiting) return waiting.push(() => enter(req, res, url, go));
  if (deletes(req, url)) return alone(name, res, go);
  under.set(name, (under.get(name) || 0) + 1);
  res.on('close', () => leave(name));
  go();
}

function leave(name) {
  under.set(name, under.get(name) - 1);
  const waiting = deleting.get(name);
  if (under.get(name) === 0 && waiting && waiting.first) waiting.first();
}

function alone(name, res, go) {
  const waiting = [];
  deleting.set(name, waiting);
  res.on('close', () => {
    deleting.delete(name);
    waiting.forEach((then) => then());
  });
  if (under.get(name)) waiting.first = go;
  else go();
}

module.exports = { enter };
