// Package store holds the stored responses of an HTTP cache: it finds, replaces and purges
// them, in memory and on disk. It has no access to connections: a look-up is a [Query], and
// an object is made of a [Head] and a [Body].
//
// # Objects
//
// A [Resource] is stored under a primary key (scheme, host, path and query). It holds the
// variants that the origin sent, each an [Object] with a head, a body and a fence, and
// markers for requests whose answers cannot be shared. A resource is immutable and replaced
// as a whole, so that a look-up takes no lock.
//
// To fill the cache, note a fence before the origin is asked and store the object under it:
//
//	at := s.Fence(key)
//	... // ask the origin
//	s.Put(key, store.NewObject(head, s.Track(store.Gather(pieces)), at), nil)
//
// Put stores nothing if a write or a purge has touched the key since the fence was noted.
//
// # Invalidation
//
// An unsafe method writes the tag of its URL through package cache. Each object carries the
// generations that were noted before its own origin was asked (see [Fence]), also when
// another variant is stored beside it. Purges are numbered. An object carries the number of
// the newest purge before its origin was asked, and a look-up compares it with the purges
// since then: see [Purge].
package store
