package faults

import (
	"encoding/json"
	"time"
)

// Plan describes the faults of a store. Parse reads one; the zero value has none.
type Plan struct {
	// Seed is the seed of all random decisions.
	Seed int64 `json:"seed"`
	// Rules are tried in order for each request.
	Rules []Rule `json:"rules"`
	// EnforceCapacity enforces the provisioned capacity of tables and global indexes.
	EnforceCapacity bool `json:"enforce_capacity,omitempty"`
	// TransactionConflicts lets requests for an item fail while a transaction that writes it is in
	// progress. Otherwise they wait for it.
	TransactionConflicts bool `json:"transaction_conflicts,omitempty"`
	// ItemCollectionLimit is the maximum size of an item collection in bytes, of tables with local
	// indexes. 0 is no limit.
	ItemCollectionLimit int `json:"item_collection_limit,omitempty"`
	// EventualReads makes reads without ConsistentRead lag; nil for none.
	EventualReads *EventualReads `json:"eventual_reads,omitempty"`
	// IndexLag makes reads of global indexes lag. 0 is the lag of EventualReads.
	IndexLag time.Duration `json:"-"`
	// Creating, Updating and Deleting are the times for which a table has these states after it was
	// created, updated or deleted.
	Creating time.Duration `json:"-"`
	Updating time.Duration `json:"-"`
	Deleting time.Duration `json:"-"`
	// KeepCache lets the cache in front of the store answer as usual. Otherwise every request
	// reaches the store. In JSON it is bypass_cache, inverted.
	KeepCache bool `json:"-"`
}

// EventualReads makes reads without ConsistentRead, and of global indexes, see the data of Lag ago.
type EventualReads struct {
	Lag time.Duration
	// Tables are patterns of tables. Empty is any.
	Tables Patterns
}

// MarshalJSON implements json.Marshaler.
func (e EventualReads) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Lag    string   `json:"lag"`
		Tables Patterns `json:"tables,omitempty"`
	}{e.Lag.String(), e.Tables})
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *EventualReads) UnmarshalJSON(text []byte) error {
	return unmarshal(text, func(v *input) { *e = v.eventualReads() })
}

// Rule selects requests and describes their fault. It applies to a request that all of
// Operations, Tables and Key match, if all of Probability, After, Every and Count allow it.
type Rule struct {
	// Name is the name of the rule in lists and metrics. Empty is the number of the
	// rule in its plan.
	Name string `json:"name,omitempty"`
	// Operations are patterns of operations, for example PutItem and Batch*. Empty is any.
	Operations Patterns `json:"operations,omitempty"`
	// Tables are patterns of tables. Empty is any, also an operation without a table.
	Tables Patterns `json:"tables,omitempty"`
	// Key is a JSON object of attribute values, all of which the key or the item of a request
	// must have. Statements of PartiQL never match a key.
	Key json.RawMessage `json:"key,omitempty"`

	// Probability is the share of the matching requests that the rule applies to; nil is all.
	Probability *float64 `json:"probability,omitempty"`
	// After is the number of matching requests that are left alone first.
	After int `json:"after,omitempty"`
	// Every applies the rule to one of so many matching requests: the last. 0 is 1.
	Every int `json:"every,omitempty"`
	// Count is the maximum number of requests that the rule applies to; 0 is no maximum.
	Count int `json:"count,omitempty"`

	// Delay is the time before the request is executed.
	Delay *Delay `json:"delay,omitempty"`
	// Hold is the time between the locks and the commit of a write, while other requests find
	// its items locked.
	Hold *Delay `json:"hold,omitempty"`
	// Error is the error that answers the request.
	Error *Error `json:"error,omitempty"`
	// Reset closes the client's connection without an answer.
	Reset bool `json:"reset,omitempty"`
	// Executed executes the request before its error or reset.
	Executed bool `json:"executed,omitempty"`
	// Unprocessed is the share of a batch's items that are left unprocessed. All of them are
	// if it is 1, otherwise at least one is processed.
	Unprocessed float64 `json:"unprocessed,omitempty"`
}

// ends reports whether no rule after this one is tried for a request that it applies to.
func (r *Rule) ends() bool { return r.Error != nil || r.Reset || r.Unprocessed > 0 }

// Error is an error of the service.
type Error struct {
	// Type is the type without its namespace, for example ThrottlingException.
	Type string `json:"type"`
	// Message replaces the message that the service has for this type.
	Message string `json:"message,omitempty"`
	// ThrottlingReasons are for the types that throttle. Without them there is one, which names
	// the table of the request.
	ThrottlingReasons []ThrottlingReason `json:"throttling_reasons,omitempty"`
	// CancellationReasons are codes for the actions of a TransactionCanceledException, for
	// example None and TransactionConflict. Further actions have the code None.
	CancellationReasons []string `json:"cancellation_reasons,omitempty"`
}

// ThrottlingReason is the reason of an error that throttles.
type ThrottlingReason struct {
	// Reason is for example TableWriteKeyRangeThroughputExceeded.
	Reason string `json:"reason"`
	// Resource is the ARN of a table or an index. Empty is the table of the request.
	Resource string `json:"resource,omitempty"`
}

// Patterns are patterns of names as package glob has them. In JSON, one may be given as a
// string instead of a list.
type Patterns []string

// Delay is a time of at least Min and at most Max. In JSON it is a duration, or an object with
// min and max.
type Delay struct{ Min, Max time.Duration }

// MarshalJSON implements json.Marshaler.
func (d Delay) MarshalJSON() ([]byte, error) {
	if d.Min == d.Max {
		return json.Marshal(d.Min.String())
	}
	return json.Marshal(map[string]string{"min": d.Min.String(), "max": d.Max.String()})
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Delay) UnmarshalJSON(text []byte) error {
	return unmarshal(text, func(v *input) { *d = v.delay() })
}

// MarshalJSON implements json.Marshaler.
func (p Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	if p.Rules == nil {
		p.Rules = []Rule{}
	}
	return json.Marshal(struct {
		plain
		IndexLag    string `json:"index_lag,omitempty"`
		Creating    string `json:"creating,omitempty"`
		Updating    string `json:"updating,omitempty"`
		Deleting    string `json:"deleting,omitempty"`
		BypassCache bool   `json:"bypass_cache"`
	}{plain(p), text(p.IndexLag), text(p.Creating), text(p.Updating), text(p.Deleting), !p.KeepCache})
}

// Check returns all mistakes in a plan, as Parse does for its JSON.
func (p *Plan) Check() error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return p.UnmarshalJSON(text)
}

// Empty reports whether the plan has no faults.
func (p *Plan) Empty() bool {
	return len(p.Rules) == 0 && !p.EnforceCapacity && !p.TransactionConflicts && p.ItemCollectionLimit == 0 && p.EventualReads == nil && p.IndexLag == 0 &&
		p.Creating == 0 && p.Updating == 0 && p.Deleting == 0
}

// text returns a duration for JSON, empty for 0.
func text(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// UnmarshalJSON implements json.Unmarshaler. Its errors name the fields.
func (p *Plan) UnmarshalJSON(text []byte) error {
	return unmarshal(text, func(v *input) { *p = v.plan() })
}
