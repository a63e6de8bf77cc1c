package httpcache

import "sync/atomic"

// counters are touched on the miss, write and purge paths only.
type counters struct {
	stored, overtaken, purges, purgedObjects, softened, marked atomic.Uint64
	flights, joined, released, failed, cut, abandoned          atomic.Uint64
	encoded, unencoded, undisked                               atomic.Uint64
	running, flying, forsaken, staying                         atomic.Int64
}

// Stats are the figures of a store since it was made.
type Stats struct {
	Stored     uint64 // objects stored
	Overtaken  uint64 // fills not stored because a write or a purge came in between
	Purges     uint64 // purges
	Purged     uint64 // objects found purged by tag, prefix, pattern or all
	Softened   uint64 // objects found softly purged
	Marked     uint64 // markers set for answers that cannot be shared
	Flights    uint64 // requests to the origin for whoever wants the answer
	Joined     uint64 // requests that joined another's flight
	Released   uint64 // requests that joined one whose answer cannot be shared
	Failed     uint64 // flights that failed
	Behind     uint64 // readers cut off because they kept others waiting
	Abandoned  uint64 // flights ended because nobody wanted their bytes any more
	Encoded    uint64 // objects for which coded forms were made, or found not to be worth it
	Unencoded  uint64 // objects that stay plain because too many waited
	Undisked   uint64 // bodies that the disk did not take
	Running    int64  // flights that run now
	Flying     int64  // bytes of bodies that they hold
	Lent       int64  // bytes of bodies that are not stored and that somebody still sends
	Staying    int64  // bytes of what flights came to that are over and whose answers are still taken
	Log        int    // purges by prefix and pattern that are remembered
	Generation uint64 // the number of the newest purge
}

// Stats returns the figures so far. What is stored is counted by the space.
func (s *Store) Stats() Stats {
	c := &s.stats
	return Stats{
		Stored: c.stored.Load(), Overtaken: c.overtaken.Load(),
		Purges: c.purges.Load(), Purged: c.purgedObjects.Load(), Softened: c.softened.Load(), Marked: c.marked.Load(),
		Flights: c.flights.Load(), Joined: c.joined.Load(), Released: c.released.Load(), Failed: c.failed.Load(),
		Behind: c.cut.Load(), Abandoned: c.abandoned.Load(),
		Encoded: c.encoded.Load(), Unencoded: c.unencoded.Load(), Undisked: c.undisked.Load(), Running: c.running.Load(), Flying: c.flying.Load(), Lent: s.lent.bytes.Load(),
		Staying: s.stats.staying.Load(),
		Log:     len(s.purges.log.Load().entries), Generation: s.purges.head.Load(),
	}
}
