package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// origin is a streams service on the clock of a bubble. Each item has its records in one open
// shard at a time.
type origin struct {
	mu       sync.Mutex
	status   string
	deleted  bool
	shards   []*originShard // in the order of their creation
	byID     map[string]*originShard
	sequence int
	created  int // shards
	calls    map[string]int
	log      []string // calls, with the kind and the place of iterators
	readTime map[string][]time.Time

	// Faults. Each function may be nil.
	latency      func() time.Duration
	fail         func(operation string) error // may be called concurrently
	visibleAfter func() time.Duration         // of a record
	listedAfter  func() time.Duration         // of a shard
	ignoreFilter bool
	refuseFilter bool
	emptyAnswers int // answers without records at the beginning of an iterator by number
	shardPage    int // shards on a page, or 0 for all
	expired      time.Time
}

type originShard struct {
	id, parent string
	records    []originRecord
	trimmed    int // records that were removed
	closed     bool
	forgotten  bool // removed from the stream
	listed     time.Time
}

type originRecord struct {
	sequence         int
	item, version    int
	padding          int
	created, visible time.Time
}

const recordsPerPage = 1000

func newOrigin(shards int) *origin {
	o := &origin{status: "ENABLED", byID: map[string]*originShard{}, calls: map[string]int{}, readTime: map[string][]time.Time{}}
	for range shards {
		o.add("")
	}
	return o
}

// add creates a shard.
func (o *origin) add(parent string) *originShard {
	o.created++
	s := &originShard{id: fmt.Sprintf("shard-%06d", o.created), parent: parent, listed: time.Now()}
	if parent != "" && o.listedAfter != nil {
		s.listed = s.listed.Add(o.listedAfter())
		if earliest := o.byID[parent].listed; earliest.After(s.listed) {
			s.listed = earliest
		}
	}
	o.shards, o.byID[s.id] = append(o.shards, s), s
	return s
}

func (o *origin) shard(id string) *originShard {
	if s := o.byID[id]; s != nil && !s.forgotten {
		return s
	}
	return nil
}

// write adds a record to a shard.
func (o *origin) write(s *originShard, item, version int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.append(s, originRecord{item: item, version: version})
}

func (o *origin) append(s *originShard, r originRecord) {
	o.sequence++
	r.sequence, r.created, r.visible = o.sequence, time.Now(), time.Now()
	if o.visibleAfter != nil {
		r.visible = r.visible.Add(o.visibleAfter())
	}
	if n := len(s.records); n > 0 && s.records[n-1].visible.After(r.visible) {
		r.visible = s.records[n-1].visible
	}
	s.records = append(s.records, r)
}

// split closes a shard and creates its children.
func (o *origin) split(s *originShard, children int) []*originShard {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.closed = true
	var list []*originShard
	for range children {
		list = append(list, o.add(s.id))
	}
	return list
}

// set changes the origin while it is in use.
func (o *origin) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

func (o *origin) count(operation string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[operation]
}

// visible returns the number of records that readers get.
func (s *originShard) visible() int {
	n := len(s.records)
	for n > 0 && s.records[n-1].visible.After(time.Now()) {
		n--
	}
	return n
}

// call is a CallFunc, whose delays are on the clock of a bubble.
func (o *origin) call(ctx context.Context, operation string, body []byte) ([]byte, error) {
	o.mu.Lock()
	o.calls[operation]++
	before, after := time.Duration(0), time.Duration(0)
	if o.latency != nil {
		before, after = o.latency()/2, o.latency()/2
	}
	o.mu.Unlock()
	if !wait(ctx, before) {
		return nil, ctx.Err()
	}
	answer, err := o.answer(operation, body)
	if !wait(ctx, after) {
		return nil, ctx.Err()
	}
	return answer, err
}

