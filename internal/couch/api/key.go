package api

import (
	"bytes"
	"encoding/json"
)

// AppendDB appends the database's name, without escapes.
func (r *Route) AppendDB(dst []byte) []byte { return appendDecoded(dst, r.DB) }

// AppendID appends the document's id as feeds write it, without escapes:
// "_design/x" for a design document. It appends nothing if the route names none.
func (r *Route) AppendID(dst []byte) []byte {
	if r.Design {
		dst = append(dst, "_design/"...)
	}
	return appendDecoded(dst, r.ID)
}

// AppendRevision appends the revision that is named, without escapes.
func (r *Route) AppendRevision(dst []byte) []byte { return appendDecoded(dst, r.revision) }

// DocumentPath is the path of the document that the route names, or whose attachment it
// names, escaped as it was.
func (r *Route) DocumentPath() string {
	path := "/" + string(r.DB) + "/"
	if r.Design {
		path += "_design/"
	}
	return path + string(r.ID)
}

// AppendKey appends the key under which the answer to a read is kept: two
// requests with one key are the same to CouchDB. The path's segments and the
// parameters are written in one way; parameters stand in the order of their
// names, but those of the same name in their own, since the last one counts.
//
// Functions that render see the query as it is, so it stays as it is.
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

// maxParams is how many parameters are put in order; queries with more keep
// their own.
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

// insertParam puts p into its place; the last of sorted is free.
func insertParam(sorted []param, p param) {
	at := len(sorted) - 1
	for at > 0 && compareNames(p.name, sorted[at-1].name) < 0 {
		sorted[at] = sorted[at-1]
		at--
	}
	sorted[at] = p
}

// compareNames orders two names by what they are without escapes.
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

// AppendBody appends what a ReadByBody's key needs besides AppendKey: the body's
// JSON without white space. ok is false if no answer may be kept: the body is no
// JSON, or it may ask for a result that lags behind the database, for one
// node's positions, or, in _bulk_get, for revisions that are no leaves.
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

// uncacheableOptions are names of options because of which nothing is kept, and the beginning
// of an escape that may hide one.
var uncacheableOptions = [][]byte{[]byte(`"update"`), []byte(`"stale"`), []byte(`"update_seq"`), []byte(`\u00`)}

// AppendAccept appends what of an Accept header an answer depends on: all of it for
// renderings, and where parts may come, which CouchDB also sends to who takes anything;
// for everything else whether JSON is wanted by name, with weights or without, and
// whether parts are. accept is nil if there is no such header.
func (r *Route) AppendAccept(dst, accept []byte) []byte {
	if r.Kind == Rendering || r.Flags&Multipart != 0 {
		dst = append(dst, 0)
		return append(dst, accept...)
	}
	mark := byte('0')
	if at := bytes.Index(accept, jsonType); at >= 0 {
		mark |= 1
		if end := accept[at+len(jsonType):]; len(end) > 0 && end[0] != ',' && end[0] != ' ' {
			mark |= 4 // older versions look for the name alone
		}
	}
	if bytes.Contains(accept, []byte("multipart/")) {
		mark |= 2
	}
	return append(dst, 0, mark)
}

var jsonType = []byte("application/json")
