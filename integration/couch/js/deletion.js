'use strict';
// Deletes a database while no other request for it is in flight: PouchDB would
// create it again for a request that arrives during the deletion.

const under = new Map(); // name -> number of requests in flight
const deleting = new Map(); // name -> functions to call after the deletion

// nameOf returns the database in a path, not decoded; undefined for the server.
const nameOf = (url) => url.pathname.split('/').filter(Boolean)[0];

const deletes = (req, url) => req.method === 'DELETE' && url.pathname.split('/').filter(Boolean).length === 1;

// enter calls go when the request may be executed.
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
