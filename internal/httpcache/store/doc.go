// Package store holds the stored responses of an HTTP cache: how they are found, replaced
// and purged, in memory and on disk. It sees no connection: a look-up is a [Query], and
// what is stored is made of a [Head] and a [Body].
//
// # What is stored
//
// A [Resource] is stored under a primary key (scheme, host, path and query). It holds the
// variants that the origin made of it, each an [Object] with its head, its body and its
// fence, and markers that identify requests without a storable answer. A resource is
// immutable and replaced as a whole, so that a look-up takes no lock.
//
// # Invalidation
//
// An unsafe method writes the tag of its URL through package cache. Each object carries the
// generations that were noted before its own origin was asked (see [Fence]), also when
// another variant is stored beside it. Purges are numbered. An object notes the number of
// the newest purge before its origin is asked, and a look-up compares it with the purges
// since then: see [Purge].
package store
