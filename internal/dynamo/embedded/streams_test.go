package embedded

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// record is the part of a stream record that tests read.
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

// streamTable returns a CreateTable request for a table with a stream.
func streamTable(name, view string) string {
	return createP(name, `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"`+view+`"}`)
}

// shard is a shard as DescribeStream describes it.
type shard struct {
	ShardId, ParentShardId string
	SequenceNumberRange    struct{ StartingSequenceNumber, EndingSequenceNumber string }
}

// streamDescription is the checked part of a DescribeStream reply.
type streamDescription struct {
	StreamArn, StreamLabel, StreamStatus, StreamViewType, TableName, LastEvaluatedShardId string
	CreationRequestDateTime                                                               float64
	KeySchema                                                                             []any
	Shards                                                                                []shard
}

func (s *Store) describeStreamOf(t testing.TB, arn, more string) streamDescription {
	t.Helper()
	var out struct{ StreamDescription streamDescription }
	reply := s.mustSend(t, "DescribeStream", fmt.Sprintf(`{"StreamArn":%q%s}`, arn, more))
	if err := json.Unmarshal([]byte(reply), &out); err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	return out.StreamDescription
}

// iterator returns a shard iterator; kind is the type, with a sequence number if it needs one.
func (s *Store) iterator(t testing.TB, arn, kind string) string {
	t.Helper()
	var out struct{ ShardIterator string }
	reply := s.mustSend(t, "GetShardIterator", s.iteratorRequest(t, arn, kind))
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

// read returns the records after an iterator and the next iterator.
func (s *Store) read(t testing.TB, iterator, more string) ([]record, string) {
	t.Helper()
	var out struct {
		Records           []record
		NextShardIterator string
	}
	reply := s.mustSend(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q%s}`, iterator, more))
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

// sorted returns an image with its attributes in order.
func sorted(image json.RawMessage) string {
	var v any
	if err := json.Unmarshal(image, &v); err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// summaries formats records in short: the event, the key and the images.
func summaries(records []record) string {
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

// writeAll sends every kind of write, and every kind that changes nothing.
func writeAll(t *testing.T, s *Store) {
	t.Helper()
	put := func(item string) { t.Helper(); s.mustSend(t, "PutItem", `{"TableName":"tab","Item":`+item+`}`) }
	update := func(p, expression string) {
		t.Helper()
		s.mustSend(t, "UpdateItem", fmt.Sprintf(`{"TableName":"tab","Key":{"p":{"S":%q}},"UpdateExpression":%q}`, p, expression))
	}
	put(`{"p":{"S":"a"},"x":{"N":"2"}}`)
	put(`{"p":{"S":"a"},"x":{"N":"2"}}`)
	put(`{"x":{"N":"2.00"},"p":{"S":"a"}}`)
	put(`{"p":{"S":"a"},"y":{"N":"3"}}`)
	update("a", "REMOVE z")
	update("a", "SET y = y")
	update("a", "REMOVE y")
	s.mustSend(t, "DeleteItem", `{"TableName":"tab","Key":{"p":{"S":"a"}}}`)
	s.mustSend(t, "DeleteItem", `{"TableName":"tab","Key":{"p":{"S":"a"}}}`)
	update("none", "REMOVE z")
	update("b", "SET z = p")
	s.mustSend(t, "BatchWriteItem", `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"p":{"S":"c"}}}},{"DeleteRequest":{"Key":{"p":{"S":"none"}}}}]}}`)
	s.mustSend(t, "TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"tab","Key":{"p":{"S":"c"}}}}]}`)
	s.expectError(t, "DeleteItem", `{"TableName":"tab","Key":{"p":{"S":"b"}},"ConditionExpression":"attribute_not_exists(p)"}`,
		"ConditionalCheckFailedException", "The conditional request failed")
}

