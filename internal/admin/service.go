// Package admin is the administrative interface of a running Kasoku: metrics, health, a
// report for bug reports, explanations, purges, and the members of the cluster. It uses
// net/http on its own listener and depends on services and on the cluster only through the
// interfaces [Service] and [Cluster].
//
// Every client that can send requests to it can drop the cache and see the names of tables.
// So it listens on loopback or requires a token, and it refuses requests from web pages that
// the administrator visits.
package admin

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Service is a service as seen by the administrator. All methods are safe for concurrent use
// while the service runs.
type Service interface {
	// Name returns the service's name in the configuration.
	Name() string
	// Report returns the service's current state. It must be cheap.
	Report() Report
	// Explain describes step by step how the request would be answered now, without a
	// request to the origin and without side effects. For an invalid request the error wraps
	// ErrInput.
	Explain(ctx context.Context, r ExplainRequest) (Explanation, error)
	// Purge drops entries from the cache. For an invalid request the error wraps ErrInput,
	// and nothing was dropped.
	Purge(ctx context.Context, r PurgeRequest) (PurgeResult, error)
	// Ready returns the reason why the service is not ready, for example an open breaker, or
	// nil.
	Ready() error
}

// ErrInput marks errors caused by the request.
var ErrInput = errors.New("bad request")

// Report is a service's current state.
type Report struct {
	Type   string `json:"type"`
	Origin Origin `json:"origin"`
	// Members are the individual origins, if there may be several.
	Members []Member `json:"members,omitempty"`
	Cache   Usage    `json:"cache"`
	// Disk is the disk usage of all services that use the disk; nil if this one does not.
	Disk *Disk `json:"disk,omitempty"`
	// Feeds are the shared live feeds, in descending order of clients.
	Feeds []Feed `json:"feeds,omitempty"`
	// Streams are the streams that are followed, in the order of their tables.
	Streams []Stream `json:"streams,omitempty"`
	// Namespaces is the number of parts that the service's store has for access keys and regions;
	// nil if all clients have the same tables.
	Namespaces *int `json:"namespaces,omitempty"`
	// Decisions counts requests by how they were answered, since the start.
	Decisions map[telemetry.Decision]uint64 `json:"-"`
	// Notes are messages for the administrator, for example about a table whose schema could
	// not be read.
	Notes []string `json:"notes,omitempty"`
}

// Stream is the state of following the stream of a table.
type Stream struct {
	Table string `json:"table"`
	// Lag is the time since the stream was known to be read to its end, in seconds; null before
	// the first time.
	Lag    *float64 `json:"lag_seconds"`
	Served bool     `json:"served"` // answers of the table are served from memory
	// Reader is the node of the cluster that reads the stream; "" for this process.
	Reader string `json:"reader,omitempty"`
	// Shards are the ones that this process reads.
	Shards  []Shard `json:"shards,omitempty"`
	Trouble string  `json:"trouble,omitempty"`
}

// Shard is a shard of a stream that is being read.
type Shard struct {
	ID      string   `json:"id"`
	Lag     *float64 `json:"lag_seconds"` // as in Stream
	Trouble string   `json:"trouble,omitempty"`
}

// Origin is the state of the client of an origin.
type Origin struct {
	URL      string `json:"url"`
	Breaker  string `json:"breaker"` // closed, open, half-open, disabled
	Limit    int    `json:"limit"`   // maximum number of requests in flight; 0 for no limit
	InFlight int    `json:"in_flight"`
	Queued   int    `json:"queued"`
	Requests uint64 `json:"requests"`
	Attempts uint64 `json:"attempts"`
	Retries  uint64 `json:"retries"`
}

// Usage is the use of a service's part of the cache.
type Usage struct {
	Entries   int    `json:"entries"`
	Bytes     uint64 `json:"bytes"`
	Capacity  uint64 `json:"capacity"`
	Evictions uint64 `json:"evictions"`
	// EvictedBytes is the total size of the evicted entries.
	EvictedBytes uint64 `json:"evicted_bytes"`
	// Shared is set if the figures describe the memory shared by all services without
	// their own cap.
	Shared bool `json:"shared"`
}

// Disk is the disk usage.
type Disk struct {
	Files     int    `json:"files"`
	Bytes     uint64 `json:"bytes"`
	Capacity  uint64 `json:"capacity"`
	Evictions uint64 `json:"evictions"`
	Refused   uint64 `json:"refused"` // found incomplete or damaged at the start
	Damaged   uint64 `json:"damaged"` // found damaged by a read
}

// ExplainRequest is a request of a client to be explained.
type ExplainRequest struct {
	Service string            `json:"service"`
	Method  string            `json:"method,omitempty"` // default: the protocol's usual method
	Path    string            `json:"path,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
}

// Explanation describes how a request would be answered.
type Explanation struct {
	Decision string `json:"decision"` // a name from telemetry.Decisions
	Steps    []Step `json:"steps"`
}

// Step is one step of an explanation, in order.
type Step struct {
	What  string `json:"what"`           // "operation", "key", "entry", ...
	Value string `json:"value"`          // "GetItem", "hit", ...
	Note  string `json:"note,omitempty"` // reason or consequence
}
