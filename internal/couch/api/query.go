package api

import "bytes"

// param is one parameter of a query, escaped.
type param struct{ name, value []byte }

// cutParam returns the first parameter of a query and the rest. Some servers accept
// semicolons as separators as well as ampersands, so both count where the meaning of a
// parameter matters.
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

// isLive reports whether the request is for a feed that does not end by itself. If the
// parameter is repeated, each value counts.
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

// inspectDocument sets the flags for the read of a document or an attachment.
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
				r.Class = Pass // some servers ignore it
			}
		case "latest":
			latest = string(unescapeName(p.value, &v)) != "false"
		case "revs", "conflicts", "deleted_conflicts":
			r.Flags |= RevisionMeta
		case "open_revs":
			r.Flags |= RevisionMeta | Multipart
			if string(unescapeName(p.value, &v)) != "all" { // any revisions, including ones that are not leaves
				r.Class = Pass
			}
		case "atts_since":
			r.Flags |= RevisionMeta | Multipart
		case "attachments":
			r.Flags |= Multipart
		case "revs_info", "meta": // which bodies a node still has, which depends on its compactions
			r.Class = Pass
		case "local_seq": // differs from node to node
			r.Class = Pass
		}
	}
	if latest { // a leaf, whatever the named revision is
		r.Flags &^= NamedRevision
	}
}

// isRevision reports whether b is a revision: a number, a dash, a hash.
func isRevision(b []byte) bool {
	number, hash, _ := bytes.Cut(b, []byte{'-'})
	for _, c := range number {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(number) > 0 && len(hash) > 0
}

// inspectResult sets the flags for the read of a result.
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
		case "update_seq": // a position, which is meaningless to other nodes
			if string(value) != "false" {
				r.Class, r.Node = Pass, SameNode
			}
		}
	}
}
