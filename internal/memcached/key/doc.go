// Package key makes memcached keys from requests.
//
// A Path matches the requests of a location and captures parts of their path. A Template
// makes the bare key of a request, which a ring distributes over servers. Rules make the key
// that is sent: they add the namespace, escape bytes that would end a key, and treat keys
// that are too long. None of this allocates if the request's buffers are large enough.
//
// Text from a client never becomes a command: a key with a byte that memcached does not
// allow is invalid (BadByte), unless the byte is escaped.
package key
