package store

import (
	"cmp"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// Limits bound what the store holds in memory. The zero value of each is its default.
type Limits struct {
	// MaxObject is the longest body that is kept in memory, in bytes. Default 64 MiB.
	MaxObject int64
	// MaxInFlight is how much of bodies that are not stored may still be lent to slow clients,
	// in bytes, so that fetched ones are held as a whole. Over it they are not kept.
	// Default: half of what the space may hold.
	MaxInFlight int64
	// DiskFrom is beyond which length, in bytes, bodies are kept on disk, if there is one.
	// Those beyond MaxObject are in any case, and those that text is encoded from are
	// not. Default 1 MiB.
	DiskFrom int64
	// JSONP has text in gzip made for calls of this filter too. Nil: there are none.
	JSONP *jsonp.Filter
	// Codings are the content codings that text is offered in (coding.Names). Default
	// none.
	Codings []string
}

// Limits are those in force.
func (s *Store) Limits() *Limits { return s.limits.Load() }

// MaxBody is the longest body that may be kept.
func (s *Store) MaxBody() int64 {
	n := s.limits.Load().MaxObject
	if s.index != nil {
		n = max(n, s.index.part.MaxBody())
	}
	return n
}

// DiskThreshold is beyond which length a body with that head goes to disk. Text that is
// offered in content codings stays in memory, where these are made.
func (l *Limits) DiskThreshold(h *Head) int64 {
	from := l.DiskFrom
	if h.offered {
		from = max(from, maxEncoded)
	}
	return min(from, l.MaxObject)
}

// withDefaults are the limits for a space of that capacity in bytes.
func (l Limits) withDefaults(capacity uint64) Limits {
	l.MaxObject = cmp.Or(l.MaxObject, 64<<20)
	l.MaxInFlight = cmp.Or(l.MaxInFlight, int64(capacity/2))
	l.DiskFrom = cmp.Or(l.DiskFrom, 1<<20)
	return l
}
