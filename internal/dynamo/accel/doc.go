// Package accel is the dynamodb service: DynamoDB's JSON API in front of an
// origin that speaks it, with a coherent cache of items and queries in between.
//
// # One rule
//
// The cache answers only requests that it understands completely. Every other
// request goes to the origin as it came, and the origin's answer, errors
// included, comes back byte for byte. So a parser here may say "I don't know",
// but must not accept what DynamoDB would refuse.
//
// # What is cached, and what drops it
//
//	entry                  depends on (tags)
//	item                   the item, its partition's purge, the table, the origin
//	query on table or LSI  writes in the partition, the table, the origin
//	query on a GSI         changes in the index's partition, the whole index, the table, the origin
//	scan                   writes in the table, the table, the origin
//	a table's description  changes of the table
//
// Tags are named by the origin and not by the service, so a write through one service
// drops what another one has cached of the same origin; keys of entries are each
// service's own.
//
// A write moves the item's tag, its partition's and the table's "writes" tag before
// the origin is asked and after it has answered. Which partitions of global indexes
// the item left and entered is learnt from the images that the write returns: the
// service asks the origin for the image it lacks (ReturnValues) and gives the client
// only what the client asked for. Where an image can't be had, all queries of the
// index go.
//
// # Files
//
// service.go has the life of a request, call.go the state of one; getitem.go,
// batchget.go, query.go, write.go, batchwrite.go, transact.go, partiql.go and
// tableops.go are the operations; schema.go learns tables; tags.go names what
// entries depend on; forward.go asks the origin; reply.go writes answers.
package accel
