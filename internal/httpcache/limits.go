package httpcache

import (
	"time"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// Limits bound what the store and its flights hold in memory. The zero value of
// each is its default.
type Limits struct {
	// MaxObject is the longest body that is kept in memory, in bytes. Default 64 MiB.
	MaxObject int64
	// Flying is how much of bodies all flights may hold together, in bytes. Over it
	// those that take more let go of what they hold and are not kept. Default: a
	// quarter of what the space may hold, and at least 16 MiB.
	Flying int64
	// Lent is how much of bodies that are not stored may still be lent to slow clients,
	// in bytes, so that fetched ones are held as a whole. Over it they are not kept.
	// Default: half of what the space may hold.
	Lent int64
	// Window is how many bytes a flight holds of a body that is not kept: how far
	// its readers may be apart. While more than Flying is held it is 64 KiB at most.
	// Default 1 MiB.
	Window int64
	// Patience is how long the slowest reader of such a body may keep others
	// waiting. Then it is cut off. Default 5s.
	Patience time.Duration
	// Finish is how many bytes are still fetched for the store alone when all who
	// wanted them have left. Default 16 MiB.
	Finish int64
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

// longest is the longest body that may be kept.
func (s *Store) longest() int64 {
	n := s.limits.Load().MaxObject
	if s.shelf != nil {
		n = max(n, s.shelf.part.MaxBody())
	}
	return n
}

// withDefaults are the limits for a space of that capacity in bytes.
func (l Limits) withDefaults(capacity uint64) Limits {
	set := func(n *int64, to int64) {
		if *n == 0 {
			*n = to
		}
	}
	set(&l.MaxObject, 64<<20)
	set(&l.Flying, max(16<<20, int64(capacity/4)))
	set(&l.Lent, int64(capacity/2))
	set(&l.Window, 1<<20)
	set(&l.DiskFrom, 1<<20)
	set(&l.Finish, 16<<20)
	if l.Patience == 0 {
		l.Patience = 5 * time.Second
	}
	return l
}
