package flight

import "sync/atomic"

// counters are changed on the miss path only.
type counters struct {
	flights, joined, released, failed, cut, abandoned, undisked atomic.Uint64
	running, held, joinable                                     atomic.Int64
}

// Stats are the figures of a group since it was created.
type Stats struct {
	Flights    uint64 // requests to the origin
	Joined     uint64 // requests that joined another's flight
	Released   uint64 // requests that joined a flight whose answer can't be shared
	Failed     uint64 // flights that failed
	Behind     uint64 // readers cut off because they kept others waiting
	Abandoned  uint64 // flights given up because all members had left
	Undisked   uint64 // bodies that the disk refused
	Running    int64  // running flights
	Unattended int64  // running flights that were abandoned before their head
	Held       int64  // bytes of bodies that running flights hold
	Joinable   int64  // bytes of completed flights that can still be joined
}

// Stats returns the figures so far.
func (g *Group) Stats() Stats {
	c := &g.stats
	return Stats{
		Flights: c.flights.Load(), Joined: c.joined.Load(), Released: c.released.Load(), Failed: c.failed.Load(),
		Behind: c.cut.Load(), Abandoned: c.abandoned.Load(), Undisked: c.undisked.Load(),
		Running: c.running.Load(), Unattended: g.abandoned.taken.Load(), Held: c.held.Load(), Joinable: c.joinable.Load(),
	}
}
