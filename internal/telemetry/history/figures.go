package history

import (
	"math"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Totals are the figures of a service since its start.
type Totals struct {
	Service string
	Requests
	Latency, Origin telemetry.Snapshot // times of requests, and of waiting for the origin
}

// Requests are numbers of requests.
type Requests struct {
	Hits   uint64 `json:"hits"`
	Misses uint64 `json:"misses"`
	Writes uint64 `json:"writes"`
	Other  uint64 `json:"other"`
	Errors uint64 `json:"errors"` // answers with a status of 5xx, which are in a class too
}

// Count returns the number of requests of each class in a report's decisions.
func Count(decisions map[telemetry.Decision]uint64) (r Requests) {
	for d, n := range decisions {
		*r.class(ClassOf(d)) += n
	}
	return r
}

func (r *Requests) class(c Class) *uint64 {
	return [classes]*uint64{&r.Hits, &r.Misses, &r.Writes, &r.Other}[c]
}

// buckets is the number of buckets of a histogram.
const buckets = len(telemetry.Buckets) + 1

// figures are the figures of a service in an interval. Numbers above that of 32 bits are that: a
// service would need 14 million requests a second for five minutes.
type figures struct {
	requests        [classes]uint32
	errors          uint32
	latency, origin [buckets]uint32
}

// since returns the figures of the time between two totals.
func since(base, now *Totals) (f figures) {
	for c := range classes {
		f.requests[c] = grown(*base.class(c), *now.class(c))
	}
	f.errors = grown(base.Errors, now.Errors)
	for i := range buckets {
		f.latency[i] = grown(base.Latency.Counts[i], now.Latency.Counts[i])
		f.origin[i] = grown(base.Origin.Counts[i], now.Origin.Counts[i])
	}
	return f
}

// Grown returns how much a counter has grown. A smaller number is of a new counter, which began at
// zero: the service was removed and added again.
func Grown(base, now uint64) uint64 {
	if now < base {
		return now
	}
	return now - base
}

func grown(base, now uint64) uint32 { return uint32(min(Grown(base, now), math.MaxUint32)) }

// add adds the figures of another interval.
func (f *figures) add(o *figures) {
	for i := range f.requests {
		f.requests[i] = sum(f.requests[i], o.requests[i])
	}
	f.errors = sum(f.errors, o.errors)
	for i := range f.latency {
		f.latency[i] = sum(f.latency[i], o.latency[i])
		f.origin[i] = sum(f.origin[i], o.origin[i])
	}
}

func sum(a, b uint32) uint32 { return uint32(min(uint64(a)+uint64(b), math.MaxUint32)) }
