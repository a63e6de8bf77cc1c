// Package api is the CouchDB API as bytes: it opens no connection and keeps no state.
//
//   - Classify returns the Route of a request: its kind and its effects, whether its
//     answer may be cached, which node must get it, and its cache key.
//   - WriteIDs, StoredRevisions and SentRevisions return the documents that a write
//     names and the revisions that it stored.
//   - FeedReader reads a _changes feed, Change is one of its rows, and DatabaseReplaced
//     compares two positions in it.
//   - ReadDatabaseInfo reads the identity of a database.
//   - Members and Elements walk JSON objects and arrays in place.
//
// Where CouchDB and compatible products interpret a path differently, reads are not
// cached, and writes touch everything that any of them may change.
package api
