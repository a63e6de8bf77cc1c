// Package key makes the keys under which memcached has what requests ask for.
//
// A Path says which requests a location answers, and captures parts of their path.
// A Template makes a key out of a request: the bare key, which is what a ring
// spreads over servers. Rules make of that what goes over the wire: they put the
// namespace before it, escape what memcached takes for the end of a key, and know
// what to do with one that is too long. Nothing here allocates on the way of a
// request whose buffers are large enough.
//
// What a client has written never becomes a command: a key with a byte that
// memcached does not allow in keys is none (BadByte), unless it is escaped.
package key
