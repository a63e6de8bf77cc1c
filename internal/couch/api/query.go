package api

import "bytes"

// param is one parameter of a query, escapes and all.
type param struct{ name, value []byte }

// cutParam takes the next parameter off a query. Some servers end parameters with
// semicolons as well as ampersands; so do we where it matters what is asked.
func cutParam(query []byte, separators string) (p param, rest []byte) {
	end := bytes.IndexAny(query, separators)
	if end < 0 {
		end, rest = len(query), nil
	} else {
		rest = query[end+1:]
	}
	p.name = query[:end]
	if eq := bytes.IndexByte(p.name, '='); eq >= 0 {
		p.name, p.value = p.name[:eq], p.name[eq+1:]
	}
	return p, rest
}

// isLive tells whether a feed is asked for that does not end by itself. Of several
// parameters of that name each counts.
func (r *Route) isLive() bool {
	var n, v [maxName]byte
	for q := r.query; len(q) > 0; {
		var p param
		p, q = cutParam(q, "&;")
		if string(unescapeName(p.name, &n)) != "feed" {
			continue
		}
		switch string(unescapeName(p.value, &v)) {
		case "continuous", "longpoll", "eventsource":
			return true
		}
	}
	return false
}

// inspectDocument sets the flags of a document's or attachment's read.
func (r *Route) inspectDocument() {
	latest, revs := false, 0
	var n, v [maxName]byte
	for q := r.query; len(q) > 0; {
		var p param
		p, q = cutParam(q, "&;")
		switch string(unescapeName(p.name, &n)) {
		case "rev":
			r.Flags |= NamedRevision
			r.revision = p.value
			if revs++; revs > 1 || !isRevision(unescapeName(p.value, &v)) {
				r.Class = Pass // some take it for none at all
			}
		case "latest":
			latest = string(unescapeName(p.value, &v)) != "false"
		case "revs", "conflicts", "deleted_conflicts":
			r.Flags |= RevisionMeta
		case "open_revs":
			r.Flags |= RevisionMeta | Multipart
			if string(unescapeName(p.value, &v)) != "all" { // any revisions, leaves or not
				r.Class = Pass
			}
		case "atts_since":
			r.Flags |= RevisionMeta | Multipart
		case "attachments":
			r.Flags |= Multipart
		case "revs_info", "meta": // which bodies a node still has: compaction takes some, each node's its own
			r.Class = Pass
		case "local_seq": // differs from node to node
			r.Class = Pass
		}
	}
	if latest { // a leaf, whatever is named
		r.Flags &^= NamedRevision
	}
}

// isRevision tells whether b is the name of a revision: a number, a dash, a hash.
func isRevision(b []byte) bool {
	number, hash, _ := bytes.Cut(b, []byte{'-'})
	for _, c := range number {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(number) > 0 && len(hash) > 0
}

// inspectResult sets the flags of a result's read.
func (r *Route) inspectResult() {
	if r.Class != Read && r.Class != ReadByBody {
		return
	}
	var n, v [maxName]byte
	for q := r.query; len(q) > 0; {
		var p param
		p, q = cutParam(q, "&;")
		value := unescapeName(p.value, &v)
		switch string(unescapeName(p.name, &n)) {
		case "update":
			if string(value) != "true" {
				r.Flags |= AllowsStale
			}
		case "stale":
			r.Flags |= AllowsStale
		case "include_docs":
			if string(value) != "false" {
				r.Flags |= IncludesDocs
			}
		case "update_seq": // a position that means something to one node
			if string(value) != "false" {
				r.Class, r.Node = Pass, SameNode
			}
		}
	}
}
