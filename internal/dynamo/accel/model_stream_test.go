package accel

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// modelStream is the stream of a table.
type modelStream struct {
	arn, view string
	disabled  bool
	shards    []*modelShard // the last one is open unless the stream is disabled
}

type modelShard struct {
	id, parent string
	closed     bool
	records    []json.RawMessage
}

func (s *modelStream) open() *modelShard { return s.shards[len(s.shards)-1] }

// roll closes the open shard, which is followed by another.
func (s *modelStream) roll() {
	parent := ""
	if len(s.shards) > 0 {
		s.open().closed = true
		parent = s.open().id
	}
	id := fmt.Sprintf("shardId-%020d-%08x", len(s.shards)+1, len(s.shards)+1)
	s.shards = append(s.shards, &modelShard{id: id, parent: parent})
}

// setStream switches the table's stream on or off.
func (t *modelTable) setStream(spec json.RawMessage) {
	var to struct {
		StreamEnabled  bool
		StreamViewType string
	}
	_ = json.Unmarshal(spec, &to)
	if s := t.stream; s != nil {
		s.disabled, s.open().closed = true, true
	}
	t.stream = nil
	delete(t.raw, "StreamSpecification")
	if !to.StreamEnabled {
		return
	}
	t.streams++
	s := &modelStream{arn: fmt.Sprintf("arn:aws:dynamodb:us-east-1:000000000000:table/%s/stream/%s.%d", t.name, t.raw["TableId"], t.streams), view: to.StreamViewType}
	s.roll()
	t.stream = s
	t.former = append(t.former, s)
	t.raw["StreamSpecification"] = spec
	t.raw["LatestStreamArn"], _ = json.Marshal(s.arn)
}

// record appends the record of a write.
func (t *modelTable) record(w *modelWrite) {
	old, _ := json.Marshal(w.old)
	now, _ := json.Marshal(w.new)
	if t.stream == nil || string(old) == string(now) {
		return
	}
	from, name := w.new, "MODIFY"
	switch {
	case w.old == nil:
		name = "INSERT"
	case w.new == nil:
		from, name = w.old, "REMOVE"
	}
	keys := item{t.hash: from[t.hash]}
	if t.rng != "" {
		keys[t.rng] = from[t.rng]
	}
	s := t.stream
	sh := s.open()
	d := map[string]any{"ApproximateCreationDateTime": time.Now().Unix(), "Keys": keys, "StreamViewType": s.view,
		"SequenceNumber": fmt.Sprintf("%d%020d", len(s.shards), len(sh.records)+1)}
	if w.new != nil && strings.Contains(s.view, "NEW") {
		d["NewImage"] = w.new
	}
	if w.old != nil && strings.Contains(s.view, "OLD") {
		d["OldImage"] = w.old
	}
	text, _ := json.Marshal(map[string]any{"eventName": name, "dynamodb": d})
	sh.records = append(sh.records, text)
}

// streamOperation executes an operation of the streams API. The iterator of a shard is its ID and the
// number of the next record.
func (m *model) streamOperation(op string, body []byte) (any, *refusal) {
	var r struct{ StreamArn, ShardId, ShardIterator, ShardIteratorType, SequenceNumber string }
	_ = json.Unmarshal(body, &r)
	arn, at, _ := strings.Cut(r.ShardIterator, "|")
	if r.StreamArn != "" {
		arn = r.StreamArn
	}
	s := m.findStream(arn)
	if s == nil {
		return nil, &refusal{"ResourceNotFoundException", "Requested resource not found: Stream: " + arn + " not found"}
	}
	if op == "DescribeStream" {
		return s.describe(), nil
	}
	id, number, _ := strings.Cut(at, "|")
	if op == "GetShardIterator" {
		id = r.ShardId
	}
	var sh *modelShard
	for _, x := range s.shards {
		if x.id == id {
			sh = x
		}
	}
	if sh == nil {
		return nil, &refusal{"ResourceNotFoundException", "Requested resource not found: Shard does not exist"}
	}
	if op == "GetShardIterator" {
		first := 0
		switch r.ShardIteratorType {
		case "LATEST":
			first = len(sh.records)
		case "AFTER_SEQUENCE_NUMBER":
			first, _ = strconv.Atoi(r.SequenceNumber[len(r.SequenceNumber)-20:])
		}
		return map[string]any{"ShardIterator": fmt.Sprintf("%s|%s|%d", arn, id, first)}, nil
	}
	first, _ := strconv.Atoi(number)
	answer := map[string]any{"Records": append([]json.RawMessage{}, sh.records[first:]...)}
	if !sh.closed {
		answer["NextShardIterator"] = fmt.Sprintf("%s|%s|%d", arn, id, len(sh.records))
	}
	return answer, nil
}

// findStream returns the stream with that ARN, present or former, nil if there is none.
func (m *model) findStream(arn string) *modelStream {
	for _, t := range m.tables {
		for _, s := range t.former {
			if s.arn == arn {
				return s
			}
		}
	}
	return nil
}

func (s *modelStream) describe() any {
	status := "ENABLED"
	if s.disabled {
		status = "DISABLED"
	}
	var shards []map[string]any
	for _, sh := range s.shards {
		d := map[string]any{"ShardId": sh.id}
		if sh.parent != "" {
			d["ParentShardId"] = sh.parent
		}
		numbers := map[string]string{"StartingSequenceNumber": strings.Repeat("0", 21)}
		if sh.closed {
			numbers["EndingSequenceNumber"] = strings.Repeat("9", 21)
		}
		d["SequenceNumberRange"] = numbers
		shards = append(shards, d)
	}
	return map[string]any{"StreamDescription": map[string]any{"StreamArn": s.arn, "StreamStatus": status, "StreamViewType": s.view, "Shards": shards}}
}
