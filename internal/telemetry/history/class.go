package history

import "github.com/kasoku/kasoku/internal/telemetry"

// Class groups decisions.
type Class uint8

// The classes. Only hits and misses are part of the hit ratio.
const (
	Hits   Class = iota // served from the cache
	Misses              // reads that the cache answers, but had no answer for
	Writes
	Other // forwarded without a look-up, or answered by Kasoku itself
	classes
)

// ClassOf returns the class of a decision.
func ClassOf(d telemetry.Decision) Class {
	switch d {
	case telemetry.Hit, telemetry.HitNegative, telemetry.HitStale:
		return Hits
	case telemetry.Miss, telemetry.MissExpired, telemetry.MissInvalidated, telemetry.MissIsolated, telemetry.MissVary,
		telemetry.Revalidated, telemetry.Coalesced, telemetry.Partial:
		return Misses
	case telemetry.Write:
		return Writes
	}
	return Other
}

// HitRatio returns the share of hits; false without reads.
func HitRatio(hits, misses uint64) (float64, bool) {
	if hits+misses == 0 {
		return 0, false
	}
	return float64(hits) / float64(hits+misses), true
}
