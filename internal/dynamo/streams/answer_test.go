package streams

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// record is a record of the service, with a number in scientific notation.
const record = `{"eventID":"c4ca4238a0b923820dcc509a6f75849b","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb",
"awsRegion":"eu-west-1","dynamodb":{"ApproximateCreationDateTime":1.479499740E9,"Keys":{"Id":{"N":"101"}},
"NewImage":{"Id":{"N":"101"},"V":{"N":"1.10000000000000000000000000001"}},"OldImage":{"Id": {"N":"101"}},
"SequenceNumber":"4421584500000000017450439092","SizeBytes":59,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`

func TestParsePage(t *testing.T) {
	p, err := parsePage([]byte(`{"NextShardIterator":"next","Records":[` + record + `,
{"eventName":"REMOVE","dynamodb":{"ApproximateCreationDateTime":1479499740.25,"Keys":{},"OldImage":null,"SequenceNumber":"1","StreamViewType":"KEYS_ONLY"}},
{"eventName":"INSERT","dynamodb":{"Keys":{},"SequenceNumber":"2"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if p.next != "next" || p.full || len(p.records) != 3 {
		t.Fatalf("parsed %+v", p)
	}
	r := p.records[0]
	if r.Kind != Modify || string(r.Keys) != `{"Id":{"N":"101"}}` || string(r.Old) != `{"Id": {"N":"101"}}` ||
		string(r.New) != `{"Id":{"N":"101"},"V":{"N":"1.10000000000000000000000000001"}}` || r.View != "NEW_AND_OLD_IMAGES" ||
		!r.Created.Equal(time.Unix(1479499740, 0)) || r.Sequence != "4421584500000000017450439092" {
		t.Errorf("parsed %+v", r)
	}
	r = p.records[1]
	if r.Kind != Remove || r.Old != nil || r.New != nil || !r.Created.Equal(time.Unix(1479499740, 25e7)) {
		t.Errorf("parsed %+v", r)
	}
	if r = p.records[2]; r.Kind != Insert || r.Created.Unix() != 0 {
		t.Errorf("parsed %+v", r)
	}
	if p, err = parsePage([]byte(`{}`)); err != nil || p.records != nil || p.next != "" {
		t.Errorf("parsed %+v, error %v", p, err)
	}
}

func TestParseErrors(t *testing.T) {
	page := func(body string) {
		t.Helper()
		if p, err := parsePage([]byte(body)); err == nil {
			t.Errorf("%s is parsed as %+v", body, p)
		}
	}
	change := func(old, new string) {
		t.Helper()
		changed := strings.Replace(record, old, new, 1)
		if changed == record {
			t.Errorf("there is no %s", old)
		}
		page(`{"Records":[` + changed + `]}`)
	}
	page(``)
	page(`[]`)
	page(`{"Records":[{}]}`)
	change(`"MODIFY"`, `"invalid"`)
	change(`"MODIFY"`, `"UPDATE"`)
	change(`{"Id":{"N":"101"}},`, `null,`)
	change(`{"Id":{"N":"101"}},`, `[],`)
	change(`{"Id": {"N":"101"}}`, `"text"`)
	change(`"4421584500000000017450439092"`, `""`)
	change(`1.479499740E9`, `-1`)
	change(`1.479499740E9`, `1e300`)
	change(`1.479499740E9`, `1e400`)
	change(`1.479499740E9`, `"2016-11-18"`)
	for _, body := range []string{``, `{}`, `{"StreamDescription":{}}`, `{"StreamDescription":{"StreamStatus":"ENABLED","Shards":[{}]}}`,
		`{"StreamDescription":{"StreamStatus":"ENABLED","Shards":[{"ShardId":"1","ParentShardId":"1"}]}}`} {
		if d, err := parseDescription([]byte(body)); err == nil {
			t.Errorf("%s is parsed as %+v", body, d)
		}
	}
	for _, body := range []string{``, `{}`, `{"ShardIterator":1}`} {
		if _, err := parseIterator([]byte(body)); err == nil {
			t.Errorf("%s is parsed", body)
		}
	}
}

func TestParseDescription(t *testing.T) {
	d, err := parseDescription([]byte(`{"StreamDescription":{"StreamArn":"arn","StreamStatus":"DISABLING","LastEvaluatedShardId":"2","Shards":[
{"ShardId":"1","SequenceNumberRange":{"StartingSequenceNumber":"1","EndingSequenceNumber":"5"}},
{"ShardId":"2","ParentShardId":"1","SequenceNumberRange":{"StartingSequenceNumber":"6"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if d.enabled() || d.next != "2" || len(d.shards) != 2 || d.shards[0] != (listed{"1", "", true}) || d.shards[1] != (listed{"2", "1", false}) {
		t.Errorf("parsed %+v", d)
	}
}

func TestKinds(t *testing.T) {
	if (Kind(0)).String() != "invalid" || kindOf("") != 0 || kindOf(Remove.String()) != Remove {
		t.Error("a kind has the wrong name")
	}
	if got := (&Error{"T", "m"}).Error(); got != "T: m" {
		t.Errorf("error %q", got)
	}
}

// FuzzParse checks that answers that are accepted are complete.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"NextShardIterator":"next","Records":[` + record + `]}`))
	f.Add([]byte(`{"Records":[{"eventName":"INSERT","dynamodb":{"Keys":{},"SequenceNumber":"2","ApproximateCreationDateTime":0.1}}]}`))
	f.Add([]byte(`{"ShardIterator":"x"}`))
	f.Add([]byte(`{"StreamDescription":{"StreamStatus":"ENABLED","Shards":[{"ShardId":"1","SequenceNumberRange":{"EndingSequenceNumber":"1"}}]}}`))
	f.Add([]byte(`{"Records":[null],"StreamDescription":null}`))
	f.Add([]byte("{\"Records\":[{\"dynamodb\":[]}]}\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if p, err := parsePage(body); err == nil {
			for _, r := range p.records {
				for _, text := range [][]byte{r.Keys, r.Old, r.New} {
					var object map[string]any
					if text != nil && json.Unmarshal(text, &object) != nil {
						t.Errorf("%q is not an object", text)
					}
				}
				if r.Keys == nil || r.Kind < Insert || r.Kind > Remove || r.Sequence == "" || r.Created.Unix() < 0 {
					t.Errorf("record %+v", r)
				}
			}
		}
		if d, err := parseDescription(body); err == nil {
			newest(d)
			if _, err := resume(d, Checkpoint{"1": {Sequence: "1"}}); err == nil && len(d.shards) == 0 {
				t.Error("a shard is resumed that does not exist")
			}
		}
		if iterator, err := parseIterator(body); err == nil && iterator == "" {
			t.Error("an empty iterator")
		}
	})
}
