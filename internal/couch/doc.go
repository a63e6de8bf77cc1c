// Package couch is the couchdb service: CouchDB nodes that replicate to each other,
// behind one address, with what was read of them kept for as long as their own feeds
// say that it is good.
//
// What a request means is told by package route, when a copy is good by coherence,
// who may be given one by visible. Copies are made, stored and sent by the HTTP
// engine, package httpcache, which is given a plan for each request.
package couch
