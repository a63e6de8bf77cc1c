package api

import (
	"bytes"
	"encoding/json"
)

// AppendDB appends the database's name, unescaped.
func (r *Route) AppendDB(dst []byte) []byte { return appendDecoded(dst, r.DB) }

// AppendID appends the document's id as feeds write it, unescaped, for example "_design/x"
// for a design document. It appends nothing if the path names no document.
func (r *Route) AppendID(dst []byte) []byte {
	if r.Design {
		dst = append(dst, "_design/"...)
	}
	return appendDecoded(dst, r.ID)
}

// AppendRevision appends the revision in the query, unescaped.
func (r *Route) AppendRevision(dst []byte) []byte { return appendDecoded(dst, r.revision) }

// DocumentPath returns the path of the document or of the attachment's document, escaped as
// in the request.
func (r *Route) DocumentPath() string {
	path := "/" + string(r.DB) + "/"
	if r.Design {
		path += "_design/"
	}
	return path + string(r.ID)
}

// AppendKey appends the cache key of a read: requests with the same key are equal to
// CouchDB. Path segments and parameters are normalized. Parameters are sorted by name, but
// those of the same name keep their order, since the last one counts.
//
// The query of a Rendering is kept as it is, since functions see it.
func (r *Route) AppendKey(dst []byte) []byte {
	p := Route{unread: r.path}
	for seg := p.nextSegment(); seg != nil; seg = p.nextSegment() {
		dst = append(dst, '/')
		dst = appendEncoded(dst, seg)
	}
	if len(r.query) == 0 {
		return dst
	}
	if r.Kind == Rendering {
		dst = append(dst, '?')
		return append(dst, r.query...)
	}
	return appendQuery(dst, r.query)
}

// maxParams is the maximum number of parameters that are sorted. Queries with more keep
// their order.
const maxParams = 24

func appendQuery(dst, query []byte) []byte {
	var params [maxParams]param
	n := 0
	for q := query; len(q) > 0; {
		var p param
		p, q = cutParam(q, "&")
		if len(p.name) == 0 && len(p.value) == 0 {
			continue
		}
		if n == len(params) {
			dst = append(dst, '?')
			return append(dst, query...)
		}
		insertParam(params[:n+1], p)
		n++
	}
	for i, p := range params[:n] {
		dst = append(dst, "?&"[min(i, 1)])
		dst = appendEncoded(dst, p.name)
		dst = append(dst, '=')
		dst = appendEncoded(dst, p.value)
	}
	return dst
}

// insertParam inserts p into sorted, whose last element is free.
func insertParam(sorted []param, p param) {
	at := len(sorted) - 1
	for at > 0 && compareNames(p.name, sorted[at-1].name) < 0 {
		sorted[at] = sorted[at-1]
		at--
	}
	sorted[at] = p
}

// compareNames compares two names, unescaped.
func compareNames(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		x, n := decodeByte(a)
		y, m := decodeByte(b)
		if x != y {
			return int(x) - int(y)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

// AppendBody appends the part of the key of a ReadByBody that depends on the body: its JSON
// without white space. ok is false if the answer must not be cached: the body is not JSON,
// or it may request a result that lags behind the database, positions of one node, or, in
// _bulk_get, revisions that are not leaves.
func (r *Route) AppendBody(dst, body []byte) (_ []byte, ok bool) {
	if !json.Valid(body) || r.Flags&Multipart != 0 && bytes.Contains(body, []byte(`"rev"`)) {
		return dst, false
	}
	for _, word := range uncacheableOptions {
		if bytes.Contains(body, word) {
			return dst, false
		}
	}
	out := bytes.NewBuffer(append(dst, 0))
	if err := json.Compact(out, body); err != nil {
		return dst, false
	}
	return out.Bytes(), true
}

// uncacheableOptions are the names of options that prevent caching, and the beginning of an
// escape that may hide one.
var uncacheableOptions = [][]byte{[]byte(`"update"`), []byte(`"stale"`), []byte(`"update_seq"`), []byte(`\u00`)}

// AppendAccept appends the part of the key that depends on the header Accept. For renderings
// and multipart answers it is the whole value, since CouchDB also sends multipart for
// wildcards. For others it is whether the value names JSON, with a weight or without, and
// whether it names multipart. accept is nil if there is no such header.
func (r *Route) AppendAccept(dst, accept []byte) []byte {
	if r.Kind == Rendering || r.Flags&Multipart != 0 {
		dst = append(dst, 0)
		return append(dst, accept...)
	}
	mark := byte('0')
	if at := bytes.Index(accept, jsonType); at >= 0 {
		mark |= 1
		if end := accept[at+len(jsonType):]; len(end) > 0 && end[0] != ',' && end[0] != ' ' {
			mark |= 4 // older versions search for the name only
		}
	}
	if bytes.Contains(accept, []byte("multipart/")) {
		mark |= 2
	}
	return append(dst, 0, mark)
}

var jsonType = []byte("application/json")
