package edge

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// What follows is for fronts that speak another protocol than HTTP over connections of
// their own: they treat sockets, clients' rates and request ids as this package does.

// Rates bounds the requests of each client's address, as Limits.RequestsPerSecond says.
// The zero value sets no bound.
type Rates struct{ table *rateTable }

// With returns rates with that bound: r itself if it has it already.
func (r Rates) With(perSecond float64) Rates { return Rates{r.table.with(perSecond)} }

// Bound tells whether there is one.
func (r Rates) Bound() bool { return r.table != nil }

// Of returns the limiter of an address. A connection keeps it for as long as r is in
// force.
func (r Rates) Of(ip netip.Addr, now time.Time) *rate.Limiter { return r.table.of(ip, now) }

// RequestIDs makes the ids of one connection's requests. It needs no lock.
type RequestIDs struct{ source idSource }

// RequestIDSize is how long they are.
const RequestIDSize = idSize

// NewRequestIDs begins with a random number for the connection.
func NewRequestIDs() RequestIDs { return RequestIDs{newIDSource()} }

// Append appends the next id.
func (s *RequestIDs) Append(dst []byte) []byte { return s.source.next(dst) }
