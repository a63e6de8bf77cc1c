package advice

import (
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Input has the figures since the start of the process, and the settings that run.
type Input struct {
	Services []Service
	Memories []Memory
}

// Service has the figures of a service.
type Service struct {
	Name      string
	Type      string
	Decisions Counts
	Tables    []Table // of type dynamodb
	// StaleWhileRevalidate is the setting of a service of type http.
	StaleWhileRevalidate time.Duration
}

// Counts are requests by decision.
type Counts map[telemetry.Decision]uint64

// of returns the number of requests with one of the decisions.
func (c Counts) of(decisions ...telemetry.Decision) (n uint64) {
	for _, d := range decisions {
		n += c[d]
	}
	return n
}

// hits returns the number of reads that were answered from memory.
func (c Counts) hits() uint64 {
	return c.of(telemetry.Hit, telemetry.HitNegative, telemetry.HitStale)
}

// reads returns the number of reads that might be.
func (c Counts) reads() uint64 {
	return c.hits() + c.of(telemetry.Miss, telemetry.MissExpired, telemetry.MissInvalidated, telemetry.MissVary,
		telemetry.Revalidated, telemetry.Coalesced, telemetry.Partial)
}

// less returns c without the requests in o.
func (c Counts) less(o Counts) Counts {
	rest := Counts{}
	for d, n := range c {
		rest[d] = n - min(n, o[d])
	}
	return rest
}

// Table has the figures of a table.
type Table struct {
	Name      string
	Pattern   string // of the configuration that has its settings; "" for the service's settings
	Decisions Counts // of all requests
	Queries   Counts // of the ones that are a Query or a Scan

	ItemTTL, QueryTTL, NegativeTTL time.Duration // that run
	StreamsMaxLag                  time.Duration
}

// Memory is the memory of a service that has its own, or the one that the others share.
type Memory struct {
	Service   string // "" for the shared memory
	Limit     uint64 // the setting, in bytes
	Whole     uint64 // the setting of the memory that all services share
	Capacity  uint64 // the part of it that entries may use now
	Bytes     uint64 // of the entries
	Evictions uint64

	Lookups  uint64
	Sampled  uint64 // look-ups in the sample
	Keys     int    // in the sample
	HitRatio float64
	// Half and Double are the estimated hit ratios with half of the capacity and with twice as much.
	Half, Double float64
}
