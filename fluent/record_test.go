package fluent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"github.com/kasoku/kasoku/fluent/internal/encode"
	"github.com/kasoku/kasoku/fluent/internal/race"
)

// decoded renders one value as JSON with sorted keys.
func decoded(t testing.TB, b []byte) string {
	t.Helper()
	v, rest, err := msgp.ReadIntfBytes(b)
	if err != nil || len(rest) != 0 {
		t.Fatalf("% x: %v, %d bytes more", b, err, len(rest))
	}
	j, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(j)
}

func TestRecord(t *testing.T) {
	f := func(r *Record, want string) {
		t.Helper()
		b, err := r.payload()
		if err != nil {
			t.Fatal(err)
		}
		if got := decoded(t, b); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		again, err := encode.AppendRecord([]byte("x"), r)
		if err != nil || string(again) != "x"+string(b) {
			t.Fatalf("as a Marshaler: % x, %v; want % x", again, err, b)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	var r Record
	f(&r, `{}`)
	f(r.Str("s", "text").ByteString("bs", []byte("bytes")).Int("i", -1).Int64("l", 1<<40).Uint("u", 1<<63).Float("f", 1.5).Bool("b", true),
		`{"b":true,"bs":"bytes","f":1.5,"i":-1,"l":1099511627776,"s":"text","u":9223372036854775808}`)
	f(r.Reset(), `{}`)
	f(r.Time("t", at).Duration("d", time.Second).Bytes("x", []byte("bin")).Error("e", errors.New("bad")).Error("none", nil),
		`{"d":1000000000,"e":"bad","none":null,"t":"2026-01-02T03:04:05.000006Z","x":"Ymlu"}`)
	f(r.Any("any", map[string]int{"a": 1}), // after the fields that are there
		`{"any":{"a":1},"d":1000000000,"e":"bad","none":null,"t":"2026-01-02T03:04:05.000006Z","x":"Ymlu"}`)

	f(new(Record).Begin("a").End(), `{"a":{}}`)
	f(new(Record).Begin("a").Int("x", 1).Begin("b").Int("y", 2).Begin("c").End().End().Int("z", 3).End().Int("o", 4),
		`{"a":{"b":{"c":{},"y":2},"x":1,"z":3},"o":4}`)
	inner := new(Record).Str("in", "side")
	f(new(Record).Any("r", inner).Any("list", []*Record{inner, nil}), `{"list":[{"in":"side"},null],"r":{"in":"side"}}`)
}

// TestRecordSizes covers heads of one, three and five bytes, of records and of groups in them.
func TestRecordSizes(t *testing.T) {
	fill := func(r *Record, n int) {
		for i := range n {
			r.Int(fmt.Sprint(i), i)
		}
	}
	for _, n := range []int{0, 1, 15, 16, 17, 65535, 65536} {
		var r Record
		r.Int("before", 1).Begin("outer").Begin("inner")
		fill(&r, n)
		r.End().Str("after", "x").End()
		fill(&r, n)
		if r.Len() != n+2 {
			t.Errorf("%d fields: Len is %d", n+2, r.Len())
		}
		b, err := r.payload()
		if err != nil {
			t.Fatal(err)
		}
		v, rest, err := msgp.ReadMapStrIntfBytes(b, nil)
		if err != nil || len(rest) != 0 || len(v) != n+2 {
			t.Fatalf("%d fields: %d read, %v, %d bytes more", n+2, len(v), err, len(rest))
		}
		outer := v["outer"].(map[string]any)
		if inner := outer["inner"].(map[string]any); len(inner) != n || outer["after"] != "x" {
			t.Fatalf("of %d fields inside there are %d, and after them %v", n, len(inner), outer["after"])
		}
	}
}

func TestRecordErrors(t *testing.T) {
	f := func(r *Record, want string) {
		t.Helper()
		if b, err := r.payload(); err == nil || err.Error() != want || b != nil {
			t.Fatalf("got % x, %v, want %s", b, err, want)
		}
		if b, err := r.MarshalMsg([]byte("x")); err == nil || err.Error() != want || string(b) != "x" {
			t.Fatalf("MarshalMsg: got %q, %v", b, err)
		}
	}
	var r Record
	r.Int("a", 1).Any("c", make(chan int))
	f(&r, "fluent: record.c: can't encode chan int")
	f(r.Any("d", func() {}), "fluent: record.c: can't encode chan int") // the first
	if b, err := r.Reset().Int("b", 2).payload(); err != nil || decoded(t, b) != `{"b":2}` {
		t.Fatalf("after Reset: % x, %v", b, err)
	}
	f(new(Record).Any("m", map[string]any{"c": make(chan int)}), "fluent: record.m.c: can't encode chan int")
	f(new(Record).End(), "fluent: record: End without Begin")
	f(new(Record).Begin("a").Begin("b").End(), "fluent: record: a group has no End")
	f(nil, encode.ErrNotRecord.Error()+", not a nil *Record")
	if n := new(Record).Int("a", 1).Begin("b").Int("c", 2).Len(); n != 1 {
		t.Fatalf("with an open group: Len is %d", n)
	}
}

func TestRecordAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	var r Record
	at, err, data := time.Now(), errors.New("x"), []byte("data")
	long := strings.Repeat("long ", 100)
	tags := []string{"a", "b"}
	if n := testing.AllocsPerRun(100, func() {
		r.Reset().Str("s", long).Int("i", 1).Float("f", 1).Bool("b", true).Time("t", at).Duration("d", 1)
		r.Begin("g").Begin("h").Bytes("x", data).Error("e", err).End()
		for range 20 {
			r.Uint("u", 1)
		}
		r.End().Any("tags", &tags)
		if _, err := r.payload(); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