func TestStreamRecords(t *testing.T) {
	f := func(view, want string) {
		t.Helper()
		c := clockAt(time.Unix(1_700_000_000, 250e6))
		s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true, Config: Config{Region: "eu-west-1"}}, c.Now)
		s.mustSend(t, "CreateTable", streamTable("tab", view))
		c.advance(time.Second)
		writeAll(t, s)
		all := s.records(t, s.describe(t, "tab").LatestStreamArn)
		if got := summaries(all); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", view, got, want)
		}
		last, seen := new(big.Int), map[string]bool{}
		for _, r := range all {
			number, ok := new(big.Int).SetString(r.Dynamodb.SequenceNumber, 10)
			if !ok || len(r.Dynamodb.SequenceNumber) != 21 || number.Cmp(last) <= 0 {
				t.Errorf("sequence number %s after %s", r.Dynamodb.SequenceNumber, last)
			}
			last = number
			if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(r.EventID) || seen[r.EventID] {
				t.Errorf("event ID %s", r.EventID)
			}
			seen[r.EventID] = true
			if r.EventVersion != "1.1" || r.EventSource != "aws:dynamodb" || r.AwsRegion != "eu-west-1" || r.UserIdentity != nil ||
				r.Dynamodb.StreamViewType != view || r.Dynamodb.ApproximateCreationDateTime != 1_700_000_001 {
				t.Errorf("got the record %+v", r)
			}
		}
	}
	const a2, a3, a, b, c = `{"p":{"S":"a"},"x":{"N":"2"}}`, `{"p":{"S":"a"},"y":{"N":"3"}}`, `{"p":{"S":"a"}}`,
		`{"p":{"S":"b"},"z":{"S":"b"}}`, `{"p":{"S":"c"}}`
	f("KEYS_ONLY", "INSERT a\nMODIFY a\nMODIFY a\nREMOVE a\nINSERT b\nINSERT c\nREMOVE c")
	f("NEW_IMAGE", "INSERT a to "+a2+"\nMODIFY a to "+a3+"\nMODIFY a to "+a+"\nREMOVE a\nINSERT b to "+b+"\nINSERT c to "+c+"\nREMOVE c")
	f("OLD_IMAGE", "INSERT a\nMODIFY a from "+a2+"\nMODIFY a from "+a3+"\nREMOVE a from "+a+"\nINSERT b\nINSERT c\nREMOVE c from "+c)
	f("NEW_AND_OLD_IMAGES", "INSERT a to "+a2+"\nMODIFY a from "+a2+" to "+a3+"\nMODIFY a from "+a3+" to "+a+"\nREMOVE a from "+a+
		"\nINSERT b to "+b+"\nINSERT c to "+c+"\nREMOVE c from "+c)
}

// TestRecordSizes checks that a record's size is DynamoDB's: of the keys and of each image.
func TestRecordSizes(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",`+defineKeys("Id:N")+
		`,"KeySchema":[{"AttributeName":"Id","KeyType":"HASH"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`)
	s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"Id":{"N":"101"},"Message":{"S":"New item!"}}}`)
	s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"Id":{"N":"101"},"Message":{"S":"This item has changed"}}}`)
	s.mustSend(t, "DeleteItem", `{"TableName":"tab","Key":{"Id":{"N":"101"}}}`)
	var sizes []int
	for _, r := range s.records(t, s.describe(t, "tab").LatestStreamArn) {
		sizes = append(sizes, r.Dynamodb.SizeBytes)
	}
	if fmt.Sprint(sizes) != "[26 59 38]" {
		t.Errorf("sizes %v", sizes)
	}
}

