// Package feed lets any number of clients follow the live _changes feed of a database at the
// cost of one continuous feed on the node.
//
// # Sharing
//
// Clients share a feed if they request the same from the same node: the database, every
// parameter and body that affects the rows, and, if a filter function may look at the
// request, the header fields. Per client are the start position, the number of rows,
// heartbeats, timeouts, and the form: lines, one batch or events.
//
// # Guarantees
//
// Rows are passed on byte for byte, in the order of the node's own feed. A group of clients
// keeps the newest rows in a ring. A client begins
//
//   - at the ring's end, with since=now,
//   - after the row whose position it names, if that row is in the ring,
//   - and otherwise by catching up: it gets pages of a normal feed from its position on.
//     The ring's end is read before a page is requested, so changes during the request are
//     in the ring after that mark, and the client continues there when the page is
//     complete. Rows that were in the page as well, byte for byte, are skipped.
//
// So a client gets every change after its position at least once, as it would from the node,
// and the last row of a document has its newest state. A client that reads so slowly that
// its next row has left the ring catches up in the same way.
//
// # End of a feed
//
// When the node ends the feed, for example because the database is deleted, its clients'
// feeds end in order, each with the client's last position. A feed that breaks off is
// resumed at its last position on the same node, if that is possible soon and the database
// is still the same. Otherwise the clients are cut, as they would be by a node that dies:
// positions are meaningless to another node, and only the client can ask for them again. A
// client that arrives while the node can't be reached gets the feed of the next node.
//
// # Memory
//
// An idle client has a goroutine and a struct of less than 512 bytes, and no buffer. A
// client that is being written to has a buffer from a pool and rows of up to 64 KiB, or one
// row. A client that catches up has a page of up to Config.PageBytes plus one row, which is
// shared by all clients at that position. A ring holds up to Config.RingBytes plus one row.
package feed
