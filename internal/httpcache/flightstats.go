package httpcache

import "sync/atomic"

// flightCounters are touched on the miss path only.
type flightCounters struct {
	flights, joined, released, failed, cut, abandoned, undisked atomic.Uint64
	running, flying, forsaken, staying                          atomic.Int64
}

// FlightStats are the figures of a service's flights since it was made.
type FlightStats struct {
	Flights   uint64 // requests to the origin for whoever wants the answer
	Joined    uint64 // requests that joined another's flight
	Released  uint64 // requests that joined one whose answer cannot be shared
	Failed    uint64 // flights that failed
	Behind    uint64 // readers cut off because they kept others waiting
	Abandoned uint64 // flights ended because nobody wanted their bodies any more
	Undisked  uint64 // bodies that the disk did not take
	Running   int64  // flights that run now
	Flying    int64  // bytes of bodies that they hold
	Staying   int64  // bytes of what flights came to that are over and whose answers are still taken
}

// Stats returns the figures so far.
func (fs *flights) Stats() FlightStats {
	c := &fs.stats
	return FlightStats{
		Flights: c.flights.Load(), Joined: c.joined.Load(), Released: c.released.Load(), Failed: c.failed.Load(),
		Behind: c.cut.Load(), Abandoned: c.abandoned.Load(), Undisked: c.undisked.Load(),
		Running: c.running.Load(), Flying: c.flying.Load(), Staying: c.staying.Load(),
	}
}
