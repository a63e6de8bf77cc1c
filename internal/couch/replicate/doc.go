// Package replicate keeps continuous replications between nodes alive. CouchDB knows
// two kinds. A document in the database _replicator survives restarts, but the node
// may have given it up for good, and somebody may have deleted it. What POST
// _replicate has started is gone without a word when the node restarts.
//
// A Keeper has a document for each replication where the node has a _replicator
// database, and starts it anew by _replicate where it has none. It looks after
// them from time to time, and at once when it is told that a node was away or lags;
// then it puts new documents in the place of those that may wait for nothing.
package replicate