func TestShardIterators(t *testing.T) {
	dir := t.TempDir()
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openIdle(t, onDisk{Dir: dir}, c.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	arn := s.describe(t, "tab").LatestStreamArn
	write := func(p string) {
		t.Helper()
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":%q}}}`, p))
	}
	start := s.describeStreamOf(t, arn, "").Shards[0].SequenceNumberRange.StartingSequenceNumber
	latest, begin := s.iterator(t, arn, "LATEST"), s.iterator(t, arn, "AT_SEQUENCE_NUMBER "+start)
	write("a")
	write("b")
	write("c")
	follow := func(iterator, want string) (next string) {
		t.Helper()
		got, next := s.read(t, iterator, "")
		if summaries(got) != want || next == "" || !strings.Contains(next, arn) || !strings.Contains(next, "|") {
			t.Errorf("read\n%s\nwant\n%s\nnext %q", summaries(got), want, next)
		}
		return next
	}
	const all = "INSERT a\nINSERT b\nINSERT c"
	follow(latest, all)
	follow(begin, all)
	follow(s.iterator(t, arn, "TRIM_HORIZON"), all)
	second := s.records(t, arn)[1].Dynamodb.SequenceNumber
	follow(s.iterator(t, arn, "AT_SEQUENCE_NUMBER "+second), "INSERT b\nINSERT c")
	behind := s.iterator(t, arn, "AFTER_SEQUENCE_NUMBER "+second)
	next := follow(behind, "INSERT c")
	follow(next, "")
	write("d")
	next = follow(next, "INSERT d")
	latest = s.iterator(t, arn, "LATEST")
	follow(latest, "")
	first, rest := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), `,"Limit":3`)
	if summaries(first) != all {
		t.Errorf("got three records %s", summaries(first))
	}
	follow(rest, "INSERT d")

	// Iterators and numbers survive a restart.
	s.Close()
	s = openIdle(t, onDisk{Dir: dir}, c.Now)
	follow(behind, "INSERT c\nINSERT d")
	follow(next, "")
	write("e")
	follow(next, "INSERT e")
	follow(latest, "INSERT e")
	if n := s.records(t, arn); n[4].Dynamodb.SequenceNumber <= n[3].Dynamodb.SequenceNumber {
		t.Errorf("sequence number %s, then %s after a restart", n[3].Dynamodb.SequenceNumber, n[4].Dynamodb.SequenceNumber)
	}

	c.advance(iteratorLife)
	follow(latest, "INSERT e")
	c.advance(time.Second)
	s.expectError(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, latest), "ExpiredIteratorException",
		"Shard iterator has expired")
}

