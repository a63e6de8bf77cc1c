package store

import "sync/atomic"

// counters are updated on misses, writes and purges only.
type counters struct {
	stored, overtaken, purges, purgedObjects, softened, marked atomic.Uint64
	encoded, unencoded                                         atomic.Uint64
}

// Stats are the figures of a store since it was made.
type Stats struct {
	Stored     uint64 // objects stored
	Overtaken  uint64 // fills not stored because a write or a purge overtook them
	Purges     uint64 // purges
	Purged     uint64 // objects found purged by tag, prefix, pattern or all
	Softened   uint64 // objects found softly purged
	Marked     uint64 // markers set for answers that cannot be shared
	Encoded    uint64 // objects that were encoded, or found not to be worth it
	Unencoded  uint64 // objects not encoded because the queue was full
	Encoding   bool   // objects are being encoded
	InFlight   int64  // bytes of bodies that are being sent and not stored
	Log        int    // purges by prefix and pattern in the log
	Generation uint64 // the number of the newest purge
}

// Stats returns the present figures. The space counts all that is stored.
func (s *Store) Stats() Stats {
	c := &s.stats
	return Stats{
		Stored: c.stored.Load(), Overtaken: c.overtaken.Load(),
		Purges: c.purges.Load(), Purged: c.purgedObjects.Load(), Softened: c.softened.Load(), Marked: c.marked.Load(),
		Encoded: c.encoded.Load(), Unencoded: c.unencoded.Load(), Encoding: s.encoder.busy(), InFlight: s.inFlight.bytes.Load(),
		Log: len(s.purges.log.Load().entries), Generation: s.purges.head.Load(),
	}
}
