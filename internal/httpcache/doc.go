// Package httpcache is the HTTP cache and the service on it: requests are answered from what
// is stored or from an origin. The rules of RFC 9111 are in its package policy, the stored
// responses in its package store.
//
// A [Flight] is one request to the origin for every client that wants its answer. It hands
// out the head as soon as it is known and bytes as they arrive, and stores the whole object
// at its end.
package httpcache
