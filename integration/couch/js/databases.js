'use strict';
// The databases of a node, and when each of them was created. PouchDB does not
// store that, and without it a database can't be distinguished from its successor
// of the same name.

const fs = require('fs');
const path = require('path');
const crypto = require('crypto');
const { EventEmitter } = require('events');
const { Sequences } = require('./sequences');
const { takeTurns } = require('./turns');

// PouchDB stores its own data in databases too.
const internal = (name) => /-mrview-|^pouch__/.test(name);

// Databases emits created(name) and destroyed(name).
class Databases extends EventEmitter {
  constructor(directory) {
    super();
    this.setMaxListeners(0);
    this.memory = directory === 'memory';
    this.directory = this.memory ? null : path.resolve(directory);
    this.born = new Map(); // name -> instance_start_time
    this.open = new Map(); // name -> the handle that feeds read from
    if (!this.memory) fs.mkdirSync(this.directory, { recursive: true });
    this.load();
    this.sequences = new Sequences(this.identity());
    this.PouchDB = this.pouch();
    this.PouchDB.on('created', (name) => this.sawOpened(name));
    this.PouchDB.on('destroyed', (name) => this.sawDestroyed(name));
  }

  pouch() {
    const adapter = this.memory ? 'memory' : 'leveldb';
    const plugins = ['pouchdb-adapter-http', 'pouchdb-replication', 'pouchdb-mapreduce', 'pouchdb-adapter-' + adapter];
    const plain = plugins.reduce((made, name) => made.plugin(require(name)), require('pouchdb-core'));
    takeTurns(plain.adapters, adapter);
    const made = plain.defaults(this.memory ? { adapter: 'memory' } : { prefix: this.directory + path.sep });
    made.setMaxListeners(0);
    return made;
  }

  // identity returns the node's unique name, which lasts as long as its data.
  identity() {
    const fresh = crypto.randomBytes(8).toString('hex');
    if (this.memory) return fresh;
    const file = path.join(this.directory, 'identity');
    if (!fs.existsSync(file)) fs.writeFileSync(file, fresh);
    return fs.readFileSync(file, 'utf8');
  }

  get records() { return path.join(this.directory, 'births.json'); }

  load() {
    if (this.memory || !fs.existsSync(this.records)) return;
    this.born = new Map(JSON.parse(fs.readFileSync(this.records, 'utf8')));
  }

  // save replaces the whole file, since the node may be killed at any time.
  save() {
    if (this.memory) return;
    fs.writeFileSync(this.records + '.new', JSON.stringify([...this.born]));
    fs.renameSync(this.records + '.new', this.records);
  }

  // sawOpened is called for each handle that PouchDB creates. The first one of an
  // unknown name means that the database was created.
  sawOpened(name) {
    if (internal(name) || /^https?:/.test(name) || this.born.has(name)) return;
    this.born.set(name, String(Math.floor(Date.now() / 1000))); // in seconds, as CouchDB 3
    this.save();
    this.emit('created', name);
  }

  sawDestroyed(name) {
    if (!this.born.delete(name)) return;
    this.open.delete(name);
    this.save();
    this.emit('destroyed', name);
  }

  has(name) { return this.born.has(name); }

  names() { return [...this.born.keys()]; }

  handle(name) {
    let db = this.open.get(name);
    if (!db) {
      db = new this.PouchDB(name);
      db.setMaxListeners(0);
      this.open.set(name, db);
    }
    return db;
  }
}

function application(databases) {
  const at = (file) => (databases.memory ? '/dev/null' : path.join(databases.directory, file));
  const app = require('express-pouchdb')(databases.PouchDB, {
    mode: 'fullCouchDB',
    inMemoryConfig: databases.memory,
    configPath: at('config.json'),
    logPath: at('log.txt'),
    overrideMode: { exclude: ['compression', 'routes/fauxton', 'routes/db-updates', 'routes/http-log'] },
  });
  app.disable('etag');
  app.disable('x-powered-by');
  return app;
}

module.exports = { Databases, application };
