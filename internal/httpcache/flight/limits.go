package flight

import (
	"cmp"
	"time"
)

// Limits bound the memory of flights. The zero value of each field is its default.
type Limits struct {
	// MaxHeld is how much of bodies all flights may hold together, in bytes. Over it, bodies
	// that need more are not kept and drop the bytes that were read. Default: a quarter of
	// the capacity of the space, and at least 16 MiB.
	MaxHeld int64
	// Window is how many bytes a flight holds of a body that is not kept: the distance that
	// its readers may have. While more than MaxHeld is held it is at most 64 KiB. Default 1
	// MiB.
	Window int64
	// SlowReaderTimeout is how long the slowest reader of such a body may delay the others
	// before it is cut off. Default 5s.
	SlowReaderTimeout time.Duration
	// Finish is how many bytes are still fetched for the store after all members have left.
	// Default 16 MiB.
	Finish int64
}

// SetLimits changes the limits for flights that begin later.
func (g *Group) SetLimits(l Limits) {
	l = l.withDefaults(g.space.Usage().Memory)
	g.limits.Store(&l)
}

// withDefaults returns the limits for a space of that capacity in bytes.
func (l Limits) withDefaults(capacity uint64) Limits {
	l.MaxHeld = cmp.Or(l.MaxHeld, max(16<<20, int64(capacity/4)))
	l.Window = cmp.Or(l.Window, 1<<20)
	l.Finish = cmp.Or(l.Finish, 16<<20)
	l.SlowReaderTimeout = cmp.Or(l.SlowReaderTimeout, 5*time.Second)
	return l
}
