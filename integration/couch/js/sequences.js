'use strict';
// Sequence tokens as in CouchDB 2 and 3: text that is meaningful only to the node
// that made it. PouchDB counts from 1 on every node, which would hide that a client
// uses a position of another node.

class Sequences {
  constructor(identity) { this.identity = identity; }

  token(n) { return `${n}-${this.identity}`; }

  // read returns the number in a token: 0 for tokens of other nodes, after which
  // all changes are sent, and null for malformed tokens.
  read(text) {
    if (text === '0' || text === 'now') return text === 'now' ? text : 0;
    const [, n, by] = /^"?(\d+)-([0-9a-f]+)"?$/.exec(text) || [];
    if (n === undefined) return null;
    return by === this.identity ? Number(n) : 0;
  }
}

module.exports = { Sequences };