func wait(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (o *origin) answer(operation string, body []byte) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fail != nil {
		if err := o.fail(operation); err != nil {
			return nil, err
		}
	}
	if o.deleted {
		return nil, &Error{notFound, "Requested resource not found: Stream: arn not found"}
	}
	var in struct {
		StreamArn, ShardId, ShardIteratorType, SequenceNumber, ShardIterator, ExclusiveStartShardId string
		ShardFilter                                                                                 *struct{ Type, ShardId string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	switch operation {
	case "DescribeStream":
		parent := ""
		if f := in.ShardFilter; f != nil {
			if o.refuseFilter || f.Type != "CHILD_SHARDS" {
				return nil, &Error{invalid, "ShardFilter"}
			}
			parent = f.ShardId
		}
		o.log = append(o.log, strings.TrimSpace("describe "+parent))
		return o.describe(parent, in.ExclusiveStartShardId), nil
	case "GetShardIterator":
		o.log = append(o.log, strings.TrimSpace(in.ShardIteratorType+" "+in.ShardId+" "+in.SequenceNumber))
		return o.iterator(in.ShardId, in.ShardIteratorType, in.SequenceNumber)
	case "GetRecords":
		return o.records(in.ShardIterator)
	}
	return nil, &Error{"UnknownOperationException", operation}
}

func (o *origin) describe(parent, after string) []byte {
	var list []string
	last := ""
	for _, s := range o.shards {
		if s.forgotten || s.listed.After(time.Now()) || after != "" && s.id <= after || parent != "" && s.parent != parent && !o.ignoreFilter {
			continue
		}
		if o.shardPage > 0 && len(list) == o.shardPage {
			last = list[len(list)-1]
			last = last[strings.Index(last, "shard-"):][:12]
			break
		}
		text := fmt.Sprintf(`{"ShardId":%q`, s.id)
		if s.parent != "" {
			text += fmt.Sprintf(`,"ParentShardId":%q`, s.parent)
		}
		text += `,"SequenceNumberRange":{"StartingSequenceNumber":"1"`
		if s.closed {
			text += `,"EndingSequenceNumber":"2"`
		}
		list = append(list, text+"}}")
	}
	out := fmt.Sprintf(`{"StreamDescription":{"StreamStatus":%q,"Shards":[%s]`, o.status, strings.Join(list, ","))
	if last != "" {
		out += fmt.Sprintf(`,"LastEvaluatedShardId":%q`, last)
	}
	return []byte(out + "}}")
}

// An iterator is the ID of a shard, a place in it, the time of its creation, and the number
// of empty answers that precede the records.
func (o *origin) iterator(id, kind, sequence string) ([]byte, error) {
	s := o.shard(id)
	if s == nil {
		return nil, &Error{notFound, "Requested resource not found: Shard does not exist"}
	}
	at, empty := s.trimmed, o.emptyAnswers
	switch kind {
	case latest:
		at, empty = s.visible(), 0
	case trimHorizon:
	case afterSequence:
		number, err := strconv.Atoi(sequence)
		if err != nil {
			return nil, &Error{invalid, "SequenceNumber"}
		}
		at = -1
		for i := range s.records {
			if s.records[i].sequence == number {
				at = i + 1
			}
		}
		if at < 0 {
			return nil, &Error{invalid, "SequenceNumber"}
		}
		if at <= s.trimmed && s.trimmed > 0 {
			return nil, &Error{trimmedData, ""}
		}
	default:
		return nil, &Error{invalid, kind}
	}
	return fmt.Appendf(nil, `{"ShardIterator":%q}`, placeOf(id, at, empty)), nil
}

func placeOf(id string, at, empty int) string {
	return fmt.Sprintf("%s %d %d %d", id, at, time.Now().UnixNano(), empty)
}

const originIteratorLife = 15 * time.Minute

func (o *origin) records(iterator string) ([]byte, error) {
	parts := strings.Fields(iterator)
	if len(parts) != 4 {
		return nil, &Error{invalid, "ShardIterator"}
	}
	id := parts[0]
	at, _ := strconv.Atoi(parts[1])
	nanos, _ := strconv.ParseInt(parts[2], 10, 64)
	empty, _ := strconv.Atoi(parts[3])
	s, created := o.shard(id), time.Unix(0, nanos)
	o.readTime[id] = append(o.readTime[id], time.Now())
	switch {
	case s == nil:
		return nil, &Error{notFound, "Requested resource not found: Shard does not exist"}
	case time.Since(created) > originIteratorLife || created.Before(o.expired):
		return nil, &Error{expiredIterator, ""}
	case at < s.trimmed:
		return nil, &Error{trimmedData, ""}
	case empty > 0:
		return fmt.Appendf(nil, `{"Records":[],"NextShardIterator":%q}`, placeOf(id, at, empty-1)), nil
	}
	end := min(s.visible(), at+recordsPerPage)
	out := []byte(`{"Records":[`)
	size := 0
	for i := at; i < end; i++ {
		if size += 200 + s.records[i].padding; size > 1<<20 {
			end = i
			break
		}
		if i > at {
			out = append(out, ',')
		}
		r := &s.records[i]
		out = fmt.Appendf(out, `{"eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":%d,"Keys":{"pk":{"N":"%d"}},`+
			`"NewImage":{"pk":{"N":"%d"},"v":{"N":"%d"},"x":{"S":"%s"}},"SequenceNumber":"%d","StreamViewType":"NEW_IMAGE"}}`,
			r.created.Unix(), r.item, r.item, r.version, strings.Repeat("x", r.padding), r.sequence)
	}
	out = append(out, ']')
	if !s.closed || end < len(s.records) {
		out = fmt.Appendf(out, `,"NextShardIterator":%q`, placeOf(id, end, 0))
	}
	return append(out, '}'), nil
}
