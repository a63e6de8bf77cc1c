package admin

import (
	"context"
	"errors"
	"math"
	"time"
)

// Verifier compares answers of a service's cache with its origin. Its methods are safe for concurrent
// use.
type Verifier interface {
	// Verification returns the figures since the start.
	Verification() Verification
	// Verify makes the comparisons of a request, and reports them from one goroutine. The error wraps
	// ErrInput if the request is wrong, and ErrBusy while another one is in progress.
	Verify(ctx context.Context, r *VerifyRequest, report func(VerifyProgress)) error
}

// ErrBusy is the error of a request while another one of its kind is in progress.
var ErrBusy = errors.New("another one is in progress")

// VerifyCounts counts answers by the result of their comparison.
type VerifyCounts struct {
	Equal uint64 `json:"equal"`
	// Explained answers differ from the origin's, because the data was written during the comparison
	// or its time to live has passed. They prove nothing.
	Explained uint64 `json:"explained"`
	// Unexplained answers differ because of a write past Kasoku, or of a fault: without a stream,
	// and unless all writes pass through Kasoku, the two can't be distinguished.
	Unexplained uint64 `json:"unexplained"`
	Violations  uint64 `json:"violations"`
	// Skipped answers were not compared.
	Skipped uint64 `json:"skipped"`
}

// Checked returns the number of answers that were found right or wrong.
func (c *VerifyCounts) Checked() uint64 { return c.Equal + c.Violations }

// Add adds the counts of o.
func (c *VerifyCounts) Add(o *VerifyCounts) {
	c.Equal += o.Equal
	c.Explained += o.Explained
	c.Unexplained += o.Unexplained
	c.Violations += o.Violations
	c.Skipped += o.Skipped
}

// RightAtLeast returns the share of right answers that is exceeded with a confidence of 95 % if that
// many random answers were checked and all were right: with a smaller one, there would be a wrong one
// among them in more than 95 % of all cases.
func RightAtLeast(checked uint64) float64 { return math.Pow(0.05, 1/float64(checked)) }

// Verification has the figures of a service.
type Verification struct {
	Service string `json:"service"`
	Node    string `json:"node,omitempty"`
	// Rate is the number of comparisons per second, and Budget the units that they may read per
	// second. Both are 0 if none are configured.
	Rate   float64 `json:"rate"`
	Budget float64 `json:"budget"`
	// Running reports whether a request for further comparisons is in progress.
	Running   bool    `json:"running"`
	ReadUnits float64 `json:"read_units"`
	VerifyCounts
	// RightAtLeast is the result of the function of that name; null without comparisons, and with
	// violations.
	RightAtLeast *float64          `json:"right_at_least"`
	Skips        map[string]uint64 `json:"skips"` // by reason
	Tables       []VerifiedTable   `json:"tables"`
	// Recent are the latest violations, the newest last.
	Recent []Violation `json:"recent_violations"`
}

// VerifiedTable has the counts of a table.
type VerifiedTable struct {
	Table string `json:"table"`
	VerifyCounts
}

// VerifyRequest requests comparisons of hits, or of the entries of a list.
type VerifyRequest struct {
	Service string `json:"service"`
	// Table is the only table whose hits are compared; "" for all.
	Table string `json:"table,omitempty"`
	// The comparisons end after Seconds, or when Count answers were found right or wrong. Without
	// either, they end after a minute.
	Count   uint64  `json:"count,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// Rate is the maximum number of comparisons per second, by default 20, and Budget the units that
	// they may read per second, by default 100.
	Rate   float64 `json:"rate,omitempty"`
	Budget float64 `json:"budget,omitempty"`
	// List has entries to look up in place of sampled hits, as in WarmRequest. The stored ones are
	// compared.
	List []string `json:"list,omitempty"`
}

// VerifyProgress is one of the JSON values of the answer to a VerifyRequest. The last one is done, or
// has an error.
type VerifyProgress struct {
	VerifyCounts
	ReadUnits float64 `json:"read_units"`
	// Absent are the entries of the list that are not stored.
	Absent uint64            `json:"absent,omitempty"`
	Skips  map[string]uint64 `json:"skips,omitempty"` // by reason
	// Problems are entries of the list that name nothing. These and Violations are new since the
	// previous value.
	Problems   []string    `json:"problems,omitempty"`
	Violations []Violation `json:"violation_details,omitempty"`
	// Part is the part of the request that is done, from 0 to 1.
	Part  float64 `json:"part"`
	Done  bool    `json:"done,omitempty"`
	Error string  `json:"error,omitempty"`
}

// Violation is an answer that the contract does not allow, with its history. Keys and values are
// present as hashes only, which can be compared within one process.
type Violation struct {
	Service string `json:"service"`
	Node    string `json:"node,omitempty"`
	Table   string `json:"table"`
	Kind    string `json:"kind"` // item, query or scan
	Key     string `json:"key"`  // as in the access log
	Why     string `json:"why"`
	// Cached and Origin are hashes of both answers; "absent" for a missing item.
	Cached string `json:"cached"`
	Origin string `json:"origin"`
	// Differs are the names of the attributes, or of the members of a query's answer, that differ.
	Differs []string `json:"differs"`
	// Filled is when the entry was stored; null if that is not known.
	Filled *time.Time `json:"filled"`
	// Served is when the request began that was answered, ReadBegan and ReadEnded are the times of the
	// origin's answer, and Found is when the verdict was reached.
	Served    time.Time `json:"served"`
	ReadBegan time.Time `json:"read_began"`
	ReadEnded time.Time `json:"read_ended"`
	Found     time.Time `json:"found"`
	// Tags are the counters that the entry depends on.
	Tags []ViolatedTag `json:"tags"`
	// Writes are the latest writes through this process that move one of them, the newest last.
	Writes []ViolatingWrite `json:"writes"`
}

// ViolatedTag is a counter that an entry depends on.
type ViolatedTag struct {
	Name string `json:"name"`
	Then uint64 `json:"then"` // the generation that the entry was stored under
	Now  uint64 `json:"now"`
	// Moved is when the counter has moved last; null if it never has.
	Moved   *time.Time `json:"moved"`
	Writers int        `json:"writers"` // number of writes in flight
}

// ViolatingWrite is a write through a process.
type ViolatingWrite struct {
	Time      time.Time `json:"time"` // when it began
	Operation string    `json:"operation"`
	RequestID string    `json:"request_id,omitempty"` // as in the access log
}
