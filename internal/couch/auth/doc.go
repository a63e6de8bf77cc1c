// Package auth decides which clients may get copies. CouchDB grants read access per
// database: all clients with access to a database see the same documents and views in it. So
// copies are shared, and only one decision is cached per identity and database: the node's
// answer to HEAD /db with the client's own credentials.
//
// A decision is cached for a short time, since the settings behind it are in no feed.
// Changes through Kasoku take effect at once: decisions depend on tags of package cache,
// which move with the write. A decision that was requested before a write of _security and
// answered after it is not cached.
package auth
