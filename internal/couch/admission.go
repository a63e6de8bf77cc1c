package couch

import (
	"bytes"
	"encoding/json"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
)

// admit says what becomes of an answer to a read. That a document is not there is kept
// as well: its creation is announced. That a revision is not there isn't, since
// replication may bring it without a new one.
func admit(kind api.Kind, revision bool, status int, fields http1.Fields) httpcache.Admission {
	a := httpcache.Admission{Store: status == 200 || status == 304}
	if status == 404 && !revision {
		a.Store = kind == api.Document || kind == api.Attachment
	}
	for _, f := range fields {
		switch {
		case isOneOf(f.Name, clientFields):
			a.Own = append(a.Own, f)
		case f.Is("Date"), f.Is("Vary") && bytes.EqualFold(f.Value, []byte("Accept-Encoding")):
			// Copies are as good as new, and asked for without codings.
		default:
			a.Fields = append(a.Fields, f)
		}
	}
	return a
}

// clientFields are fields for whoever has asked, and nobody else: a session that was
// prolonged, and what tells of the one request.
var clientFields = []string{"Set-Cookie", "X-Couch-Request-ID", "X-CouchDB-Body-Time"}

// maxChecked is how much of a body is looked at for mistakes.
const maxChecked = 1 << 20

// isWhole reports whether a result is complete and may be kept. A node that fails in the
// middle has begun with 200: it writes an error in the place of the next row and ends. docs
// says that rows may have documents: one in a revision that its row names may lose its body
// by compaction, which no feed announces.
func isWhole(b *httpcache.Body, docs bool) bool {
	text, ok := b.Bytes()
	switch {
	case docs && !ok:
		var all bytes.Buffer
		if b.WriteRange(&all, 0, b.Len()) != nil {
			return false
		}
		text = all.Bytes()
	case !docs && (!ok || len(text) > maxChecked):
		return endsWithoutError(b)
	}
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return endsWithoutError(b) // parts, or a call with the result in it
	}
	if !json.Valid(trimmed) {
		return false
	}
	return isComplete(trimmed)
}

// isComplete looks at a result's members, and at those of each result of several queries.
func isComplete(result []byte) bool {
	for m := api.MembersOf(result); m.Next(); {
		switch {
		case m.Is("error"):
			return false
		case m.Is("rows") && m.Value[0] == '[' && hasUncacheableRow(m.Value):
			return false
		case m.Is("results") && m.Value[0] == '[':
			for r := api.ElementsOf(m.Value); r.Next(); {
				if r.Value[0] == '{' && !isComplete(r.Value) {
					return false
				}
			}
		}
	}
	return true
}

// maxError is the longest error at the end of a body, which may say where in the
// node it came from.
const maxError = 16 << 10

// endsWithoutError tells whether a body ends otherwise than with an error. One that comes to a node
// within a body, whatever that is, stands on a line of its own behind it.
func endsWithoutError(b *httpcache.Body) bool {
	var end bytes.Buffer
	n := min(b.Len(), maxError)
	if b.WriteRange(&end, b.Len()-n, n) != nil {
		return false
	}
	line := bytes.TrimSpace(end.Bytes())
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return true
	}
	said := 0
	for m := api.MembersOf(line); m.Next(); {
		if m.Is("error") || m.Is("reason") {
			said++
		}
	}
	return said < 2
}

// hasUncacheableRow reports whether one of the rows keeps a result from being kept: an error other than
// that a key is not there, or a document in a revision that the row names.
func hasUncacheableRow(rows []byte) bool {
	for row := api.ElementsOf(rows); row.Next(); {
		if row.Value[0] != '{' {
			continue
		}
		doc, named := false, false
		for m := api.MembersOf(row.Value); m.Next(); {
			var scratch []byte
			switch {
			case m.Is("error") && string(m.Text(&scratch)) != "not_found":
				return true
			case m.Is("doc"):
				doc = true
			case m.Is("value") && m.Value[0] == '{':
				for v := api.MembersOf(m.Value); v.Next(); {
					named = named || v.Is("_rev")
				}
			}
		}
		if doc && named {
			return true
		}
	}
	return false
}
