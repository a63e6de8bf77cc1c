// Package embedded is a DynamoDB-compatible store inside the process: durable,
// with the service's messages, limits and semantics. It takes the place of an
// origin: Do answers a request of DynamoDB's JSON protocol.
//
// # On disk
//
// All keys begin with a byte that names their space; keys.go lists them. An item
// is stored as its JSON text, ready to be copied into a reply, behind its size. An
// index entry is stored in the same form, holding what the index projects.
//
// # Concurrency
//
// The disk is a store of snapshots, so that reads take no lock that others
// share. A write locks the items that it is about, from reading them until its
// batch is applied, and lets go before it waits for the disk. Everything that one
// request writes stands in one batch: items, index entries, order of expiry,
// stream records, counters. Whoever acquires several locks does so in this order:
//
//	Store.running -> table.mu (by id) -> stripes (ascending) -> table.stream.mu (by id)
//
// Store.schema is held by who changes the set of tables or a table's schema; it
// comes before table.mu.
package embedded
