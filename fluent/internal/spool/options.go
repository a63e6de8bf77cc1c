package spool

import (
	"fmt"
	"time"
)

// When payloads are synced: a positive Options.Sync is the longest time that
// one waits for it.
const (
	// SyncAlways syncs before Append returns.
	SyncAlways time.Duration = -1
	// SyncNever leaves it to the system and to calls of Sync.
	SyncNever time.Duration = -2
)

// What an Options' zero fields stand for.
const (
	DefaultMaxBytes = 256 << 20
	DefaultSync     = time.Second
)

const (
	minMaxBytes     = 4 << 10
	maxSegmentBytes = 4 << 20
	maxPayloadBytes = 64 << 20
)

// Options of a Spool. Fields that are zero take their defaults.
type Options struct {
	// MaxBytes bounds the bytes of all files, headers included. At least 4 KiB.
	MaxBytes int64
	// Sync is SyncAlways, SyncNever, or an interval.
	Sync time.Duration
	// Report, if set, is told what no caller can be told: a *LossError when
	// payloads were lost after Open, and failures to sync in the background or to
	// keep progress. It is called without locks, and not at the same time twice
	// only if callers take turns.
	Report func(error)

	fs fsys // the operating system's, but in tests
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxBytes < minMaxBytes {
		return o, fmt.Errorf("spool: a bound of %d bytes is less than %d", o.MaxBytes, minMaxBytes)
	}
	if o.Sync == 0 {
		o.Sync = DefaultSync
	}
	if o.Sync < SyncNever {
		return o, fmt.Errorf("spool: an interval of %s between syncs", o.Sync)
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.fs == nil {
		o.fs = osFS{}
	}
	return o, nil
}

// segmentBytes is the size at which a segment is full: eight of them at least
// fit into the bound, so that space comes back in small steps.
func (o Options) segmentBytes() int64 {
	return min(maxSegmentBytes, o.MaxBytes/8)
}
