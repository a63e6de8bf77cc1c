// Package route says what a request means to CouchDB: whether it reads or writes,
// what it reads or writes, whether its answer may be kept, which node has to get
// it, and under which key an answer is kept. It looks at the request's line and
// at X-HTTP-Method-Override only, and does nothing.
//
// Wherever CouchDB and products that speak its protocol understand a path
// differently, reads are not cached and writes touch whatever they could mean.
package route
