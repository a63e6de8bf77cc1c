'use strict';
// Sequence tokens as CouchDB 2 and 3 give them out: text that means something
// only to the node that made it. PouchDB counts from 1 on every node alike, and
// would hide it if somebody carried a position from one node to another.

class Sequences {
  constructor(identity) { this.identity = identity; }

  token(n) { return `${n}-${this.identity}`; }

  // read returns the number in a token: 0 for those of other nodes, which replay
  // everything, and null for what no node has made.
  read(text) {
    if (text === '0' || text === 'now') return text === 'now' ? text : 0;
    const [, n, by] = /^"?(\d+)-([0-9a-f]+)"?$/.exec(text) || [];
    if (n === undefined) return null;
    return by === this.identity ? Number(n) : 0;
  }
}

module.exports = { Sequences };