func TestStreamRefusals(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	arn := s.describe(t, "tab").LatestStreamArn
	shard := s.describeStreamOf(t, arn, "").Shards[0]
	number := shard.SequenceNumberRange.StartingSequenceNumber
	f := func(op, body, typ, message string) {
		t.Helper()
		s.expectError(t, op, body, typ, message)
	}
	const invalid, missing = "ValidationException", "ResourceNotFoundException"
	const garbage = "sdfadfsdfnlfkajakfgjalksfgklasjklasdjfklasdfasdfgasf"
	other := strings.Replace(arn, "/tab/", "/tub/", 1)
	f("DescribeStream", `{"StreamArn":"`+garbage+`"}`, invalid, "Invalid StreamArn")
	f("DescribeStream", `{"StreamArn":"`+other+`"}`, missing, "Requested resource not found: Stream: "+other+" not found")
	elsewhere := strings.Replace(arn, "us-east-1", "eu-west-1", 1)
	f("DescribeStream", `{"StreamArn":"`+elsewhere+`"}`, missing, "Requested resource not found: Stream: "+elsewhere+" not found")
	f("DescribeStream", `{"StreamArn":"`+arn+`","ShardFilter":{"Type":"CHILD_SHARDS"}}`, invalid,
		"1 validation error detected: Value null at 'shardFilter.shardId' failed to satisfy constraint: Member must not be null")
	f("ListStreams", `{"ExclusiveStartStreamArn":"`+garbage+`"}`, invalid, "Invalid StreamArn")

	get := func(arn, shard, more string) string {
		return fmt.Sprintf(`{"StreamArn":%q,"ShardId":%q,%s}`, arn, shard, more)
	}
	f("GetShardIterator", get(garbage, shard.ShardId, `"ShardIteratorType":"LATEST"`), invalid, "Invalid StreamArn")
	f("GetShardIterator", get(other, shard.ShardId, `"ShardIteratorType":"LATEST"`), missing, "Requested resource not found: Stream: "+other+" not found")
	f("GetShardIterator", get(arn, "adfasdasdasdasdasdasdasdasdasasdasd", `"ShardIteratorType":"LATEST"`), missing,
		"Requested resource not found: Shard does not exist")
	const one = "One or more parameter values were invalid: "
	for _, typ := range []string{"AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"} {
		for _, of := range []string{arn, other} { // also where there is no stream
			f("GetShardIterator", get(of, shard.ShardId, `"ShardIteratorType":"`+typ+`"`), invalid,
				one+"Invalid SequenceNumber")
		}
	}
	for _, typ := range []string{"TRIM_HORIZON", "LATEST"} {
		f("GetShardIterator", get(arn, shard.ShardId, `"ShardIteratorType":"`+typ+`","SequenceNumber":"`+number+`"`), invalid,
			one+"SequenceNumber should not be passed for this iterator type")
	}
	f("GetShardIterator", get(arn, shard.ShardId, `"ShardIteratorType":"AT_SEQUENCE_NUMBER","SequenceNumber":"99999999999999999999999"`), invalid,
		one+"Invalid SequenceNumber")
	f("GetShardIterator", get(arn, shard.ShardId, `"ShardIteratorType":"AT_SEQUENCE_NUMBER","SequenceNumber":"100000000000000000001"`),
		"TrimmedDataAccessException", "The data you are trying to access has been trimmed")

	for _, bad := range []string{garbage, arn, arn + "|1|", arn + "|1|AAAA", strings.Replace(s.iterator(t, arn, "LATEST"), "tab", "tub", 1)} {
		f("GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, bad), invalid, "Invalid ShardIterator")
	}
	for limit, constraint := range map[int]string{1001: "less than or equal to 1000", 0: "greater than or equal to 1", -1: "greater than or equal to 1"} {
		f("GetRecords", fmt.Sprintf(`{"ShardIterator":%q,"Limit":%d}`, s.iterator(t, arn, "LATEST"), limit), invalid,
			fmt.Sprintf("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value %s", limit, constraint))
	}
}

func TestDescribeStream(t *testing.T) {
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, c.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "OLD_IMAGE"))
	table := s.describe(t, "tab")
	got := s.describeStreamOf(t, table.LatestStreamArn, "")
	if got.StreamArn != "arn:aws:dynamodb:us-east-1:000000000000:table/tab/stream/2023-11-14T22:13:20.000" || got.StreamLabel != table.LatestStreamLabel ||
		got.StreamStatus != "ENABLED" || got.StreamViewType != "OLD_IMAGE" || got.TableName != "tab" || got.CreationRequestDateTime != 1_700_000_000 ||
		fmt.Sprint(got.KeySchema) != "[map[AttributeName:p KeyType:HASH]]" || len(got.Shards) != 1 {
		t.Errorf("got the description %+v", got)
	}
	shard := got.Shards[0]
	if !regexp.MustCompile(`^shardId-\d{20}-[0-9a-f]{8}$`).MatchString(shard.ShardId) || shard.ParentShardId != "" ||
		shard.SequenceNumberRange.StartingSequenceNumber != "100001700000000000000" || shard.SequenceNumberRange.EndingSequenceNumber != "" {
		t.Errorf("got the shard %+v", shard)
	}
	shards := func(more string, want int) {
		t.Helper()
		if got := s.describeStreamOf(t, got.StreamArn, more); len(got.Shards) != want || got.LastEvaluatedShardId != "" {
			t.Errorf("%s: got %+v", more, got)
		}
	}
	shards(`,"Limit":1`, 1)
	shards(`,"ExclusiveStartShardId":"`+shard.ShardId+`"`, 0)
	shards(`,"ExclusiveStartShardId":"`+strings.Repeat("z", 40)+`"`, 0)
	shards(`,"ExclusiveStartShardId":"`+strings.Repeat("a", 40)+`"`, 1)
	shards(`,"ShardFilter":{"Type":"CHILD_SHARDS","ShardId":"`+shard.ShardId+`"}`, 0)
}

