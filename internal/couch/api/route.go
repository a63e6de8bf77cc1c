package api

// Class is the way in which a request is handled.
type Class uint8

// The classes of requests.
const (
	// Pass: send each request to a node. It changes nothing that is cached.
	Pass Class = iota
	// Read: the answer may be cached by path and query.
	Read
	// ReadByBody: a POST that reads; the body is part of the key, see AppendBody.
	ReadByBody
	// Stream: a live feed of any length with pauses of any length.
	Stream
	// Write: the request changes the things in Touch.
	Write
	// Static: files that are cached as their header fields specify.
	Static
)

func (c Class) String() string {
	return [...]string{"pass", "read", "read by body", "stream", "write", "static"}[c]
}

// Kind is the kind of resource at a path.
type Kind uint8

// The kinds of resources.
const (
	Server       Kind = iota // an endpoint of the server
	DatabaseList             // the list of databases
	Database                 // a database itself, or an endpoint that belongs to it
	Document                 // a document or a design document
	Attachment               // an attachment of a document
	Local                    // a document that is not replicated and not announced
	Result                   // computed from any documents of the database: views, _all_docs, _find
	Rendering                // computed by a function that sees the request: lists, shows
	Feed                     // changes of a database or of the server
)

func (w Kind) String() string {
	return [...]string{"server", "names", "database", "document", "attachment", "local", "result", "rendering", "feed"}[w]
}

// NodeRule is the rule for the node that must get a request.
type NodeRule uint8

// The rules for nodes.
const (
	// AnyNode: any node that is up to date.
	AnyNode NodeRule = iota
	// WriteNode: the node that takes writes.
	WriteNode
	// SameNode: the node that the client used before, since the request is meaningless to
	// others. Examples are positions of feeds, local documents, sessions and jobs.
	SameNode
)

func (w NodeRule) String() string { return [...]string{"any", "writer", "same"}[w] }

// Touch is the set of things that a write may change.
type Touch uint16

// The things that a write may touch.
const (
	// TouchDocument: the document of Route.AppendID, and all results of the database.
	TouchDocument Touch = 1 << iota
	// TouchBody: the documents with an _id in the body, and all results.
	TouchBody
	// TouchDestination: the document in the header Destination, and all results.
	TouchDestination
	// TouchDocuments: any documents of the database, and all results.
	TouchDocuments
	// TouchDatabase: the database itself, for example when it is created or deleted: all its
	// copies, even of fixed revisions.
	TouchDatabase
	// TouchDatabaseList: the list of databases.
	TouchDatabaseList
	// TouchSecurity: the permissions to read the database.
	TouchSecurity
	// TouchUsers: the permissions to read any database: users and the server's settings.
	TouchUsers
	// TouchSession: the credentials of the request itself.
	TouchSession
)

// Flags are properties of a read that affect how long its answer is valid.
type Flags uint8

// The properties of reads.
const (
	// NamedRevision: the query names a revision: see Route.AppendRevision. Unless it is a
	// leaf, compaction removes its body, without an event.
	NamedRevision Flags = 1 << iota
	// RevisionMeta: the answer has more than the winning revision, so it may change while
	// the document's ETag remains.
	RevisionMeta
	// Multipart: the answer may be multipart, if Accept permits that.
	Multipart
	// HasRows: the answer consists of the rows of a result. A node's validator for it may
	// depend on the node's own positions.
	HasRows
	// AllowsStale: the result may be older than the database, so no event shows when it
	// changes.
	AllowsStale
	// IncludesDocs: rows may include documents, in a revision that the row names.
	IncludesDocs
)

// Route is a request as CouchDB interprets it. Its slices are parts of the path and the
// query passed to Classify, escaped.
type Route struct {
	Class Class
	Kind  Kind
	Node  NodeRule
	Flags Flags
	Touch Touch

	DB         []byte // nil if the path has none
	ID         []byte // the document's id; without "_design/" if Design is set
	Design     bool   // ID is the name of a design document, perhaps followed by a view, list or show
	Attachment []byte // the path after the document
	revision   []byte // set for NamedRevision

	path, query []byte
	unread      []byte // the rest of the path
	ambiguous   bool   // products interpret the path differently
}

// InSystemDatabase reports whether the database is a system database, for example of users
// or of replications. Nothing of these is cached.
func (r *Route) InSystemDatabase() bool { return len(r.DB) > 0 && firstByte(r.DB) == '_' }
