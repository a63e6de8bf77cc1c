// Package ring computes which of several memcached servers holds a key, by the rules of the
// client that wrote it.
//
// Client libraries distribute keys over servers in different ways, and a reader that differs
// from the writer in any detail has misses. Each way has a name here (Names lists them),
// with the parameters of its clients; other parameters are refused. The algorithms are those
// of the clients as they behave, including odd rounding and misleading names.
//
// Terms: a server's label is its text on a ring, usually its address in the writer's
// configuration. A point is a 32-bit value on the ring that belongs to a server. A slot is
// an entry of a table that is indexed by the remainder of a hash.
//
// A Ring has no connections: it does not resolve names or detect that a server is down.
package ring
