// Package admin is the administrative interface of a running Kasoku: metrics, health, a
// report for bug reports, explanations and purges. It uses net/http on its own listener and
// depends on services only through the interface [Service].
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
	// Decisions counts requests by how they were answered, since the start.
	Decisions map[telemetry.Decision]uint64 `json:"-"`
	// Notes are messages for the administrator, for example about a table whose schema could
	// not be read.
	Notes []string `json:"notes,omitempty"`
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

// PurgeRequest selects the entries to drop: everything of the service, or the selection by
// one of the other members. Table, Partition and Key are for services with tables, the
// others for services with URLs.
type PurgeRequest struct {
	Service string `json:"service"`
	// Table is the name of a table; with a partition or a key, only that.
	Table string `json:"table,omitempty"`
	// Partition is the value of a partition key: text, which is parsed as the key's type in
	// the table's schema, or an attribute value such as {"N":"42"}.
	Partition json.RawMessage `json:"partition,omitempty"`
	// Key is an item's key, as in a GetItem request; for a service of type memcached a text,
	// in the form that the application uses.
	Key json.RawMessage `json:"key,omitempty"`
	// URL is one URL with its query, as requested by clients: http://host/path?query.
	URL string `json:"url,omitempty"`
	// Prefix is the prefix of the URLs: http://host/path.
	Prefix string `json:"prefix,omitempty"`
	// Pattern is matched with whole URLs; * matches any text, ? one byte.
	Pattern string `json:"pattern,omitempty"`
	// Tag is a tag from the origin's Surrogate-Key or Cache-Tag.
	Tag string `json:"tag,omitempty"`
	// Soft marks the entries as stale instead of dropping them: they are fetched again on
	// the next request, and still served if the origin fails.
	Soft bool `json:"soft,omitempty"`
}

// ByTable reports whether the request has members for tables.
func (r *PurgeRequest) ByTable() bool { return r.Table != "" || r.Partition != nil || r.Key != nil }

// ByURL reports whether the request has members for URLs.
func (r *PurgeRequest) ByURL() bool {
	return r.URL != "" || r.Prefix != "" || r.Pattern != "" || r.Tag != "" || r.Soft
}

// PurgeResult describes the dropped selection. Entries are not counted: a purge takes the
// same time however many there are.
type PurgeResult struct {
	Dropped string `json:"dropped"` // "everything of table orders"
	Tags    int    `json:"tags"`    // generations moved
}
