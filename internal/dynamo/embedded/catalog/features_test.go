package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTTL(t *testing.T) {
	table := create(t, request(defs("p:S"), keys("p:HASH"), perRequest))
	set := func(table *Table, body string, now time.Time) (*Table, error) {
		t.Helper()
		r, err := ReadTTL([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return table.SetTTL(r, now)
	}
	const on, other, off = `{"TimeToLiveSpecification":{"Enabled":true,"AttributeName":"x"}}`,
		`{"TimeToLiveSpecification":{"Enabled":true,"AttributeName":"y"}}`, `{"TimeToLiveSpecification":{"Enabled":false,"AttributeName":"x"}}`
	const offOther = `{"TimeToLiveSpecification":{"Enabled":false,"AttributeName":"y"}}`
	refuse := func(table *Table, body, message string) {
		t.Helper()
		_, err := set(table, body, noon)
		expectError(t, body, err, "ValidationException", message)
	}
	refuse(table, off, "TimeToLive is already disabled")
	enabled, err := set(table, on, noon)
	if err != nil || enabled.TTL == nil || enabled.TTL.Attribute != "x" || !enabled.TTL.Backfilling || table.TTL != nil {
		t.Fatalf("%+v, %v", enabled.TTL, err)
	}
	refuse(enabled, on, "TimeToLive is already enabled")
	refuse(enabled, other, "TimeToLive is active on a different AttributeName: current AttributeName is x")
	refuse(enabled, offOther, "TimeToLive is active on a different AttributeName: current AttributeName is x")
	disabled, err := set(enabled, off, noon)
	if err != nil || disabled.TTL != nil {
		t.Fatalf("%+v, %v", disabled.TTL, err)
	}

	turn := disabled
	for i := 2; i < ttlChanges; i++ {
		if turn, err = set(turn, []string{on, off}[i%2], noon); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	refuse(turn, on, "Time to live has been modified multiple times within a fixed interval")
	if _, err := set(turn, on, noon.Add(ttlInterval)); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

func TestTags(t *testing.T) {
	arn := here.Table("tab")
	tag := func(arn string, pairs ...string) string {
		var out []string
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, fmt.Sprintf(`{"Key":%q,"Value":%q}`, pairs[i], pairs[i+1]))
		}
		return fmt.Sprintf(`{"ResourceArn":%q,"Tags":[%s]}`, arn, strings.Join(out, ","))
	}
	refuse := func(body, message string) {
		t.Helper()
		_, err := ReadTag([]byte(body))
		expectError(t, body, err, "ValidationException", message)
	}
	refuse(tag("nothing", "k", "v"), "One or more parameter values were invalid: ARNs must start with 'arn:': nothing")
	refuse(tag(""), "One or more parameter values were invalid: ARNs must start with 'arn:': ")
	for _, bad := range []string{arn + "/index/i", "arn:aws:dynamodb:us-east-1:000000000000:table/ab", "arn:aws:s3:::tab",
		"arn:aws:dynamodb:eu-west-1:account:table/tab", "arn:not/a/good/format"} {
		refuse(tag(bad, "k", "v"), "Invalid TableArn: Invalid ResourceArn provided as input "+bad)
	}
	refuse(tag(arn), "Atleast one Tag needs to be provided as Input.")
	refuse(tag(arn, "a!", "v"), "The Tag Key provided is invalid, Key: a!")
	refuse(tag(arn, "", "v"), "The Tag Key provided is invalid, Key: ")
	refuse(tag(arn, strings.Repeat("é", 129), "v"), "The Tag Key provided is invalid, Key: "+strings.Repeat("é", 129))
	refuse(tag(arn, "k", "100%"), "The Tag Value provided is invalid, Value: 100%")
	refuse(tag(arn, "k", strings.Repeat("v", 257)), "The Tag Value provided is invalid, Value: "+strings.Repeat("v", 257))
	refuse(tag(arn, "aws:k", "v"), "Tag Key cannot be prefixed with aws:, Key: aws:k")
	refuse(tag(arn, "k", "1", "k", "2"), "Duplicate Tag Keys provided as input: Duplicate Tag Key found k")
	var many []string
	for i := range 51 {
		many = append(many, fmt.Sprint("k", i), "v")
	}
	refuse(tag(arn, many...), "Number of Tags exceed the current limit for the provided ResourceArn")
	_, err := ReadUntag([]byte(fmt.Sprintf(`{"ResourceArn":%q,"TagKeys":[]}`, arn)))
	expectError(t, "no keys", err, "ValidationException", "Atleast one Tag Key needs to be provided as Input.")

	table := create(t, request(defs("p:S"), keys("p:HASH"), perRequest))
	tagged := func(table *Table, r TagRequest, err error) *Table {
		t.Helper()
		if err != nil || r.Table != "tab" {
			t.Fatalf("%+v, %v", r, err)
		}
		next, err := table.Tagged(r)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	set := func(table *Table, pairs ...string) *Table {
		t.Helper()
		r, err := ReadTag([]byte(tag(arn, pairs...)))
		return tagged(table, r, err)
	}
	one := set(table, "b", "1", " ", "", "законные", strings.Repeat("א", 256), strings.Repeat("x", 128), "a+b-c=d.e_f:g/h@i 7")
	two := set(one, "b", "2", "a", "3")
	r, err := ReadUntag([]byte(fmt.Sprintf(`{"ResourceArn":%q,"TagKeys":[" ","none",%q,"законные"]}`, arn, strings.Repeat("x", 128))))
	three := tagged(two, r, err)
	if got := fmt.Sprint(three.Tags); got != "[{a 3} {b 2}]" {
		t.Errorf("got the tags %s", got)
	}
	if len(one.Tags) != 4 || len(table.Tags) != 0 {
		t.Error("a change modified the previous version of the table")
	}
	full := set(table, many[:100]...)
	r, _ = ReadTag([]byte(tag(arn, "more", "v")))
	_, err = full.Tagged(r)
	expectError(t, "a 51st tag", err, "ValidationException", "Number of Tags exceed the current limit for the provided ResourceArn")
	set(full, "k1", "other")
}

func TestNames(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
	f(here.Table("t"), "arn:aws:dynamodb:us-east-1:000000000000:table/t")
	f(here.Index("t", "i"), "arn:aws:dynamodb:us-east-1:000000000000:table/t/index/i")
	f(here.Stream("t", "l"), "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/l")
	f(here.key("arn:x"), "arn:x")
	f(here.key("1234"), "arn:aws:kms:us-east-1:000000000000:key/1234")
	if k := here.key(""); k != here.key("") || len(k) != len("arn:aws:kms:us-east-1:000000000000:key/")+36 {
		t.Errorf("got the account's key %s", k)
	}
	if a, b := NewUUID(), NewUUID(); a == b || len(a) != 36 || a[14] != '4' {
		t.Errorf("got the IDs %s and %s", a, b)
	}
	stream := func(arn, table, label string, ok bool) {
		t.Helper()
		if gotTable, gotLabel, gotOK := ParseStream(arn); gotOK != ok || ok && (gotTable != table || gotLabel != label) {
			t.Errorf("%s: got %s %s %v", arn, gotTable, gotLabel, gotOK)
		}
	}
	stream(here.Stream("t", "2026-11-21T12:00:00.123"), "t", "2026-11-21T12:00:00.123", true)
	stream("arn:aws:dynamodb:ddblocal:1:table/t/stream/l", "t", "l", true)
	stream(here.Table("t"), "", "", false)
	stream("arn:aws:kinesis:us-east-1:1:table/t/stream/l", "", "", false)
	stream("arn:aws:dynamodb:us-east-1:1:table//stream/l", "", "", false)
	stream("arn:aws:dynamodb:us-east-1:1:stream/t", "", "", false)
	stream("words", "", "", false)
}
