// Package couch is the couchdb service. It puts CouchDB nodes that replicate to each other
// behind one address, and caches what is read from them for as long as their own feeds
// confirm that it is current.
//
// Package api parses requests and answers, package follow decides whether a copy is valid,
// package auth decides whether a client may get it, and package feed shares live feeds
// between clients. The HTTP engine, package httpcache, creates, stores and sends copies.
// This package passes it a plan for each request.
package couch
