package httpcache

import (
	"cmp"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// FlightLimits bound what flights hold in memory. The zero value of each is its default.
type FlightLimits struct {
	// Stored are the store's.
	Stored store.Limits
	// Flying is how much of bodies all flights may hold together, in bytes. Over it
	// those that take more let go of what they hold and are not kept. Default: a
	// quarter of what the space may hold, and at least 16 MiB.
	Flying int64
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
}

// SetLimits changes the limits, the store's too, for what begins from now on.
func (fs *flights) SetLimits(l FlightLimits) {
	fs.store.SetLimits(l.Stored)
	l = l.withDefaults(fs.space.Usage().Memory)
	l.Stored = *fs.store.Limits()
	fs.limits.Store(&l)
}

// withDefaults are the limits for a space of that capacity in bytes.
func (l FlightLimits) withDefaults(capacity uint64) FlightLimits {
	l.Flying = cmp.Or(l.Flying, max(16<<20, int64(capacity/4)))
	l.Window = cmp.Or(l.Window, 1<<20)
	l.Finish = cmp.Or(l.Finish, 16<<20)
	l.Patience = cmp.Or(l.Patience, 5*time.Second)
	return l
}
