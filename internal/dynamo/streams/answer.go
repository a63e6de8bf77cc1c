package streams

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// description is a page of the answer of DescribeStream.
type description struct {
	status string // ENABLING, ENABLED, DISABLING or DISABLED
	shards []listed
	next   string // the last shard of the page, if there are more pages
}

// enabled reports whether the stream has or will have open shards.
func (d *description) enabled() bool { return d.status == "ENABLED" || d.status == "ENABLING" }

// listed is a shard in the answer of DescribeStream.
type listed struct {
	id, parent string
	closed     bool // it gets no more records
}

func parseDescription(body []byte) (*description, error) {
	var answer struct {
		StreamDescription *struct {
			StreamStatus         string
			LastEvaluatedShardId string
			Shards               []struct {
				ShardId, ParentShardId string
				SequenceNumberRange    struct{ EndingSequenceNumber string }
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("DescribeStream: %w", err)
	}
	s := answer.StreamDescription
	if s == nil || s.StreamStatus == "" {
		return nil, errors.New("DescribeStream: the answer describes no stream")
	}
	d := &description{status: s.StreamStatus, next: s.LastEvaluatedShardId, shards: make([]listed, 0, len(s.Shards))}
	for _, shard := range s.Shards {
		if shard.ShardId == "" || shard.ShardId == shard.ParentShardId {
			return nil, fmt.Errorf("DescribeStream: a shard with the ID %q and the parent %q", shard.ShardId, shard.ParentShardId)
		}
		d.shards = append(d.shards, listed{shard.ShardId, shard.ParentShardId, shard.SequenceNumberRange.EndingSequenceNumber != ""})
	}
	return d, nil
}

func parseIterator(body []byte) (string, error) {
	var answer struct{ ShardIterator string }
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("GetShardIterator: %w", err)
	}
	if answer.ShardIterator == "" {
		return "", errors.New("GetShardIterator: the answer has no iterator")
	}
	return answer.ShardIterator, nil
}

// page is the answer of GetRecords.
type page struct {
	records []Record
	next    string // the next iterator, or "" at the end of a closed shard
	full    bool   // there may be more records at once
	started time.Duration
}

// An answer with that many records or bytes is full. The origin ends an answer before the
// record that would exceed 1 MB, and records can have hundreds of kilobytes.
const (
	fullRecords = 1000
	fullBytes   = 512 << 10
)

func parsePage(body []byte) (*page, error) {
	var answer struct {
		NextShardIterator string
		Records           []struct {
			EventName string `json:"eventName"`
			Dynamodb  struct {
				ApproximateCreationDateTime    float64
				Keys, OldImage, NewImage       json.RawMessage
				SequenceNumber, StreamViewType string
			} `json:"dynamodb"`
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("GetRecords: %w", err)
	}
	p := &page{next: answer.NextShardIterator, full: len(answer.Records) >= fullRecords || len(body) >= fullBytes}
	if len(answer.Records) > 0 {
		p.records = make([]Record, len(answer.Records))
	}
	for i := range answer.Records {
		from, to := &answer.Records[i].Dynamodb, &p.records[i]
		*to = Record{Kind: kindOf(answer.Records[i].EventName), View: from.StreamViewType, Sequence: from.SequenceNumber}
		var ok [3]bool
		to.Keys, ok[0] = object(from.Keys)
		to.Old, ok[1] = object(from.OldImage)
		to.New, ok[2] = object(from.NewImage)
		if ok != [3]bool{true, true, true} || to.Keys == nil || to.Kind == 0 || to.Sequence == "" {
			return nil, fmt.Errorf("GetRecords: record %d is incomplete: event %q, sequence number %q", i, answer.Records[i].EventName, to.Sequence)
		}
		seconds := from.ApproximateCreationDateTime
		if seconds < 0 || seconds > maxSeconds {
			return nil, fmt.Errorf("GetRecords: record %d has the time %g", i, seconds)
		}
		whole, fraction := math.Modf(seconds)
		to.Created = time.Unix(int64(whole), int64(fraction*1e9))
	}
	return p, nil
}

// maxSeconds bounds the time of a record: differences of times fit into a Duration.
const maxSeconds = 8e9

// object returns a JSON object, or nil if there is none. It returns false for other values.
func object(raw json.RawMessage) ([]byte, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, true
	}
	return raw, raw[0] == '{'
}

func kindOf(event string) Kind {
	for _, k := range []Kind{Insert, Modify, Remove} {
		if k.String() == event {
			return k
		}
	}
	return 0
}
