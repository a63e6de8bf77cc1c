package api

import "bytes"

// method is a method as CouchDB handles it: HEAD is a GET without the answer's body.
type method uint8

const (
	other method = iota
	get
	post
	put
	remove
	copying
)

func methodOf(name []byte) method {
	switch string(name) {
	case "GET", "HEAD":
		return get
	case "POST":
		return post
	case "PUT":
		return put
	case "DELETE":
		return remove
	case "COPY":
		return copying
	}
	return other
}

// writes reports whether a method changes something, by default.
func (m method) writes() bool { return m >= post }

// Classify returns the route of a request. path and query are the parts of the target before
// and after the question mark, as on the wire. override is the header
// X-HTTP-Method-Override, which CouchDB obeys on POST, with its lines joined by commas; nil
// if there is none. The Route refers to path and query.
func Classify(name, override, path, query []byte) Route {
	m := methodOf(name)
	r := classify(m, path, query)
	if m != post || override == nil {
		return r
	}
	methods := []method{get, put, remove, copying}
	if o, ok := overridingMethod(override); ok {
		methods = []method{o}
	}
	for _, o := range methods {
		r = mergeOverride(r, classify(o, path, query))
	}
	return r
}

// overridingMethod returns the method of an override. ok is false if nodes may interpret it
// differently: CouchDB ignores everything after a semicolon, other servers may ignore case
// or use the last of several lines.
func overridingMethod(override []byte) (m method, ok bool) {
	switch string(override) {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "COPY", "TRACE", "CONNECT":
		return methodOf(override), true
	}
	return other, false
}

// mergeOverride merges the routes of a POST on a node that ignores the override and on a
// node that obeys it. The result touches everything that either may change, and is not
// cached.
func mergeOverride(posted, override Route) Route {
	switch {
	case override.Class == Write:
		if posted.Class == Write {
			override.Touch |= posted.Touch
		}
		return override
	case posted.Class == Write:
		return posted
	case override.Class == Stream:
		return override
	}
	posted.Class = Pass
	return posted
}

func classify(m method, path, query []byte) Route {
	r := Route{path: path, query: query, unread: path}
	r.ambiguous = !validEscapes(path) || !validEscapes(query) || bytes.IndexByte(path, '+') >= 0
	seg := r.nextSegment()
	switch {
	case seg == nil:
	case firstByte(seg) == '_' && r.server(m, seg):
	case string(seg) == "favicon.ico":
		r.Class = Static
	default:
		r.DB = seg
		r.Kind = Database
		r.database(m)
	}
	r.restrict()
	return r
}

// restrict applies the rules for all routes: system databases and ambiguous requests are not
// cached.
func (r *Route) restrict() {
	reads := r.Class == Read || r.Class == ReadByBody
	switch {
	case reads && (r.ambiguous || r.InSystemDatabase() || bytes.IndexByte(r.query, ';') >= 0):
		r.Class = Pass
	case r.Class == Write && r.InSystemDatabase():
		r.Touch |= TouchUsers
	}
	if r.Class == Write && r.ambiguous && r.DB != nil && r.Touch != 0 {
		r.Touch |= TouchDocuments
	}
	if r.Class == Write && r.Node == AnyNode {
		r.Node = WriteNode
	}
}

// server handles the server's endpoints, and reports whether seg is one.
func (r *Route) server(m method, seg []byte) bool {
	var buf [maxName]byte
	switch string(unescapeName(seg, &buf)) {
	case "_all_dbs":
		r.Kind = DatabaseList
		if m == get {
			r.Class = Read
		}
	case "_utils":
		r.Class = Static
	case "_session":
		r.Node = SameNode
		r.writeIf(m, TouchSession)
	case "_db_updates":
		r.Kind, r.Node = Feed, SameNode
		if r.isLive() {
			r.Class = Stream
		}
	case "_replicate", "_scheduler":
		r.Node = SameNode
		r.writeIf(m, TouchDatabaseList)
	case "_config", "_node", "_cluster_setup":
		r.Node = SameNode
		r.writeIf(m, TouchUsers|TouchDatabaseList)
	case "_dbs_info", "_uuids", "_up", "_search_analyze", "_nouveau_analyze":
	case "_active_tasks", "_membership", "_reshard", "_log", "_stats", "_restart", "_prometheus":
		r.Node = SameNode
		r.writeIf(m, 0)
	default:
		return false
	}
	return true
}

