package couch

import (
	"bytes"
	"encoding/json"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// admit returns whether and how an answer to a read is cached. A missing document is cached
// too, since feeds announce its creation. A missing revision is not, since replication may
// add it without a new one.
func admit(kind api.Kind, revision bool, status int, fields http1.Fields) httpcache.Admission {
	a := httpcache.Admission{Store: status == 200 || status == 304}
	if status == 404 && !revision {
		a.Store = kind == api.Document || kind == api.Attachment
	}
	for _, f := range fields {
		switch {
		case ascii.ContainsFold(clientFields, f.Name):
			a.ClientFields = append(a.ClientFields, f)
		case f.Is("Date"), f.Is("Vary") && bytes.EqualFold(f.Value, []byte("Accept-Encoding")):
			// Copies are valid until an event, and fills request no content coding.
		default:
			a.Fields = append(a.Fields, f)
		}
	}
	return a
}

// clientFields are the fields that apply to one client or request only, for example a
// renewed session.
var clientFields = []string{"Set-Cookie", "X-Couch-Request-ID", "X-CouchDB-Body-Time"}

// maxChecked is the maximum size of a body that is searched for errors.
const maxChecked = 1 << 20

// isWhole reports whether a result is complete and may be cached. A node that fails during
// the answer has sent status 200 already: it writes an error instead of the next row and
// ends. docs reports whether rows may include documents. A document in a revision that its
// row names may lose its body by compaction, which no feed announces.
func isWhole(b *store.Body, docs bool) bool {
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
		return endsWithoutError(b) // multipart, or a JSONP call
	}
	if !json.Valid(trimmed) {
		return false
	}
	return isComplete(trimmed)
}

// isComplete checks a result's members; for several queries it checks each result.
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

// maxError is the maximum size of an error at the end of a body, which may include a stack
// trace.
const maxError = 16 << 10

// endsWithoutError reports whether a body does not end with an error. A node writes an error
// on a line of its own after a body of any type.
func endsWithoutError(b *store.Body) bool {
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
	found := 0
	for m := api.MembersOf(line); m.Next(); {
		if m.Is("error") || m.Is("reason") {
			found++
		}
	}
	return found < 2
}

// hasUncacheableRow reports whether one of the rows keeps a result from being cached: an
// error other than a missing key, or a document in a revision that the row names.
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
