// Package catalog holds tables as data: what a table is made of, which requests
// may change it and how it describes itself. It knows nothing of items, locks or
// disks.
//
// A published *Table never changes. CreateTable and its like return a new one,
// which shares with the old what stayed the same; who keeps a pointer keeps the
// table as it was.
package catalog
