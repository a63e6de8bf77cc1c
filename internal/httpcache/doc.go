// Package httpcache is the HTTP cache: what is stored of responses, how it is
// found, purged and filled. The rules of RFC 9111 are in its package policy.
//
// # What is stored
//
// Under a primary key (scheme, host, path and query) lies a [Resource]: the
// variants that the origin made of it, each an [Object] with its head, its body
// and its fence, and the markers that say which requests get no storable
// answer. Resources are replaced as a whole, so that a look-up takes no lock.
//
// # How it leaves
//
// An unsafe method writes the tag of its URL through package cache, and each
// object carries the generations that were noted before its own origin was
// asked, also when another variant is stored beside it. Purges are numbered. An
// object notes the number of the newest purge before its origin is asked, and is
// held against those that came later when it is looked up: see [Purge].
//
// # How it gets there
//
// A [Flight] is one request to the origin for whoever wants its answer. It hands
// out the head as soon as it is known and bytes as they come, and puts the
// whole object into the store in the end.
package httpcache
