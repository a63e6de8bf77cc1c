// Package changes reads the feeds in which CouchDB tells what has changed,
// _changes of a database and _db_updates of a server, and follows a database on a
// node for as long as it is wanted.
//
// # A feed's forms
//
// A continuous feed is one JSON object on a line for each change, an empty line as
// heartbeat, and a last line with "last_seq" if the node ends it. Normal and
// longpoll feeds are one JSON object with the changes in "results"; a long poll's
// heartbeats are newlines between them.
//
// # What a follower may rely on
//
// A change is announced by every node that has it, once its document is stored
// there: as a row with the document's id and winning revision. Rows come at least
// once; several changes of a document may be one row; some rows may be repeated.
// A position belongs to one node and one incarnation of its database.
package changes
