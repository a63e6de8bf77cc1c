package api

// Class says what may be done with a request.
type Class uint8

// The classes of requests.
const (
	// Pass: ask a node each time. It changes nothing that is cached.
	Pass Class = iota
	// Read: the answer may be kept under the path and the query.
	Read
	// ReadByBody: a POST that reads; the body belongs into the key, see AppendBody.
	ReadByBody
	// Stream: a live feed, of any length and with pauses of any length.
	Stream
	// Write: it changes what Touch says.
	Write
	// Static: files whose headers say how long they keep.
	Static
)

func (c Class) String() string {
	return [...]string{"pass", "read", "read by body", "stream", "write", "static"}[c]
}

// Kind is the kind of thing that a path names.
type Kind uint8

// The kinds of things.
const (
	Server       Kind = iota // an endpoint of the server
	DatabaseList             // the list of databases
	Database                 // a database itself, or an endpoint that belongs to it
	Document                 // a document, a design document among them
	Attachment               // an attachment of a document
	Local                    // a document that is neither replicated nor announced
	Result                   // computed from any documents of the database: views, _all_docs, _find
	Rendering                // computed by a function that sees the request: lists, shows
	Feed                     // what changed
)

func (w Kind) String() string {
	return [...]string{"server", "names", "database", "document", "attachment", "local", "result", "rendering", "feed"}[w]
}

// NodeRule says which node must get a request.
type NodeRule uint8

// The choices of a node.
const (
	// AnyNode that is caught up.
	AnyNode NodeRule = iota
	// WriteNode: the node that takes writes.
	WriteNode
	// SameNode: the one that the client was with before, since what it asks for
	// means something to that node only: positions of feeds, local documents,
	// sessions, jobs.
	SameNode
)

func (w NodeRule) String() string { return [...]string{"any", "writer", "same"}[w] }

// Touch says what a write may change, as a set.
type Touch uint16

// The things that a write may touch.
const (
	// TouchDocument: the document that Route.AppendID names, and with it all
	// results of the database.
	TouchDocument Touch = 1 << iota
	// TouchBody: the documents that the body names by _id, and all results.
	TouchBody
	// TouchDestination: the document that the header Destination names, and all
	// results.
	TouchDestination
	// TouchDocuments: any documents of the database, and all results.
	TouchDocuments
	// TouchDatabase: the database as such, as when it is created or deleted:
	// whatever was kept of it, fixed revisions among it.
	TouchDatabase
	// TouchDatabaseList: the list of databases.
	TouchDatabaseList
	// TouchSecurity: who may read the database.
	TouchSecurity
	// TouchUsers: who may read any database: users and the server's settings.
	TouchUsers
	// TouchSession: the credentials that the request itself brings.
	TouchSession
)

// Flags are properties of a read that decide how long its answer is good.
type Flags uint8

// The properties of reads.
const (
	// NamedRevision: a revision that is named: Route.AppendRevision has it. Compaction takes its body,
	// without an event, unless it is a leaf.
	NamedRevision Flags = 1 << iota
	// RevisionMeta: shows more than the winning revision determines, so that the answer
	// may change while the document's ETag stays.
	RevisionMeta
	// Multipart: the answer may come as multipart, if Accept leaves that open.
	Multipart
	// HasRows: made of the rows of a result. If a node gives it a validator, that may be
	// made of the node's own positions.
	HasRows
	// AllowsStale: asks for a result that may be older than the database, so that an
	// event does not tell when it changes.
	AllowsStale
	// IncludesDocs: rows may have the documents that they name, in a revision that they name.
	IncludesDocs
)

// Route is a request as CouchDB understands it. Its slices are parts of the path
// and the query that Classify was given, escapes and all.
type Route struct {
	Class Class
	Kind  Kind
	Node  NodeRule
	Flags Flags
	Touch Touch

	DB         []byte // nil if the path names none
	ID         []byte // the document's id; without "_design/" if Design is set
	Design     bool   // ID is a design document's name, also with views, lists and shows of it
	Attachment []byte // all that follows the document
	revision   []byte // the one that is named, if Named is set

	path, query []byte
	unread      []byte // what of the path is not looked at yet
	ambiguous   bool   // the path is understood differently by different products
}

// InSystemDatabase tells whether the database is one of the server's own, of which nothing
// may be kept: users, replications.
func (r *Route) InSystemDatabase() bool { return len(r.DB) > 0 && firstByte(r.DB) == '_' }
