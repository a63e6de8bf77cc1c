package spool

import (
	"fmt"
	"time"
)

// Special values of Options.Sync; a positive value is the maximum time until a sync.
const (
	// SyncAlways syncs before Append returns.
	SyncAlways time.Duration = -1
	// SyncNever leaves syncing to the system and to calls of Sync.
	SyncNever time.Duration = -2
)

// The defaults of zero fields of Options.
const (
	DefaultMaxBytes = 256 << 20
	DefaultSync     = time.Second
)

const (
	minMaxBytes     = 4 << 10
	maxSegmentBytes = 4 << 20
	maxPayloadBytes = 64 << 20
)

// Options of a Spool. Zero fields have defaults.
type Options struct {
	// MaxBytes bounds the bytes of all files, headers included. At least 4 KiB.
	MaxBytes int64
	// Sync is SyncAlways, SyncNever, or an interval.
	Sync time.Duration
	// Report, if set, is called with errors that no call can return: a *LossError for
	// payloads lost after Open, and failures to sync in the background or to store progress.
	// It is called without locks, and may be called concurrently if the callers of the Spool
	// are concurrent.
	Report func(error)

	fs fsys // the operating system's, except in tests
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

// segmentBytes returns the size at which a segment is full: at least eight fit into the
// bound, so that space is freed in small steps.
func (o Options) segmentBytes() int64 {
	return min(maxSegmentBytes, o.MaxBytes/8)
}
