// Package memcached is the service that answers HTTP requests with values that an
// application keeps in memcached, without calling the application.
//
// A request takes these steps:
//
//  1. The table finds its location by the path. The callback (package jsonp) is stripped from
//     the query, and the location's template makes a key of the rest.
//  2. With near_ttl above 0, a fresh copy in this process answers.
//  3. The ring selects the server with the key, package client fetches the value, and package
//     value decodes it.
//  4. A value is answered with an ETag made of its bytes: 200, or 304.
//  5. Everything else is a miss with a Reason, including failures of memcached, and is answered
//     by the fallback: miss. A request without a location, or with another method than GET and
//     HEAD, is passed to the fallback unchanged: pass.
//
// A call belongs to one exchange. Settings are immutable: a reload makes new ones, and
// requests in flight keep theirs.
package memcached
