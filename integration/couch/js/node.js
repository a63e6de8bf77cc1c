'use strict';
// A node that behaves like Apache CouchDB 3 wherever an accelerator could observe a
// difference. PouchDB provides the databases and express-pouchdb the API; the files
// beside this one add or change the rest.
//
//   node node.js PORT DIRECTORY|memory MAINTENANCE-FILE
//
// While MAINTENANCE-FILE exists, _up reports maintenance.

const fs = require('fs');
const http = require('http');
const crypto = require('crypto');
const { Databases, application } = require('./databases');
const { Updates } = require('./updates');
const answers = require('./answers');
const feeds = require('./feeds');
const deletion = require('./deletion');

const [port, directory, maintenance] = process.argv.slice(2);

// PouchDB rejects promises without a handler, for example when a filter is missing.
// A CouchDB node continues to run.
process.on('unhandledRejection', (e) => console.error('unhandled:', (e && (e.stack || e.message)) || e));

// PouchDB's replication uses a fetch that waits forever for the rest of an answer after
// its connection has been lost.
const pipe = http.IncomingMessage.prototype.pipe;
http.IncomingMessage.prototype.pipe = function (to, ...rest) {
  this.once('aborted', () => to.destroy(new Error('connection lost')));
  return pipe.call(this, to, ...rest);
};

const databases = new Databases(directory);
const updates = new Updates(databases);
const app = application(databases);

function up(res) {
  const away = fs.existsSync(maintenance);
  answers.json(res, away ? 404 : 200, away ? { status: 'maintenance_mode' } : { status: 'ok', seeds: {} });
}

const server = http.createServer((req, res) => {
  const url = new URL(req.url, 'http://node');
  res.setHeader('Server', 'CouchDB/3.5.0 (kasoku test node)');
  res.setHeader('X-Couch-Request-ID', req.headers['x-couch-request-id'] || crypto.randomBytes(5).toString('hex'));
  if (url.pathname === '/_up') return up(res);
  if (url.pathname === '/_db_updates') return updates.serve(req, res, url.searchParams);
  const feed = feeds.wanted(req, url);
  if (feed) return feeds.serve(databases, Number(port), req, res, url, feed);
  if (!feeds.translate(databases.sequences, req, url)) return feeds.malformed(res);
  if (feeds.live(url)) return app(req, res);
  answers.hold(databases, req, res, url);
  deletion.enter(req, res, url, () => app(req, res));
});
server.keepAliveTimeout = 300000; // as in CouchDB; the default of Node.js is 5 s
server.listen(Number(port), '127.0.0.1', () => console.log('listening on', port));
server.on('error', (e) => {
  console.error('listen:', e.code);
  process.exit(e.code === 'EADDRINUSE' ? 98 : 1);
});
