package transfer

import (
	"sync/atomic"
	"time"
)

// Totals are the counts of a run.
type Totals struct {
	Tables  []string `json:"tables"`
	Created []string `json:"created,omitempty"` // tables that the run has created
	Items   int64    `json:"items"`             // written
	Deleted int64    `json:"deleted,omitempty"` // by incremental exports
	Skipped int64    `json:"skipped,omitempty"` // acknowledged in an earlier run
	Bytes   int64    `json:"bytes"`             // of the items' JSON
	Failed  int64    `json:"failed"`
	Retries int64    `json:"retries"` // requests and items that were sent again
	Seconds float64  `json:"seconds"`
	Part    float64  `json:"-"` // from 0 to 1; 0 if it is unknown
}

// counters are the counts while a run is in progress.
type counters struct {
	items, deleted, skipped, bytes, failed, retries atomic.Int64
	read, all                                       atomic.Int64 // the source's size, and the part of it that is read
	start                                           time.Time
}

// totals returns the counts.
func (c *counters) totals() Totals {
	t := Totals{Tables: []string{}, Items: c.items.Load(), Deleted: c.deleted.Load(), Skipped: c.skipped.Load(), Bytes: c.bytes.Load(),
		Failed: c.failed.Load(), Retries: c.retries.Load(), Seconds: time.Since(c.start).Seconds()}
	if all := c.all.Load(); all > 0 {
		t.Part = min(float64(c.read.Load())/float64(all), 1)
	}
	return t
}
