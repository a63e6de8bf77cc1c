// Package cluster makes the caches of several processes before one origin one coherent cache.
//
// A [Node] runs the protocol of package protocol: it gives the protocol the time, messages,
// and answers of the view's store, and carries out its effects on package cache. To the
// services of a process it is invisible: they begin and end writes of the cache as without a
// cluster, and the cache asks its Coordinator, which the Node is.
//
// # Fills
//
// A miss is asked of the owner of its key first (Node.Fetch), so that the origin is asked once
// for all members. The owner answers from its cache, or with a fill of its own. As long as that
// fill runs it sends signs, in one message for all requests of a member. 150 ms after the last
// one the asker sends the request to the origin itself. So the death of an owner delays a miss
// by that much.
//
// The owner answers only while it has a lease, and sends signs only under the asker's epoch.
// All members agree on the owner of a key in an epoch, so fills that wait for each other in a
// circle can't all get signs.
//
// A new owner has no answers. For some time it asks the former owner, which is the second one in
// the order of hashes (Node.FetchStored). That one looks into its memory only, so no fill waits
// for another one there.
//
// # Warming
//
// A node that has joined reads lists of the others' hottest entries, page by page, and requests
// what is stored in batches (warmRun). For each batch the generations are noted before it is
// requested.
//
// # Locks
//
// Node.mu guards the protocol's state machine. It is held while effects are carried out on
// the cache, which takes no lock for them, and while messages are encoded into the outbox.
// Messages are sent after it was released. peers.mu is a leaf. A hit takes no lock of this
// package: it compares the lease in the cache with the time that it has read anyway.
package cluster
