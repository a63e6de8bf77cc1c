package streams

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

const callTimeout = 10 * time.Second

// call sends an operation with its arguments.
func (f *Follower) call(ctx context.Context, operation string, arguments any) ([]byte, error) {
	body, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := f.cfg.Call(ctx, operation, body)
	if err != nil && isThrottle(err) {
		count(f.cfg.Metrics.Throttles, 1)
	}
	return answer, err
}

type childFilter struct {
	Type    string
	ShardID string `json:"ShardId"`
}

// describe returns the stream with all of its shards or, if parent is not empty, with the
// children of that shard at least: origins may ignore the filter. It waits for the limiter
// before each page, and tries a page again while the origin throttles.
func (f *Follower) describe(ctx context.Context, parent string) (*description, error) {
	arguments := struct {
		Stream string       `json:"StreamArn"`
		After  string       `json:"ExclusiveStartShardId,omitempty"`
		Filter *childFilter `json:"ShardFilter,omitempty"`
	}{Stream: f.cfg.Stream}
	if parent != "" {
		arguments.Filter = &childFilter{"CHILD_SHARDS", parent}
	}
	all := &description{}
	pages := int32(0)
	var failures backoff
	for {
		if err := f.cfg.Describe.wait(ctx); err != nil {
			return nil, err
		}
		count(f.cfg.Metrics.Describes, 1)
		body, err := f.call(ctx, "DescribeStream", arguments)
		if err != nil && isThrottle(err) {
			if !pause.For(ctx, failures.next()) {
				return nil, ctx.Err()
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		d, err := parseDescription(body)
		if err != nil {
			return nil, err
		}
		pages++
		all.status = d.status
		all.shards = append(all.shards, d.shards...)
		if d.next == "" {
			if parent == "" {
				f.pages.Store(pages)
			}
			return all, nil
		}
		if d.next == arguments.After {
			return nil, errors.New("DescribeStream: a page ends where it begins")
		}
		arguments.After = d.next
	}
}

// Types of iterators.
const (
	latest        = "LATEST"
	trimHorizon   = "TRIM_HORIZON"
	afterSequence = "AFTER_SEQUENCE_NUMBER"
)

// maxIteratorCalls is the number of concurrent calls of GetShardIterator.
const maxIteratorCalls = 16

// iterator returns a new iterator of a shard.
func (f *Follower) iterator(ctx context.Context, shard, kind, sequence string) (string, error) {
	select {
	case f.iterators <- struct{}{}:
		defer func() { <-f.iterators }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	count(f.cfg.Metrics.Iterators, 1)
	body, err := f.call(ctx, "GetShardIterator", struct {
		Stream   string `json:"StreamArn"`
		Shard    string `json:"ShardId"`
		Type     string `json:"ShardIteratorType"`
		Sequence string `json:"SequenceNumber,omitempty"`
	}{f.cfg.Stream, shard, kind, sequence})
	if err != nil {
		return "", err
	}
	return parseIterator(body)
}

// records returns the page at an iterator.
func (f *Follower) records(ctx context.Context, iterator string) (*page, error) {
	count(f.cfg.Metrics.Reads, 1)
	body, err := f.call(ctx, "GetRecords", struct{ ShardIterator string }{iterator})
	if err != nil {
		return nil, err
	}
	return parsePage(body)
}

// Types of errors that need more than another attempt.
const (
	expiredIterator = "ExpiredIteratorException"
	trimmedData     = "TrimmedDataAccessException"
	notFound        = "ResourceNotFoundException"
	invalid         = "ValidationException"
)

// errorType returns the type of an error of the origin, or "" for other errors.
func errorType(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Type
	}
	return ""
}

var throttles = []string{"ThrottlingException", "ProvisionedThroughputExceededException", "LimitExceededException", "RequestLimitExceeded"}

func isThrottle(err error) bool { return slices.Contains(throttles, errorType(err)) }

// backoff is the number of failures in a row.
type backoff int

// next counts a failure and returns the pause after it: 250 ms at first and up to 2 s, each
// up to a quarter shorter or longer.
func (b *backoff) next() time.Duration {
	d := 250 * time.Millisecond << min(int(*b), 3)
	*b++
	return d*3/4 + rand.N(d/2)
}
