package embedded

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// record is a stream record as tests read it.
type record struct {
	EventID      string            `json:"eventID"`
	EventName    string            `json:"eventName"`
	EventVersion string            `json:"eventVersion"`
	EventSource  string            `json:"eventSource"`
	AwsRegion    string            `json:"awsRegion"`
	UserIdentity map[string]string `json:"userIdentity"`
	Dynamodb     struct {
		ApproximateCreationDateTime float64
		Keys                        map[string]map[string]string
		NewImage, OldImage          json.RawMessage
		SequenceNumber              string
		SizeBytes                   int
		StreamViewType              string
	} `json:"dynamodb"`
}

// streamTable makes a CreateTable request for a table with a stream.
func streamTable(name, view string) string {
	return createP(name, `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"`+view+`"}`)
}

// shard is a shard as DescribeStream tells of it.
type shard struct {
	ShardId, ParentShardId string
	SequenceNumberRange    struct{ StartingSequenceNumber, EndingSequenceNumber string }
}

// streamDescription is what tests read of a DescribeStream reply.
type streamDescription struct {
	StreamArn, StreamLabel, StreamStatus, StreamViewType, TableName, LastEvaluatedShardId string
	CreationRequestDateTime                                                               float64
	KeySchema                                                                             []any
	Shards                                                                                []shard
}

func (s *Store) describeStreamOf(t testing.TB, arn, more string) streamDescription {
	t.Helper()
	var out struct{ StreamDescription streamDescription }
	reply := s.must(t, "DescribeStream", fmt.Sprintf(`{"StreamArn":%q%s}`, arn, more))
	if err := json.Unmarshal([]byte(reply), &out); err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	return out.StreamDescription
}

// iterator makes a shard iterator; kind is the type, perhaps with a number.
func (s *Store) iterator(t testing.TB, arn, kind string) string {
	t.Helper()
	var out struct{ ShardIterator string }
	reply := s.must(t, "GetShardIterator", s.iteratorRequest(t, arn, kind))
	if err := json.Unmarshal([]byte(reply), &out); err != nil {
		t.Fatal(err)
	}
	return out.ShardIterator
}

func (s *Store) iteratorRequest(t testing.TB, arn, kind string) string {
	typ, number, ok := strings.Cut(kind, " ")
	more := ""
	if ok {
		more = fmt.Sprintf(`,"SequenceNumber":%q`, number)
	}
	return fmt.Sprintf(`{"StreamArn":%q,"ShardId":%q,"ShardIteratorType":%q%s}`, arn, s.describeStreamOf(t, arn, "").Shards[0].ShardId, typ, more)
}

// read returns the records behind an iterator and the next iterator.
func (s *Store) read(t testing.TB, iterator, more string) ([]record, string) {
	t.Helper()
	var out struct {
		Records           []record
		NextShardIterator string
	}
	reply := s.must(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q%s}`, iterator, more))
	if err := json.Unmarshal([]byte(reply), &out); err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	if out.Records == nil {
		t.Fatalf("no Records: %s", reply)
	}
	return out.Records, out.NextShardIterator
}

// records returns all records of a stream.
func (s *Store) records(t testing.TB, arn string) []record {
	t.Helper()
	all, _ := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), "")
	return all
}

// sorted writes an image with its attributes in order.
func sorted(image json.RawMessage) string {
	var v any
	if err := json.Unmarshal(image, &v); err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// told writes records in short: the event, the key and the images.
func told(records []record) string {
	var out []string
	for _, r := range records {
		text := r.EventName + " " + r.Dynamodb.Keys["p"]["S"]
		if r.Dynamodb.OldImage != nil {
			text += " from " + sorted(r.Dynamodb.OldImage)
		}
		if r.Dynamodb.NewImage != nil {
			text += " to " + sorted(r.Dynamodb.NewImage)
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// TestStreamLife: a stream is disabled, another one opened, the table deleted, and
// a day passes.
func TestStreamLife(t *testing.T) {
	dir := t.TempDir()
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openStill(t, Config{Dir: dir}, c.Now)
	s.must(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	write := func(p string) {
		t.Helper()
		s.must(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":%q}}}`, p))
	}
	write("a")
	first := s.describe(t, "tab").LatestStreamArn
	open := s.iterator(t, first, "TRIM_HORIZON")
	s.must(t, "UpdateTable", `{"TableName":"tab","StreamSpecification":{"StreamEnabled":false}}`)
	write("unseen")
	if got := s.describe(t, "tab"); got.StreamSpecification != nil || got.LatestStreamArn != first {
		t.Errorf("described: %+v", got)
	}
	closed := func(arn, want string) {
		t.Helper()
		d := s.describeStreamOf(t, arn, "")
		if d.StreamStatus != "DISABLED" || d.Shards[0].SequenceNumberRange.EndingSequenceNumber < d.Shards[0].SequenceNumberRange.StartingSequenceNumber {
			t.Errorf("described: %+v", d)
		}
		got, next := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), "")
		if told(got) != want || next != "" {
			t.Errorf("read %s, next %q", told(got), next)
		}
		if got, next := s.read(t, s.iterator(t, arn, "LATEST"), ""); len(got) > 0 || next != "" {
			t.Errorf("read %s at the end, next %q", told(got), next)
		}
	}
	closed(first, "INSERT a")
	if got, next := s.read(t, open, ""); told(got) != "INSERT a" || next != "" {
		t.Errorf("read %s, next %q", told(got), next)
	}

	c.advance(time.Hour)
	enabled := readDescription(t, s.must(t, "UpdateTable", `{"TableName":"tab","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}`))
	second := enabled.LatestStreamArn
	if second == first || enabled.StreamSpecification.StreamViewType != "NEW_IMAGE" {
		t.Errorf("enabled: %+v", enabled)
	}
	write("b")
	s.Close()
	s = openStill(t, Config{Dir: dir}, c.Now)
	write("c")
	closed(first, "INSERT a")
	names := func(want ...string) {
		t.Helper()
		var got []string
		start := ""
		for {
			var page struct {
				Streams                []struct{ StreamArn, TableName, StreamLabel string }
				LastEvaluatedStreamArn string
			}
			if err := json.Unmarshal([]byte(s.must(t, "ListStreams", `{"TableName":"tab","Limit":1`+start+`}`)), &page); err != nil {
				t.Fatal(err)
			}
			for _, st := range page.Streams {
				if st.TableName != "tab" || !strings.HasSuffix(st.StreamArn, "/stream/"+st.StreamLabel) {
					t.Errorf("listed: %+v", st)
				}
				got = append(got, st.StreamArn)
			}
			if page.LastEvaluatedStreamArn == "" {
				break
			}
			start = fmt.Sprintf(`,"ExclusiveStartStreamArn":%q`, page.LastEvaluatedStreamArn)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("listed %q; want %q", got, want)
		}
	}
	names(first, second)

	s.must(t, "DeleteTable", `{"TableName":"tab"}`)
	const both = `INSERT b to {"p":{"S":"b"}}` + "\n" + `INSERT c to {"p":{"S":"c"}}`
	closed(second, both)
	names(first, second)
	// A table of the same name has nothing to do with them.
	s.must(t, "CreateTable", createP("tab"))
	if got := s.describe(t, "tab"); got.LatestStreamArn != "" {
		t.Errorf("described: %+v", got)
	}
	s.Close()
	s = openStill(t, Config{Dir: dir}, c.Now)
	closed(second, both)
	trim := func() {
		t.Helper()
		if err := s.trimStreams(c.Now()); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(keptRecords - time.Minute)
	trim()
	names(second)
	s.refused(t, "DescribeStream", fmt.Sprintf(`{"StreamArn":%q}`, first), "ResourceNotFoundException", "Requested resource not found: Stream: "+first+" not found")
	closed(second, both)
	c.advance(2 * time.Minute)
	trim()
	names()
	if left := s.streamsOnDisk(t); len(left) > 0 {
		t.Errorf("left of the streams: %q", left)
	}
}

