package api

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// WriteIDs returns the ids of the documents that a write's body or its header
// Destination names, as TouchBody and TouchDestination say that they
// do. ok is false if they can't be told; then any document may be changed. If an
// id is given twice both are returned, since which one counts is the server's
// matter. A document without id gets a new one, which nobody has read.
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

// firstOf returns what JSON begins with, 0 if the text is no JSON.
func firstOf(text []byte) byte {
	if !json.Valid(text) {
		return 0
	}
	return bytes.TrimLeft(text, " \t\r\n")[0]
}

// bodyIDs returns the ids of a document and of the documents that it holds if it
// is a body of _bulk_docs. A document may have a member "docs" of its own; taking
// its ids as well does no harm.
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

// destinationID returns the id in a Destination, which is written as in a path, perhaps
// with a revision behind it.
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

// Revision is a revision that a node has stored.
type Revision struct{ ID, Rev []byte }

// StoredRevisions returns what an answer to a write of documents says was stored: for
// _bulk_docs a row for each document that was taken, else one. It returns nil for
// an answer that refuses the write, and ok is false if something was stored and
// nobody can tell what.
//
// updated and by are the headers X-Couch-Update-NewRev and X-Couch-Id, with which
// an update function's answer comes. Its status is the function's own: many lead on.
func StoredRevisions(status int, body []byte, updated, by string) (stored []Revision, ok bool) {
	switch {
	case updated != "" && by != "":
		return []Revision{{[]byte(by), []byte(updated)}}, true
	case updated != "":
		return nil, false
	case status < 200 || status > 299: // 0: no answer came
		return nil, status >= 300 && status < 500 // what a failing node did is not known
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

// SentRevisions returns what a body of _bulk_docs with "new_edits": false brings: revisions that
// were made elsewhere, of which the answer names only those that were refused: it is to
// be asked for if it names none. ok is false if the body is something else.
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

// sentRevision reads which revision a document says that it is.
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

// bulkRevisions reads the answer to _bulk_docs. A row without a revision is a refusal. An
// empty answer tells nothing: with new_edits=false it names refusals only.
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
