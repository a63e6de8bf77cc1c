package api

import "bytes"

// param is one parameter of a query, escapes and all.
type param struct{ name, value []byte }

// cut takes the next parameter off a query. Some servers end parameters with
// semicolons as well as ampersands; so do we where it matters what is asked.
func cut(query []byte, separators string) (p param, rest []byte) {
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

// live tells whether a feed is asked for that does not end by itself. Of several
// parameters of that name each counts.
func (r *Route) live() bool {
	var n, v [longest]byte
	for q := r.query; len(q) > 0; {
		var p param
		p, q = cut(q, "&;")
		if string(plain(p.name, &n)) != "feed" {
			continue
		}
		switch string(plain(p.value, &v)) {
		case "continuous", "longpoll", "eventsource":
			return true
		}
	}
	return false
}

// inspectDocument sets the flags of a document's or attachment's read.
func (r *Route) inspectDocument() {
	latest, revs := false, 0
	var n, v [longest]byte
	for q := r.query; len(q) > 0; {
		var p param
		p, q = cut(q, "&;")
		switch string(plain(p.name, &n)) {
		case "rev":
			r.Flags |= NamedRevision
			r.revision = p.value
			if revs++; revs > 1 || !isRevision(plain(p.value, &v)) {
				r.Class = Pass // some take it for none at all
			}
		case "latest":
			latest = string(plain(p.value, &v)) != "false"
		case "revs", "conflicts", "deleted_conflicts":
			r.Flags |= Meta
		case "open_revs":
			r.Flags |= Meta | Parts
			if string(plain(p.value, &v)) != "all" { // any revisions, leaves or not
				r.Class = Pass
			}
		case "atts_since":
			r.Flags |= Meta | Parts
		case "attachments":
			r.Flags |= Parts
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
	var n, v [longest]byte
	for q := r.query; len(q) > 0; {
		var p param
		p, q = cut(q, "&;")
		value := plain(p.value, &v)
		switch string(plain(p.name, &n)) {
		case "update":
			if string(value) != "true" {
				r.Flags |= Lagging
			}
		case "stale":
			r.Flags |= Lagging
		case "include_docs":
			if string(value) != "false" {
				r.Flags |= Docs
			}
		case "update_seq": // a position that means something to one node
			if string(value) != "false" {
				r.Class, r.Where = Pass, SameNode
			}
		}
	}
}
