// Package accel implements the dynamodb service: DynamoDB's JSON API in front of an origin
// with the same API, with a coherent cache of items and queries.
//
// # One rule
//
// The cache answers only requests that it understands completely. Any other request is
// forwarded to the origin unchanged, and the origin's response, errors included, is returned
// byte for byte. A parser here may therefore fail on any request, but must not accept one
// that DynamoDB would reject.
//
// # Entries and their dependencies
//
//	entry                  depends on (tags)
//	item                   the item, its partition's purge, the table, the origin
//	query on table or LSI  writes in the partition, the table, the origin
//	query on a GSI         changes in the index's partition, the whole index, the table, the origin
//	scan                   writes in the table, the table, the origin
//	a table's description  changes of the table
//
// Tags are named by the origin and not by the service: a write through one service also
// invalidates what other services have cached from the same origin. The keys of entries are
// private to each service.
//
// A write invalidates the item's tag, its partition's and the table's "writes" tag, before
// the request is sent to the origin and after the response. The partitions of global indexes
// that the item left and entered are determined from the images returned by the write: the
// service requests the image it needs (ReturnValues) and returns to the client only the
// attributes that the client requested. If an image isn't available, all queries of the
// index are dropped.
//
// # Files
//
// service.go has the life of a request, call.go its state; getitem.go, batchget.go,
// query.go, write.go, batchwrite.go, transact.go, partiql.go and tableops.go are the
// operations; passthrough.go forwards reads that aren't cached; schema.go loads table
// descriptions; tags.go defines the tags of entries; feed.go follows the stream of a table,
// feedpeer.go asks the node that reads it, and own.go recognizes the records of own writes; forward.go sends requests to the origin; reply.go writes
// replies.
package accel
