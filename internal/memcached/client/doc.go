// Package client fetches values from memcached servers over few connections that all
// requests share.
//
// A request's goroutine appends its Call to the queue of a lane, which holds one connection.
// If no goroutine is writing on that lane, it becomes the lane's writer: it yields, so that
// other runnable goroutines can append theirs, writes all of them at once, and repeats while
// there are more. One goroutine per connection reads replies, copies each value into the
// memory of its call and wakes the call's goroutine. A Get allocates nothing and uses no
// timer: the connection has a read deadline that is moved only after it has passed.
//
// # Ownership of a Call
//
// A Call is owned, in this order, by
//
//  1. the goroutine of its request, until enqueue;
//  2. the lane's lock, while it is in lane.pending;
//  3. the lane's writer, which encodes it. It can't finish meanwhile, because its key and
//     value are being read;
//  4. the connection's reader, from lane.handOver, which precedes the write, until
//     Call.finish;
//  5. the goroutine of its request again.
//
// Replies are trusted only within their frame: a reply that matches no call, has another
// key, is malformed or lacks its CRLF ends the connection, and the calls of that frame fail.
// The other calls on it are retried once on a new connection. A reply of the binary protocol
// must repeat opcode, opaque and key of the oldest call.
//
// Locks: lane.mu is a leaf. Client.mu is only for starting goroutines and closing.
package client
