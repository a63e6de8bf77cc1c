package couch

import (
	"bytes"
	"encoding/json"

	"github.com/kasoku/kasoku/internal/couch/object"
	"github.com/kasoku/kasoku/internal/couch/route"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
)

// admit says what becomes of an answer to a read. That a document is not there is kept
// as well: its creation is announced. That a revision is not there isn't, since
// replication may bring it without a new one.
func admit(kind route.What, fixed bool, status int, fields http1.Fields) httpcache.Admission {
	a := httpcache.Admission{Store: status == 200 || status == 304}
	if status == 404 && !fixed {
		a.Store = kind == route.Document || kind == route.Attachment
	}
	for _, f := range fields {
		switch {
		case named(f.Name, oneself):
			a.Own = append(a.Own, f)
		case f.Is("Date"), f.Is("Vary") && bytes.EqualFold(f.Value, []byte("Accept-Encoding")):
			// Copies are as good as new, and asked for without codings.
		default:
			a.Fields = append(a.Fields, f)
		}
	}
	return a
}

// oneself are fields for whoever has asked, and nobody else: a session that was
// prolonged, and what tells of the one request.
var oneself = []string{"Set-Cookie", "X-Couch-Request-ID", "X-CouchDB-Body-Time"}

// mostChecked is how much of a body is looked at for mistakes.
const mostChecked = 1 << 20

// whole tells whether a result is all of it. A node that fails in the middle has
// begun with 200: it writes an error in the place of the next row and ends.
func whole(b *httpcache.Body) bool {
	text, ok := b.Bytes()
	if !ok || len(text) > mostChecked {
		return true
	}
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return true // parts, or rendered
	}
	if !json.Valid(trimmed) {
		return false
	}
	for m := object.Of(trimmed); m.Next(); {
		if m.Is("error") {
			return false
		}
		if m.Is("rows") && m.Value[0] == '[' && failed(m.Value) {
			return false
		}
	}
	return true
}

// failed tells whether one of the rows is an error other than that a key is not there.
func failed(rows []byte) bool {
	for row := object.In(rows); row.Next(); {
		if row.Value[0] != '{' {
			continue
		}
		for m := object.Of(row.Value); m.Next(); {
			var scratch []byte
			if m.Is("error") && string(m.Text(&scratch)) != "not_found" {
				return true
			}
		}
	}
	return false
}
