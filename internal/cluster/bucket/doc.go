// Package bucket keeps the view of a cluster, which lists its members, in a key-value bucket of
// NATS: for clusters without a table at the origin.
//
// # The bucket
//
// A bucket is a stream of JetStream, of which several servers have copies. The view is the value of
// the key <cluster>.view, as the JSON of the item that package view describes, so that several
// clusters may share a bucket. The key <cluster>.proof has no value.
//
//	nats kv get kasoku-site site.view
//
// # Writes
//
// Write replaces the message with the view on condition that it is still the one that the caller has
// read and changed: the leader of the stream compares sequence numbers before it appends a message
// to the stream's log. The write succeeds when more than half of the servers with a copy have
// stored it. A leader that was deposed can compare, but can't append.
//
// # Reads
//
// JetStream has no linearizable reads: a server answers from its own copy, which may be old, and a
// leader that was deposed without noticing is one of them. So Read gets the newest message with a
// view, and then writes a message on the key for proofs on condition that the message with the
// view is still the newest one. It returns the view only if that write succeeds. Since the servers
// agree on one order of all messages, the view was the present one at a time after Read was called.
//
// The leader refuses conditions on a key for which another one is being written, so that
// concurrent reads and writes fail at times. They are repeated.
//
// # Lost buckets
//
// A bucket that was deleted and created anew has other sequence numbers, because Prepare begins
// with a random one. So a write that was delayed fails.
//
// A bucket that never had a message gets a view without members first, whose field Clean shows
// that no earlier cluster has requests in flight. Otherwise the first members would have to wait
// until the origin can't execute such requests any more.
package bucket
