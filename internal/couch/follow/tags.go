package follow

import (
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
)

// The kinds of tags. A database's name has no zero byte, so zeros separate the parts of a
// tag's name.
const (
	tagDatabase  = 'D' // the database itself
	tagDocuments = 'd' // any of its documents
	tagDocument  = 'i' // one document
	tagResults   = 'r' // results computed from documents
	tagNames     = 'N' // the list of databases
)

// nameSize is the length of a tag's name that needs no allocation.
const nameSize = 256

// Tagger returns the tags of one service.
type Tagger struct{ service string }

// NewTagger returns a Tagger whose tags differ from other services' tags.
func NewTagger(service string) Tagger { return Tagger{service} }

func (t Tagger) name(dst []byte, kind byte, db []byte) []byte {
	dst = append(dst, "couch\x00"...)
	dst = append(dst, t.service...)
	dst = append(dst, 0, kind, 0)
	return append(dst, db...)
}

// Database returns the tag that moves when no copy of the database is valid any more: the
// database was created, deleted or purged, or changes may have been missed.
func (t Tagger) Database(db []byte) cache.Tag {
	var buf [nameSize]byte
	return cache.BroadTagOf(t.name(buf[:0], tagDatabase, db))
}

// Documents returns the tag that moves when unknown documents were changed.
func (t Tagger) Documents(db []byte) cache.Tag {
	var buf [nameSize]byte
	return cache.BroadTagOf(t.name(buf[:0], tagDocuments, db))
}

// Document returns the tag that moves when the document or one of its attachments is
// changed.
func (t Tagger) Document(db, id []byte) cache.Tag {
	var buf [nameSize]byte
	name := append(t.name(buf[:0], tagDocument, db), 0)
	return cache.TagOf(append(name, id...))
}

// Results returns the tag that moves when any document of the database is changed.
func (t Tagger) Results(db []byte) cache.Tag {
	var buf [nameSize]byte
	return cache.TagOf(t.name(buf[:0], tagResults, db))
}

// Names returns the tag that moves when a database is created or deleted.
func (t Tagger) Names() cache.Tag {
	var buf [nameSize]byte
	return cache.BroadTagOf(t.name(buf[:0], tagNames, nil))
}

// AppendReads appends the tags that the answer to a read depends on: at most three.
func (t Tagger) AppendReads(dst []cache.Tag, r *api.Route) []cache.Tag {
	if r.Kind == api.DatabaseList {
		return append(dst, t.Names())
	}
	var dbuf, ibuf [nameSize]byte
	db := r.AppendDB(dbuf[:0])
	dst = append(dst, t.Database(db))
	switch {
	case r.Kind != api.Document && r.Kind != api.Attachment:
		return append(dst, t.Results(db))
	}
	return append(dst, t.Documents(db), t.Document(db, r.AppendID(ibuf[:0])))
}

// AppendWrites appends the tags that a write moves. ids are the unescaped ids of the
// documents that the body or the header Destination names. If they are unknown, ids is nil,
// and the tag of all documents moves.
func (t Tagger) AppendWrites(dst []cache.Tag, r *api.Route, ids [][]byte) []cache.Tag {
	const named = api.TouchBody | api.TouchDestination
	const changing = api.TouchDocument | api.TouchDocuments | api.TouchDatabase | named
	var dbuf, ibuf [nameSize]byte
	db := r.AppendDB(dbuf[:0])
	if r.Touch&api.TouchDatabaseList != 0 {
		dst = append(dst, t.Names())
	}
	if r.Touch&api.TouchDatabase != 0 && len(db) > 0 {
		dst = append(dst, t.Database(db))
	}
	if r.Touch&changing != 0 {
		dst = append(dst, t.Results(db))
	}
	if r.Touch&api.TouchDocuments != 0 || r.Touch&named != 0 && ids == nil {
		dst = append(dst, t.Documents(db))
	}
	if r.Touch&api.TouchDocument != 0 {
		dst = append(dst, t.Document(db, r.AppendID(ibuf[:0])))
	}
	for _, id := range ids {
		dst = append(dst, t.Document(db, id))
	}
	return dst
}
