// Package catalog holds tables as data: their properties, the requests that change them, and
// their descriptions. It does not handle items, locks or storage.
//
// A published *Table never changes. CreateTable and the other changes return a new one,
// which shares the unchanged parts with the old one. A pointer to a table is a snapshot of
// it.
package catalog
