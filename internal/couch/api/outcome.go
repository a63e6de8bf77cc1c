package api

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// WriteIDs returns the ids of the documents that a write names in its body (TouchBody) or in
// its header Destination (TouchDestination). ok is false if they are unknown; then any
// document may be changed. Of an id that is given twice, both values are returned, since the
// one that counts depends on the server. A document without an id gets a new one, which no
// client has read.
func WriteIDs(r *Route, body []byte, destination string) (ids [][]byte, ok bool) {
	switch {
	case r.Touch&TouchDestination != 0:
		return destinationID(destination)
	case r.Touch&TouchBody == 0:
		return nil, true
	case firstOf(body) != '{':
		return nil, false
	}
	return bodyIDs(body), true
}

// firstOf returns the first byte of a JSON value, or 0 if text is not JSON.
func firstOf(text []byte) byte {
	if !json.Valid(text) {
		return 0
	}
	return bytes.TrimLeft(text, " \t\r\n")[0]
}

// bodyIDs returns the ids of a document and, for a body of _bulk_docs, of the documents in
// it. A document may have a member "docs" of its own; its ids do no harm.
func bodyIDs(body []byte) (ids [][]byte) {
	ids = documentIDs([][]byte{}, body)
	for m := MembersOf(body); m.Next(); {
		if !m.Is("docs") || m.Value[0] != '[' {
			continue
		}
		for docs := ElementsOf(m.Value); docs.Next(); {
			if docs.Value[0] == '{' {
				ids = documentIDs(ids, docs.Value)
			}
		}
	}
	return ids
}

// documentIDs appends each "_id" of a document.
func documentIDs(ids [][]byte, document []byte) [][]byte {
	for m := MembersOf(document); m.Next(); {
		if m.Is("_id") {
			var scratch []byte
			if id := m.Text(&scratch); len(id) > 0 {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// destinationID returns the id in a Destination, which is escaped as in a path, and may be
// followed by a revision.
func destinationID(destination string) (ids [][]byte, ok bool) {
	path, _, _ := strings.Cut(destination, "?")
	if path == "" || strings.Contains(path, "://") || strings.HasPrefix(path, "/") {
		return nil, false
	}
	id, err := url.PathUnescape(path)
	if err != nil || strings.Contains(path, "+") { // a space on some servers
		return nil, false
	}
	return [][]byte{[]byte(id)}, true
}

// Revision is a revision of a document.
type Revision struct{ ID, Rev []byte }

// StoredRevisions returns the revisions that a write of documents has stored, according to
// its answer: for _bulk_docs one for each accepted document, otherwise one. It returns nil
// for an answer that refuses the write. ok is false if something unknown may have been
// stored.
//
// updated and by are the headers X-Couch-Update-NewRev and X-Couch-Id in the answer of an
// update function, which chooses its own status.
func StoredRevisions(status int, body []byte, updated, by string) (stored []Revision, ok bool) {
	switch {
	case updated != "" && by != "":
		return []Revision{{[]byte(by), []byte(updated)}}, true
	case updated != "":
		return nil, false
	case status < 200 || status > 299: // 0: no answer
		return nil, status >= 300 && status < 500 // a failing node may have stored something
	}
	switch firstOf(body) {
	case '{':
		if s, found := storedRevision(body); found {
			return []Revision{s}, true
		}
	case '[':
		return bulkRevisions(body)
	}
	return nil, false
}

// SentRevisions returns the revisions in a body of _bulk_docs with "new_edits": false. They
// were created elsewhere, and the answer lists only refused ones, so use SentRevisions if
// the answer lists none. ok is false for any other body.
func SentRevisions(body []byte) (stored []Revision, ok bool) {
	if firstOf(body) != '{' {
		return nil, false
	}
	var docs []byte
	for m := MembersOf(body); m.Next(); {
		switch {
		case m.Is("new_edits"):
			ok = string(m.Value) == "false"
		case m.Is("docs") && m.Value[0] == '[':
			docs = m.Value
		}
	}
	if !ok || docs == nil {
		return nil, false
	}
	for list := ElementsOf(docs); list.Next(); {
		if list.Value[0] != '{' {
			return nil, false
		}
		s, found := sentRevision(list.Value)
		if !found {
			return nil, false
		}
		stored = append(stored, s)
	}
	return stored, true
}

// sentRevision returns the id and the revision in a document.
func sentRevision(document []byte) (s Revision, ok bool) {
	var id, rev []byte
	for m := MembersOf(document); m.Next(); {
		switch {
		case m.Is("_id"):
			s.ID = m.Text(&id)
		case m.Is("_rev"):
			s.Rev = m.Text(&rev)
		}
	}
	return s, len(s.ID) > 0 && len(s.Rev) > 0
}

// bulkRevisions returns the revisions in an answer to _bulk_docs. A row without a revision
// is a refusal. An empty answer means nothing: with new_edits=false it lists refusals only.
func bulkRevisions(body []byte) (stored []Revision, ok bool) {
	for list := ElementsOf(body); list.Next(); {
		if list.Value[0] != '{' {
			return nil, false
		}
		if s, found := storedRevision(list.Value); found {
			stored = append(stored, s)
		}
	}
	return stored, len(stored) > 0
}

func storedRevision(text []byte) (s Revision, ok bool) {
	var idText, revText []byte
	for m := MembersOf(text); m.Next(); {
		switch {
		case m.Is("id"):
			s.ID = m.Text(&idText)
		case m.Is("rev"):
			s.Rev = m.Text(&revText)
		}
	}
	return s, len(s.ID) > 0 && len(s.Rev) > 0
}
