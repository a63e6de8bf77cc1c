// Package value reads the values that clients of memcached store. An item is bytes and a
// 32-bit number, its flags, which the server does not interpret: their meaning depends on
// the client library. A Profile is the meaning of one library: it distinguishes strings from
// serialised objects, and compressed values from plain ones.
//
// Reading has two steps. Inspect classifies a value by its flags and first bytes, at no
// cost; AppendPlain and AppendGzip then decode it for a client of HTTP. Values are untrusted
// input, because any client with write access to memcached can store them, so the size of
// the decoded value is bounded.
package value
