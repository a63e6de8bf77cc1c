// Package embedded is a DynamoDB-compatible store inside the process: durable, with the
// service's messages, limits and semantics. It replaces an origin: Do executes a request of
// DynamoDB's JSON protocol.
//
// # On disk
//
// All keys begin with a byte that names their key space; see keys.go. An item is stored as
// its size followed by its JSON text, which is copied into replies. An index entry is stored
// in the same form, with the projected attributes.
//
// # Concurrency
//
// Reads use snapshots of the disk and take no shared lock. A write locks its items before it
// reads them, releases them once its batch is applied, and then waits for the disk. One
// request writes everything in one batch: items, index entries, expiry entries, stream
// records, counters. Several locks must be acquired in this order:
//
//	Store.working -> Store.running -> Store.schema -> table.mu (by id) -> stripes (ascending) -> table.stream.mu (by id)
//
// Store.schema is held to change the set of tables or a table's schema. It must be acquired
// before table.mu.
//
// # Faults
//
// SetFaults injects faults by a plan of package faults. Do decides about each request before its
// handler is called; without faults this is one atomic load.
package embedded
