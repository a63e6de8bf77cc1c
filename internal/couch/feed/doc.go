// Package feed lets any number of clients follow the live _changes of a database
// at the cost of one continuous feed at the node.
//
// # What is shared
//
// Clients share a feed if they ask the same of the same node: the database, every
// parameter and body that decides which rows there are and what they say, and, where
// a function decides it that may look at the request, the request's header lines.
// What a client alone is concerned with is done here: where it begins, how many rows
// it takes, heartbeats, timeouts, and whether it wants lines, one batch or events.
//
// # What a client gets
//
// Rows are passed on byte for byte, in the order of the node's own feed. A group of
// clients holds the newest rows in a Ring. A client begins
//
//   - at the ring's end with since=now,
//   - behind the row whose position it names, if that row is in the ring,
//   - else by catching up: pages of a normal feed from its position on. The ring's
//     end is noted before a page is asked for, so that whatever changes while the
//     node answers is behind that mark; the client goes on from there when a page has
//     come to its end. Rows that were in the page as well, byte for byte, are left out.
//
// So a client gets every change behind its position at least once, as from the node,
// and a document's last row tells its newest state. A client that the ring has left
// behind, because it reads too slowly, catches up in the same way from its last row.
//
// # When it ends
//
// When the node ends the feed, as it does when the database is deleted, clients are
// ended in order, each with the last position it was told. When the feed breaks off, it
// is resumed at its last position on the same node, if that is soon possible and the
// database is still the one that it was. Otherwise clients are cut, as they would be by
// a node that dies: positions mean nothing to another node, and what it makes of them
// is the client's own request to ask. A client that comes when the node can't be reached
// gets the feed of the next one.
//
// # Memory
//
// An idle client has a goroutine and a struct of less than 512 bytes, and no buffer. One
// that is being written to has a buffer from a pool and rows of 64 KiB or one, one that
// catches up a page of at most Config.PageBytes and one row, which clients have together
// who come from one position. A ring holds Config.RingBytes and one row.
package feed
