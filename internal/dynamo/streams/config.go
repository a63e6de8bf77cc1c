// Package streams follows the DynamoDB stream of a table and passes its records to a
// callback, in order, so that a cache in front of the table can drop what was written
// past it. It has no knowledge of the cache, and it sends nothing itself: the caller
// passes in the function that calls the origin.
//
// A [Follower] reads every shard with a goroutine of its own. A shard that was read to its
// end is replaced by its children, which are read from their oldest record. Whenever records
// may have been missed, the follower calls Fence, which drops everything that was read before.
//
// The time that Through returns is the basis for serving cached answers: an answer that was
// read later than the latest write before that time, or dropped because of it, is at most as
// old as the time is.
package streams

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// CallFunc sends an operation of the streams API ("DescribeStream", "GetShardIterator",
// "GetRecords") with a JSON body and returns the body of the successful answer. If the origin
// has answered with an error, the error is or wraps an [*Error].
type CallFunc func(ctx context.Context, operation string, body []byte) ([]byte, error)

// Error is an error that the origin has answered with.
type Error struct {
	Type    string // without its prefix, for example "ExpiredIteratorException"
	Message string
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Errors that [Follower.Run] returns.
var (
	ErrEnded = errors.New("the stream is disabled and was read to its end")
	ErrGone  = errors.New("the stream does not exist")
)

// Kind is the kind of a change.
type Kind uint8

// The kinds of changes.
const (
	Insert Kind = 1 + iota
	Modify
	Remove
)

func (k Kind) String() string {
	switch k {
	case Insert:
		return "INSERT"
	case Modify:
		return "MODIFY"
	case Remove:
		return "REMOVE"
	}
	return "invalid"
}

// Record is a change of an item.
type Record struct {
	Kind     Kind
	Keys     []byte    // a JSON object
	Old, New []byte    // images as JSON objects, as they were received; nil if the record has none
	View     string    // the StreamViewType of the record
	Created  time.Time // ApproximateCreationDateTime; DynamoDB rounds it down to the second
	Sequence string
}

// Checkpoint has a place in each shard, by the shard's ID.
type Checkpoint map[string]Place

// Place is a place in a shard: after the record with a sequence number; at an iterator, as long as
// that is valid, which is 15 minutes; or, if both are empty, at the beginning.
type Place struct {
	Sequence string `json:",omitempty"`
	Iterator string `json:",omitempty"`
}

// Config describes a follower.
type Config struct {
	Call   CallFunc
	Stream string // its ARN
	// MaxLag is the lag that users of Through tolerate. It determines how often shards are polled.
	MaxLag time.Duration
	// Describe is shared by all followers of an origin. If it is nil, the follower has its own.
	Describe *Limiter
	// Apply is called for the records of a shard in order, and returns when they have taken
	// effect. Several calls for different shards may run at a time. After an error the same
	// records are passed again later. Records are valid during the call only.
	Apply func(ctx context.Context, shard string, records []Record) error
	// Fence drops everything that was read before it was called: records may have been missed.
	// It is repeated until it returns nil.
	Fence func(ctx context.Context) error
	// From is the place to resume from, which may be 23 hours old at most: the origin keeps
	// records for 24 hours. If it is empty, the follower starts with the newest records, after
	// a Fence.
	From    Checkpoint
	Log     *slog.Logger // may be nil
	Metrics Metrics
}

// Metrics are counters. Each may be nil.
type Metrics struct {
	Describes *telemetry.Counter // calls of DescribeStream
	Iterators *telemetry.Counter // calls of GetShardIterator
	Reads     *telemetry.Counter // calls of GetRecords
	Records   *telemetry.Counter // records applied
	Late      *telemetry.Counter // records that arrived after Through had passed them
	Fences    *telemetry.Counter // completed calls of Fence
	Throttles *telemetry.Counter // calls that the origin has throttled
}

func count(c *telemetry.Counter, n int) {
	if c != nil && n > 0 {
		c.Add(uint64(n))
	}
}

// Limiter limits the calls of DescribeStream, of which an account has ten a second for all
// its programs.
type Limiter struct{ rate *rate.Limiter }

// describeBurst is the number of calls of DescribeStream that may follow each other at once
// after a pause.
const describeBurst = 3

// NewLimiter returns a limiter that admits one call a second, and a few at once after a pause.
func NewLimiter() *Limiter { return &Limiter{rate.NewLimiter(1, describeBurst)} }

// wait returns when a call is admitted, or with the error of ctx.
func (l *Limiter) wait(ctx context.Context) error {
	if err := l.rate.Wait(ctx); err != nil {
		<-ctx.Done() // the limiter returns early if the deadline is too near
		return ctx.Err()
	}
	return nil
}