// TestStreamLifecycle disables a stream, opens another one, deletes the table, and waits a day.
func TestStreamLifecycle(t *testing.T) {
	dir := t.TempDir()
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openIdle(t, onDisk{Dir: dir}, c.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	write := func(p string) {
		t.Helper()
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":%q}}}`, p))
	}
	write("a")
	first := s.describe(t, "tab").LatestStreamArn
	open := s.iterator(t, first, "TRIM_HORIZON")
	s.mustSend(t, "UpdateTable", `{"TableName":"tab","StreamSpecification":{"StreamEnabled":false}}`)
	write("unseen")
	if got := s.describe(t, "tab"); got.StreamSpecification != nil || got.LatestStreamArn != first {
		t.Errorf("got the description %+v", got)
	}
	closed := func(arn, want string) {
		t.Helper()
		d := s.describeStreamOf(t, arn, "")
		if d.StreamStatus != "DISABLED" || d.Shards[0].SequenceNumberRange.EndingSequenceNumber < d.Shards[0].SequenceNumberRange.StartingSequenceNumber {
			t.Errorf("got the description %+v", d)
		}
		got, next := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), "")
		if summaries(got) != want || next != "" {
			t.Errorf("read the records %s, next iterator %q", summaries(got), next)
		}
		if got, next := s.read(t, s.iterator(t, arn, "LATEST"), ""); len(got) > 0 || next != "" {
			t.Errorf("read the records %s at the end, next iterator %q", summaries(got), next)
		}
	}
	closed(first, "INSERT a")
	if got, next := s.read(t, open, ""); summaries(got) != "INSERT a" || next != "" {
		t.Errorf("read the records %s, next iterator %q", summaries(got), next)
	}

	c.advance(time.Hour)
	enabled := readDescription(t, s.mustSend(t, "UpdateTable", `{"TableName":"tab","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}`))
	second := enabled.LatestStreamArn
	if second == first || enabled.StreamSpecification.StreamViewType != "NEW_IMAGE" {
		t.Errorf("after enabling: %+v", enabled)
	}
	write("b")
	s.Close()
	s = openIdle(t, onDisk{Dir: dir}, c.Now)
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
			if err := json.Unmarshal([]byte(s.mustSend(t, "ListStreams", `{"TableName":"tab","Limit":1`+start+`}`)), &page); err != nil {
				t.Fatal(err)
			}
			for _, st := range page.Streams {
				if st.TableName != "tab" || !strings.HasSuffix(st.StreamArn, "/stream/"+st.StreamLabel) {
					t.Errorf("listed the stream %+v", st)
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

	s.mustSend(t, "DeleteTable", `{"TableName":"tab"}`)
	const both = `INSERT b to {"p":{"S":"b"}}` + "\n" + `INSERT c to {"p":{"S":"c"}}`
	closed(second, both)
	names(first, second)
	// A new table of the same name does not have the old streams.
	s.mustSend(t, "CreateTable", createP("tab"))
	if got := s.describe(t, "tab"); got.LatestStreamArn != "" {
		t.Errorf("got the description %+v", got)
	}
	s.Close()
	s = openIdle(t, onDisk{Dir: dir}, c.Now)
	closed(second, both)
	trim := func() {
		t.Helper()
		if err := s.trimStreams(c.Now()); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(recordLife - time.Minute)
	trim()
	names(second)
	s.expectError(t, "DescribeStream", fmt.Sprintf(`{"StreamArn":%q}`, first), "ResourceNotFoundException", "Requested resource not found: Stream: "+first+" not found")
	closed(second, both)
	c.advance(2 * time.Minute)
	trim()
	names()
	if left := s.streamsOnDisk(t); len(left) > 0 {
		t.Errorf("keys of the streams are left: %q", left)
	}
}

func TestTrim(t *testing.T) {
	dir := t.TempDir()
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openIdle(t, onDisk{Dir: dir}, c.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	arn := s.describe(t, "tab").LatestStreamArn
	for _, p := range []string{"a", "b", "c"} {
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":%q}}}`, p))
		c.advance(time.Hour)
	}
	all := s.records(t, arn)
	first, second := all[0].Dynamodb.SequenceNumber, all[1].Dynamodb.SequenceNumber
	c.advance(recordLife - time.Hour)
	stale := s.iterator(t, arn, "AFTER_SEQUENCE_NUMBER "+first)
	fresh := s.iterator(t, arn, "AFTER_SEQUENCE_NUMBER "+second)
	if err := s.trimStreams(c.Now()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := summaries(s.records(t, arn)); got != "INSERT c" {
			t.Errorf("left after trimming: %s", got)
		}
		const message = "The data you are trying to access has been trimmed"
		s.expectError(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, stale), "TrimmedDataAccessException", message)
		s.expectError(t, "GetShardIterator", s.iteratorRequest(t, arn, "AT_SEQUENCE_NUMBER "+second), "TrimmedDataAccessException", message)
		if got, _ := s.read(t, fresh, ""); summaries(got) != "INSERT c" {
			t.Errorf("read the records %s", summaries(got))
		}
		start := s.describeStreamOf(t, arn, "").Shards[0].SequenceNumberRange.StartingSequenceNumber
		if got, _ := s.read(t, s.iterator(t, arn, "AT_SEQUENCE_NUMBER "+start), ""); start <= second || summaries(got) != "INSERT c" {
			t.Errorf("from the sequence number %s, read the records %s", start, summaries(got))
		}
		s.Close()
		s = openIdle(t, onDisk{Dir: dir}, c.Now)
	}
	// A reader at the end of the stream can continue after a pause of any length.
	_, next := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), "")
	for range 200 {
		c.advance(10 * time.Minute)
		if err := s.trimStreams(c.Now()); err != nil {
			t.Fatal(err)
		}
		var got []record
		if got, next = s.read(t, next, ""); len(got) > 0 {
			t.Fatalf("read the records %s", summaries(got))
		}
	}
	s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"d"}}}`)
	if got, _ := s.read(t, next, ""); summaries(got) != "INSERT d" {
		t.Errorf("read the records %s", summaries(got))
	}
}

// TestClosedStreamPages checks that a closed shard has a next iterator until all is read.
func TestClosedStreamPages(t *testing.T) {
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, c.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	arn := s.describe(t, "tab").LatestStreamArn
	s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"a"}}}`)
	s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"b"}}}`)
	c.advance(time.Hour)
	s.mustSend(t, "DeleteTable", `{"TableName":"tab"}`)
	start := s.iterator(t, arn, "TRIM_HORIZON")
	got, next := s.read(t, start, `,"Limit":1`)
	if summaries(got) != "INSERT a" || next == "" {
		t.Fatalf("read the records %s, next iterator %q", summaries(got), next)
	}
	if got, next = s.read(t, next, `,"Limit":1`); summaries(got) != "INSERT b" || next != "" {
		t.Errorf("read the records %s, next iterator %q", summaries(got), next)
	}
	// A stream that is removed after its records leaves nothing on disk.
	c.advance(recordLife - time.Minute)
	if err := s.trimStreams(c.Now()); err != nil {
		t.Fatal(err)
	}
	if got, next := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), ""); len(got) > 0 || next != "" {
		t.Errorf("read the records %s, next iterator %q", summaries(got), next)
	}
	c.advance(time.Hour)
	if err := s.trimStreams(c.Now()); err != nil {
		t.Fatal(err)
	}
	if left := s.streamsOnDisk(t); len(left) > 0 {
		t.Errorf("keys of the stream are left: %q", left)
	}

	// A closed stream without records returns no next iterator.
	s.mustSend(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	arn = s.describe(t, "tab").LatestStreamArn
	s.mustSend(t, "DeleteTable", `{"TableName":"tab"}`)
	if got, next := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), ""); len(got) > 0 || next != "" {
		t.Errorf("read the records %s, next iterator %q", summaries(got), next)
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

// TestLargestRecord checks that a record that is larger than a page is returned alone.
func TestLargestRecord(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "NEW_AND_OLD_IMAGES"))
	for _, v := range []string{"x", "y"} {
		s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"p"},"v":{"B":"`+strings.Repeat(v, 532<<10)+`"}}}`)
	}
	first, next := s.read(t, s.iterator(t, s.describe(t, "tab").LatestStreamArn, "TRIM_HORIZON"), "")
	second, _ := s.read(t, next, "")
	if len(first) != 1 || len(second) != 1 {
		t.Errorf("got pages of %d and %d records", len(first), len(second))
	}
}

