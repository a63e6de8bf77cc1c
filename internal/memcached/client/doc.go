// Package client asks memcached servers for values over few connections that all
// requests share.
//
// A request's goroutine puts its Call among those that wait on a lane, which is the place
// of one connection. Whoever finds nobody writing there becomes the lane's writer: it
// lets other goroutines that can run put theirs in as well, writes all of them at once,
// and goes on while more have come. One goroutine a connection reads replies, copies each
// value into the memory of its call and wakes the call's goroutine. Nothing is allocated
// for a Get, and there is no timer: the connection has a read deadline that is moved
// only when it has passed and nothing was late.
//
// A Call belongs, one after the other, to
//
//  1. its goroutine, until put;
//  2. the lane's lock, in lane.pending;
//  3. the lane's writer, which encodes it: nobody wakes it meanwhile, since its key and
//     value are being read;
//  4. the connection's reader, from lane.push, which is before the bytes leave, until
//     Call.finish;
//  5. its goroutine again.
//
// What a connection said is never trusted beyond its frame: a reply that nobody waits
// for, with another key, of another form or without its CRLF ends the connection, and
// the calls in that frame fail. The others on it are asked once more on a new one. A reply
// of the binary protocol must repeat opcode, opaque and key of the oldest call.
//
// Locks: lane.mu is a leaf. Client.mu is only for starting goroutines and closing.
package client
