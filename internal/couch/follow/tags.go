package follow

import (
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
)

// What a tag stands for. A database's name has no zero byte, so that what is
// joined by zeros can be told apart.
const (
	tagDatabase  = 'D' // the database as such
	tagDocuments = 'd' // any of its documents
	tagDocument  = 'i' // one document
	tagResults   = 'r' // what is computed from documents
	tagNames     = 'N' // the list of databases
)

// nameSize is how long a tag's name may be without needing memory of its own.
const nameSize = 256

// Tagger makes the tags of one service.
type Tagger struct{ service string }

// NewTagger makes tags that are apart from those of other services.
func NewTagger(service string) Tagger { return Tagger{service} }

func (t Tagger) name(dst []byte, kind byte, db []byte) []byte {
	dst = append(dst, "couch\x00"...)
	dst = append(dst, t.service...)
	dst = append(dst, 0, kind, 0)
	return append(dst, db...)
}

// tracker is moved when nothing that was read of the database before is good any
// more: it was created, deleted or purged, or changes may have been missed.
func (t Tagger) Database(db []byte) cache.Tag {
	var buf [nameSize]byte
	return cache.BroadTagOf(t.name(buf[:0], tagDatabase, db))
}

// Documents is moved when nobody can tell which documents were changed.
func (t Tagger) Documents(db []byte) cache.Tag {
	var buf [nameSize]byte
	return cache.BroadTagOf(t.name(buf[:0], tagDocuments, db))
}

// DocumentReplication is moved when the document is changed; its attachments go with it.
func (t Tagger) Document(db, id []byte) cache.Tag {
	var buf [nameSize]byte
	name := append(t.name(buf[:0], tagDocument, db), 0)
	return cache.TagOf(append(name, id...))
}

// Results is moved when any document of the database is changed.
func (t Tagger) Results(db []byte) cache.Tag {
	var buf [nameSize]byte
	return cache.TagOf(t.name(buf[:0], tagResults, db))
}

// Names is moved when a database is created or deleted.
func (t Tagger) Names() cache.Tag {
	var buf [nameSize]byte
	return cache.BroadTagOf(t.name(buf[:0], tagNames, nil))
}

// AppendReads appends what the answer to a read depends on: at most three tags.
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

// AppendWrites appends what a write moves. ids are the documents that the body or
// the header Destination names, without escapes; nil if they are to come from
// there and are not known, which moves all documents.
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