func TestGetRecordsPages(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
	arn := s.describe(t, "tab").LatestStreamArn
	for i := range 5 {
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"%d"},"v":{"S":%q}}}`, i, strings.Repeat("v", 300<<10)))
	}
	var pages []int
	for next := s.iterator(t, arn, "TRIM_HORIZON"); ; {
		var got []record
		if got, next = s.read(t, next, ""); len(got) == 0 {
			break
		}
		pages = append(pages, len(got))
	}
	if fmt.Sprint(pages) != "[3 2]" {
		t.Errorf("got pages of %v records", pages)
	}
	got, _ := s.read(t, s.iterator(t, arn, "AFTER_SEQUENCE_NUMBER "+s.lastNumber(t, "tab")), "")
	if len(got) != 0 {
		t.Errorf("got %d records after the last one", len(got))
	}
}

// lastNumber returns the number of the last record of a table's stream.
func (s *Store) lastNumber(t testing.TB, name string) string {
	t.Helper()
	held, err := s.table(name)
	if err != nil {
		t.Fatal(err)
	}
	defer held.mu.RUnlock()
	return string(appendSequence(nil, held.stream.last))
}

// TestGetRecordsLimit checks that a page has at most a thousand records.
func TestGetRecordsLimit(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	for i := range 1005 {
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"n%d"}}}`, i))
	}
	first, next := s.read(t, s.iterator(t, s.describe(t, "tab").LatestStreamArn, "TRIM_HORIZON"), "")
	second, _ := s.read(t, next, "")
	if len(first) != 1000 || len(second) != 5 {
		t.Errorf("got pages of %d and %d records", len(first), len(second))
	}
}

