package api

// design handles design documents and their functions.
func (r *Route) design(m method) {
	name := r.nextSegment()
	if name == nil {
		return
	}
	if r.atEnd() {
		r.document(m, name)
		r.Design = true
		return
	}
	before := r.unread
	r.ID, r.Design = name, true
	seg := r.nextSegment()
	if firstByte(seg) != '_' {
		r.unread = before
		r.document(m, name)
		r.Design = true
		return
	}
	r.designFunction(m, seg)
}

// designFunction handles the functions of a design document.
func (r *Route) designFunction(m method, seg []byte) {
	var buf [maxName]byte
	switch string(unescapeName(seg, &buf)) {
	case "_view":
		r.result(m)
	case "_list":
		r.result(m)
		r.Kind = Rendering
	case "_show":
		r.Kind = Rendering
		if m == get {
			r.Class = Read
		}
	case "_update":
		// The function may write any document, and in some versions with any method.
		r.Class, r.Touch = Write, TouchDocuments
	case "_rewrite":
		// A rewrite may refer to any path, so reads through it are not cached.
		r.writeIf(m, TouchDocuments)
	case "_info", "_search", "_search_info", "_nouveau", "_nouveau_info", "_search_disk_size", "_geo", "_geo_info":
		// The state of an index, or an index that lags behind the database.
	default:
		r.writeIf(m, TouchDatabase)
	}
}
