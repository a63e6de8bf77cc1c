// Package cluster makes the caches of several processes before one origin one coherent cache.
//
// A [Node] runs the protocol of package protocol: it gives the protocol the time, messages,
// and answers of the view's store, and carries out its effects on package cache. To the
// services of a process it is invisible: they begin and end writes of the cache as without a
// cluster, and the cache asks its Coordinator, which the Node is.
//
// # Locks
//
// Node.mu guards the protocol's state machine. It is held while effects are carried out on
// the cache, which takes no lock for them, and while messages are encoded into the outbox.
// Messages are sent after it was released. A hit takes no lock of this package: it compares
// the lease in the cache with the time that it has read anyway.
package cluster