// writeIf makes r a write if the method is one that writes.
func (r *Route) writeIf(m method, touch Touch) {
	if m.writes() {
		r.Class, r.Touch = Write, touch
	}
}

// database handles the path after the database.
func (r *Route) database(m method) {
	seg := r.nextSegment()
	switch {
	case seg == nil:
		switch m {
		case put, remove:
			r.Class, r.Touch = Write, TouchDatabase|TouchDatabaseList|TouchSecurity
		case post:
			r.Class, r.Touch = Write, TouchBody
		}
	case firstByte(seg) != '_':
		r.document(m, seg)
	default:
		r.endpoint(m, seg)
	}
}

// document handles a document and its attachments.
func (r *Route) document(m method, id []byte) {
	r.ID, r.Kind = id, Document
	if !r.atEnd() {
		r.Kind, r.Attachment = Attachment, bytes.Trim(r.unread, "/")
		r.unread = nil
	}
	switch m {
	case get:
		r.Class = Read
		r.inspectDocument()
	case copying:
		r.Class, r.Touch = Write, TouchDestination
	case post, put, remove: // a POST is a form with attachments
		r.Class, r.Touch = Write, TouchDocument
	}
}

// endpoint handles CouchDB's endpoints below a database.
func (r *Route) endpoint(m method, seg []byte) {
	if name, ok := cutPrefix(seg, "_design/"); ok {
		r.escapedDesign(m, name)
		return
	}
	if _, ok := cutPrefix(seg, "_local/"); ok {
		r.local(m)
		return
	}
	var buf [maxName]byte
	switch string(unescapeName(seg, &buf)) {
	case "_design":
		r.design(m)
	case "_local":
		r.local(m)
	case "_all_docs", "_design_docs":
		r.result(m)
	case "_find", "_explain":
		r.postQuery(m)
	case "_bulk_get":
		r.postQuery(m)
		r.Flags |= Multipart
	case "_partition":
		r.partition(m)
	case "_changes":
		r.Kind, r.Node = Feed, SameNode
		if r.isLive() {
			r.Class = Stream
		}
	case "_local_docs": // not announced
		r.Node = SameNode
	case "_revs_diff", "_missing_revs":
		r.Node = WriteNode
	case "_shards", "_auto_purge":
		r.writeIf(m, 0)
	case "_security":
		r.writeIf(m, TouchSecurity)
	case "_revs_limit", "_purged_infos_limit", "_compact", "_view_cleanup", "_ensure_full_commit", "_sync_shards":
		r.writeIf(m, 0)
	case "_bulk_docs":
		r.writeIf(m, TouchBody)
	case "_purge":
		r.writeIf(m, TouchDatabase)
	case "_index":
		r.result(m)
		r.writeIf(m, TouchDocuments)
	default:
		r.writeIf(m, TouchDatabase)
	}
}

// escapedDesign handles a design document with an escaped slash. CouchDB redirects a GET to
// the plain form, and treats other methods like the plain form.
func (r *Route) escapedDesign(m method, name []byte) {
	if m == get || len(name) == 0 {
		return
	}
	r.document(m, name)
	r.Design = true
}

// local handles documents that are not replicated and not announced.
func (r *Route) local(m method) {
	r.Kind, r.Node = Local, SameNode
	r.writeIf(m, 0)
}

// result handles results with rows, which a client may also request by POST, with keys or
// several queries in the body.
func (r *Route) result(m method) {
	r.Kind = Result
	r.Flags |= HasRows
	switch m {
	case get:
		r.Class = Read
	case post:
		r.Class = ReadByBody
	}
	r.inspectResult()
}

// postQuery handles queries that exist as POST only.
func (r *Route) postQuery(m method) {
	r.Kind = Result
	if m == post {
		r.Class = ReadByBody
	}
}

func (r *Route) partition(m method) {
	r.nextSegment() // the partition
	seg := r.nextSegment()
	var buf [maxName]byte
	switch string(unescapeName(seg, &buf)) {
	case "_all_docs":
		r.result(m)
	case "_find", "_explain":
		r.postQuery(m)
	case "_design":
		r.design(m)
	}
}