// TestStreamUnderWrites checks that, during concurrent writes, a reader gets each change once,
// changes of one item in order, and increasing numbers.
func TestStreamUnderWrites(t *testing.T) {
	s := openStore(t, onDisk{Dir: t.TempDir()})
	s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
	arn := s.describe(t, "tab").LatestStreamArn
	next := s.iterator(t, arn, "LATEST")
	const writers, writes = 8, 40
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range writes {
				s.send(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"%d"},"v":{"N":"%d"}}}`, w%3, w*1000+i))
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	seen, last, lastOf := map[string]bool{}, "", map[string]string{}
	read := func() int {
		var got []record
		got, next = s.read(t, next, "")
		for _, r := range got {
			if r.Dynamodb.SequenceNumber <= last {
				t.Fatalf("sequence number %s after %s", r.Dynamodb.SequenceNumber, last)
			}
			last = r.Dynamodb.SequenceNumber
			image := string(r.Dynamodb.NewImage)
			if seen[image] {
				t.Fatalf("the change %s was read twice", image)
			}
			seen[image] = true
			lastOf[r.Dynamodb.Keys["p"]["S"]] = image
		}
		return len(got)
	}
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
		}
		read()
	}
	for read() > 0 {
	}
	if len(seen) != writers*writes {
		t.Errorf("read %d of %d changes", len(seen), writers*writes)
	}
	for p, image := range lastOf {
		if got := s.mustSend(t, "GetItem", fmt.Sprintf(`{"TableName":"tab","Key":{"p":{"S":%q}}}`, p)); got != `{"Item":`+image+`}` {
			t.Errorf("the last record is of %s, the item %s", image, got)
		}
	}
}

// TestReadersSeeOnlySyncedRecords checks that readers don't see records that are not on disk.
func TestReadersSeeOnlySyncedRecords(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "KEYS_ONLY"))
	arn := s.describe(t, "tab").LatestStreamArn
	s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"a"}}}`)
	held, err := s.table("tab")
	if err != nil {
		t.Fatal(err)
	}
	st := held.stream
	held.mu.RUnlock()
	durable := st.durable.Load()
	st.durable.Store(durable - 1)
	got, next := s.read(t, s.iterator(t, arn, "TRIM_HORIZON"), "")
	if len(got) != 0 {
		t.Errorf("read the records %s", summaries(got))
	}
	st.setDurable(durable)
	st.setDurable(durable - 1)
	if got, _ := s.read(t, next, ""); summaries(got) != "INSERT a" {
		t.Errorf("read the records %s", summaries(got))
	}
}
