// Package value reads what clients of memcached store. An item is bytes and a
// 32-bit number, its flags, which the server hands back and does not read: what the
// flags say is each client library's own affair. A Profile knows one of them: it
// tells strings from serialised objects, and compressed values from plain ones.
//
// Reading has two steps. Look tells from the flags and the first bytes what a value
// is, and costs nothing; AppendPlain and AppendGzip then make of it what a client of
// HTTP is sent. A value is input like any other: whoever may write to the cache
// decides what is in it, so that decoding is bounded in what it makes.
package value
