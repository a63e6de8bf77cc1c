// Package ring tells which of several memcached servers holds a key, by the
// rules of the client that wrote it.
//
// Every client library spreads keys over servers in a way of its own, and a
// reader that differs from the writer in any detail sees misses. So each way
// has a name here (Names lists them), together with the parameters that its
// clients have, and refuses those that they don't have. The algorithms are
// those of the clients as they behave, odd roundings and misnomers included.
//
// Three words: a server's label is the text that stands for it on a ring,
// mostly its address as it was configured in the writer. A point is a 32-bit
// value on the ring that belongs to a server. A slot is a place in a table that
// is indexed by the remainder of a hash.
//
// A Ring knows nothing of connections: it neither resolves names nor notices
// that a server is down.
package ring
