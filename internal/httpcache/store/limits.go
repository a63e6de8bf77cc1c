package store

import (
	"cmp"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// Limits bound the memory of the store. The zero value of each field means its default.
type Limits struct {
	// MaxObject is the longest body that is kept in memory, in bytes. Default 64 MiB.
	MaxObject int64
	// MaxInFlight is the memory, in bytes, of bodies that are being sent and not stored up
	// to which fetched bodies are held as a whole for slow clients. Above it, they are not.
	// Default: half of the space.
	MaxInFlight int64
	// DiskFrom is the length in bytes above which bodies are kept on disk, if there is one.
	// Bodies longer than MaxObject always are; text that is encoded never is. Default 1 MiB.
	DiskFrom int64
	// JSONP lets gzip variants be wrapped for callbacks of this filter. Nil: none are.
	JSONP *jsonp.Filter
	// Codings are the content codings in which text is offered (coding.Names). Default none.
	Codings []string
}

// Limits returns the limits in force.
func (s *Store) Limits() *Limits { return s.limits.Load() }

// MaxBody returns the length of the longest body that may be stored.
func (s *Store) MaxBody() int64 {
	n := s.limits.Load().MaxObject
	if s.index != nil {
		n = max(n, s.index.part.MaxBody())
	}
	return n
}

// DiskThreshold returns the length above which a body with that head is kept on disk. Text
// that is offered in content codings remains in memory, where it is encoded.
func (l *Limits) DiskThreshold(h *Head) int64 {
	from := l.DiskFrom
	if h.offered {
		from = max(from, maxEncoded)
	}
	return min(from, l.MaxObject)
}

// withDefaults returns the limits for a space of that capacity in bytes.
func (l Limits) withDefaults(capacity uint64) Limits {
	l.MaxObject = cmp.Or(l.MaxObject, 64<<20)
	l.MaxInFlight = cmp.Or(l.MaxInFlight, int64(capacity/2))
	l.DiskFrom = cmp.Or(l.DiskFrom, 1<<20)
	return l
}