func TestTrim(t *testing.T) {
	dir := t.TempDir()
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openStill(t, Config{Dir: dir}, c.Now)
	s.must(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	arn := s.describe(t, "tab").LatestStreamArn
	for _, p := range []string{"a", "b", "c"} {
		s.must(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":%q}}}`, p))
		c.advance(time.Hour)
	}
	all := s.records(t, arn)
	first, second := all[0].Dynamodb.SequenceNumber, all[1].Dynamodb.SequenceNumber
	c.advance(keptRecords - time.Hour)
	stale := s.iterator(t, arn, "AFTER_SEQUENCE_NUMBER "+first)
	fresh := s.iterator(t, arn, "AFTER_SEQUENCE_NUMBER "+second)
	if err := s.trimStreams(c.Now()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := told(s.records(t, arn)); got != "INSERT c" {
			t.Errorf("left: %s", got)
		}
		const message = "The operation attempted to read past the oldest stream record in a shard."
		s.refused(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, stale), "TrimmedDataAccessException", message)
		s.refused(t, "GetShardIterator", s.iteratorRequest(t, arn, "AT_SEQUENCE_NUMBER "+second), "TrimmedDataAccessException", message)
		if got, _ := s.read(t, fresh, ""); told(got) != "INSERT c" {
			t.Errorf("read: %s", told(got))
		}
		start := s.describeStreamOf(t, arn, "").Shards[0].SequenceNumberRange.StartingSequenceNumber
		if got, _ := s.read(t, s.iterator(t, arn, "AT_SEQUENCE_NUMBER "+start), ""); start <= second || told(got) != "INSERT c" {
			t.Errorf("from the start, %s, come %s", start, told(got))
		}
		s.Close()
		s = openStill(t, Config{Dir: dir}, c.Now)
	}
	// A reader who has seen everything goes on, however long nothing is written.
	_, next := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), "")
	for range 200 {
		c.advance(10 * time.Minute)
		if err := s.trimStreams(c.Now()); err != nil {
			t.Fatal(err)
		}
		var got []record
		if got, next = s.read(t, next, ""); len(got) > 0 {
			t.Fatalf("read: %s", told(got))
		}
	}
	s.must(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"d"}}}`)
	if got, _ := s.read(t, next, ""); told(got) != "INSERT d" {
		t.Errorf("read: %s", told(got))
	}
}

// streamsOnDisk lists the keys of all streams.
func (s *Store) streamsOnDisk(t testing.TB) []string {
	t.Helper()
	it, err := s.db.Iter([]byte{spaceStream}, []byte{spaceStream + 1})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var out []string
	for ok := it.First(); ok; ok = it.Next() {
		out = append(out, string(it.Key()))
	}
	return out
}
