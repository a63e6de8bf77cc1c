package api

// design handles a design document and what it defines.
func (r *Route) design(m method) {
	name := r.next()
	if name == nil {
		return
	}
	if r.last() {
		r.document(m, name)
		r.Design = true
		return
	}
	before := r.rest
	r.ID, r.Design = name, true
	seg := r.next()
	if first(seg) != '_' {
		r.rest = before
		r.document(m, name)
		r.Design = true
		return
	}
	r.defined(m, seg)
}

// defined handles what is computed by a design document.
func (r *Route) defined(m method, seg []byte) {
	var buf [longest]byte
	switch string(plain(seg, &buf)) {
	case "_view":
		r.result(m)
	case "_list":
		r.result(m)
		r.What = Rendering
	case "_show":
		r.What = Rendering
		if m == get {
			r.Class = Read
		}
	case "_update":
		// The function may write any document, whatever the path says and, on
		// some versions, whatever the method is.
		r.Class, r.Touch = Write, TouchDocuments
	case "_rewrite":
		// It may lead anywhere. Reads through it are asked each time.
		r.writeIf(m, TouchDocuments)
	case "_info", "_search", "_search_info", "_nouveau", "_nouveau_info", "_search_disk_size", "_geo", "_geo_info":
		// The state of an index, or an index that lags behind the database.
	default:
		r.writeIf(m, TouchDatabase)
	}
}
