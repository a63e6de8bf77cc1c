// Package admin is the administrator's side of a running Kasoku: metrics,
// health, a report to paste into a bug report, explanations and purges. It
// speaks plain net/http on a listener of its own and knows services only by
// the interface [Service].
//
// Whoever can send it requests can drop the cache and see the names of tables.
// So it listens on loopback, or asks for a token; and it takes nothing from web
// pages that the administrator happens to visit.
package admin

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Service is what a service lets the administrator see and do. All methods may
// be called at any time and from any goroutine while the service runs.
type Service interface {
	// Name is the service's name in the configuration.
	Name() string
	// Report reads the service's present state. It must be cheap.
	Report() Report
	// Explain tells step by step how the request would be answered now, without
	// asking the origin and without changing anything. A request that makes no
	// sense is an error that wraps ErrInput.
	Explain(ctx context.Context, r ExplainRequest) (Explanation, error)
	// Purge drops entries from the cache. What can't be understood is an error
	// that wraps ErrInput, and then nothing was dropped.
	Purge(ctx context.Context, r PurgeRequest) (PurgeResult, error)
	// Ready tells why the service can't do its work now, such as that its
	// origin's breaker is open; nil when it can.
	Ready() error
}

// ErrInput marks errors that are the fault of what was asked.
var ErrInput = errors.New("bad request")

// Report is a service's present state.
type Report struct {
	Type   string `json:"type"`
	Origin Origin `json:"origin"`
	// Members are the origins one by one, if there may be several.
	Members []Member `json:"members,omitempty"`
	Cache   Usage    `json:"cache"`
	// Disk is what all services that use it have on disk; nil: this one does not.
	Disk *Disk `json:"disk,omitempty"`
	// Feeds are the live feeds that clients share, those with the most clients first.
	Feeds []Feed `json:"feeds,omitempty"`
	// Decisions counts requests by how they were answered, since the start.
	Decisions map[telemetry.Decision]uint64 `json:"-"`
	// Notes are sentences about what the administrator should know, such as a
	// table whose schema could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Origin is the state of the way to an origin.
type Origin struct {
	URL      string `json:"url"`
	Breaker  string `json:"breaker"` // closed, open, half-open, disabled
	Limit    int    `json:"limit"`   // requests that may be under way; 0: no limit
	InFlight int    `json:"in_flight"`
	Queued   int    `json:"queued"`
	Requests uint64 `json:"requests"`
	Attempts uint64 `json:"attempts"`
	Retries  uint64 `json:"retries"`
}

// Usage is what a service's part of the cache holds.
type Usage struct {
	Entries   int    `json:"entries"`
	Bytes     uint64 `json:"bytes"`
	Capacity  uint64 `json:"capacity"`
	Evictions uint64 `json:"evictions"`
	// EvictedBytes is what the evicted entries took.
	EvictedBytes uint64 `json:"evicted_bytes"`
	// Shared says that the figures are those of the memory that all services
	// without a cap of their own share.
	Shared bool `json:"shared"`
}

// Disk is what lies on disk.
type Disk struct {
	Files     int    `json:"files"`
	Bytes     uint64 `json:"bytes"`
	Capacity  uint64 `json:"capacity"`
	Evictions uint64 `json:"evictions"`
	Refused   uint64 `json:"refused"` // found incomplete or damaged at the start
	Damaged   uint64 `json:"damaged"` // found so when they were read
}

// ExplainRequest is a request as a client would send it.
type ExplainRequest struct {
	Service string            `json:"service"`
	Method  string            `json:"method,omitempty"` // default: what the protocol mostly uses
	Path    string            `json:"path,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
}

// Explanation is how a request would be answered.
type Explanation struct {
	Decision string `json:"decision"` // a name from telemetry.Decisions
	Steps    []Step `json:"steps"`
}

// Step is one thing that the service looked at, in order.
type Step struct {
	What  string `json:"what"`           // "operation", "key", "entry", ...
	Value string `json:"value"`          // "GetItem", "hit", ...
	Note  string `json:"note,omitempty"` // why, or what follows
}

// PurgeRequest says what to drop: everything of the service, or what one of the
// other members names. Table, Partition and Key are for services that have
// tables, the others for those that have URLs.
type PurgeRequest struct {
	Service string `json:"service"`
	// Table is all of a table; with a partition or a key, only that.
	Table string `json:"table,omitempty"`
	// Partition is a partition key's value: text, which is read as the key's type
	// in the table's schema, or an attribute value such as {"N":"42"}.
	Partition json.RawMessage `json:"partition,omitempty"`
	// Key is an item's key, as in a GetItem request; of a service of type memcached a text,
	// the key as the application calls it.
	Key json.RawMessage `json:"key,omitempty"`
	// URL is one URL with its query, as clients ask for it: http://host/path?query.
	URL string `json:"url,omitempty"`
	// Prefix is how the URLs begin: http://host/path.
	Prefix string `json:"prefix,omitempty"`
	// Pattern is matched with whole URLs; * stands for any text, ? for one byte.
	Pattern string `json:"pattern,omitempty"`
	// Tag is one of those that the origin gave its answers in Surrogate-Key or
	// Cache-Tag.
	Tag string `json:"tag,omitempty"`
	// Soft marks what it finds as stale instead of dropping it: it is asked for
	// anew when next wanted, and serves on if the origin fails.
	Soft bool `json:"soft,omitempty"`
}

// ByTable says whether the request names what only tables have.
func (r *PurgeRequest) ByTable() bool { return r.Table != "" || r.Partition != nil || r.Key != nil }

// ByURL says whether the request names what only URLs have.
func (r *PurgeRequest) ByURL() bool {
	return r.URL != "" || r.Prefix != "" || r.Pattern != "" || r.Tag != "" || r.Soft
}

// PurgeResult is what was dropped. Entries are not counted: a purge takes the
// same time however many there are.
type PurgeResult struct {
	Dropped string `json:"dropped"` // "everything of table orders"
	Tags    int    `json:"tags"`    // generations moved
}
