package dax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// batchOf is a BatchGetItem of items of table Tab1 with keys of one letter.
func batchOf(keys string) string {
	b := fmt.Sprintf("013a29985cdb a1 44 54616231 83 f4 f6 %02x", 0x80+len(keys))
	for _, key := range []byte(keys) {
		b += fmt.Sprintf(" 41%02x", key)
	}
	return b + " bf 03 00 ff"
}

// answerTo answers a BatchGetItem of Tab1 with these items.
func answerTo(items ...string) string {
	return `{"Responses":{"Tab1":[` + strings.Join(items, ",") + `]},"UnprocessedKeys":{}}`
}

const (
	itemA = `{"pk":{"S":"a"},"age":{"N":"42"},"name":{"S":"Alice"}}`
	itemB = `{"pk":{"S":"b"},"name":{"S":"Bob"}}`
)

// TestBatchHits compares the translated answer of a miss with answers of cached items, whose
// forms are attached by a batch or by a GetItem.
func TestBatchHits(t *testing.T) {
	for _, first := range []string{"", "01 1a 0fb0cc6a 44 54616231 41 61 bfff"} {
		s := newStage(t)
		s.origin.setAnswer(200, answerTo(itemA, itemB))
		s.c.send(batchOf("abx"))
		want := s.c.reply(3)
		if asked := s.origin.take(); strings.Count(asked, "BatchGetItem ") != 1 {
			t.Fatalf("the origin received %s", asked)
		}
		if first != "" {
			s.c.send(first)
			if got := s.c.reply(2); !strings.Contains(got, "416c696365") {
				t.Errorf("GetItem: got %s", got)
			}
		}
		for range 3 {
			s.c.send(batchOf("abx"))
			if got := s.c.reply(3); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		s.c.send(batchOf("x")) // it does not exist
		if got := strings.ReplaceAll(s.c.reply(3), " ", ""); got != "8082a1645461623180a080" {
			t.Errorf("got %s", got)
		}
		if asked := s.origin.take(); asked != "" {
			t.Errorf("the origin received %s", asked)
		}
		hits := 0
		n := 5
		if first != "" {
			n++
		}
		for _, r := range s.log.wait(n) {
			if r.Operation == "BatchGetItem" && r.Decision == telemetry.Hit && string(r.Table) == "Tab1" {
				hits++
			}
		}
		if hits != 4 {
			t.Errorf("%d hits in the access log, want 4", hits)
		}
	}
}

// TestBatchesOfOthers sends batches of cached items that must reach the service: the origin is
// asked for them, or they are refused.
func TestBatchesOfOthers(t *testing.T) {
	table2 := " 64 54616232 83 f4 f6 81 46 6161c11c0000"
	tests := map[string]string{
		"strongly consistent": "013a29985cdb a1 44 54616231 83 f5 f6 81 41 61 bfff",
		"one not cached":      batchOf("ac"),
		"another table":       "013a29985cdb a2 44 54616231 83 f4 f6 81 41 61" + table2 + " bfff",
		"a key twice":         batchOf("aa"),
		"a table twice":       "013a29985cdb a2 44 54616231 83 f4 f6 81 41 61 44 54616231 83 f4 f6 81 41 62 bfff",
		"no keys":             "013a29985cdb a1 44 54616231 83 f4 f6 80 bfff",
		"no tables":           "013a29985cdb a0 bfff",
	}
	for name, request := range tests {
		s := newStage(t)
		s.origin.setAnswer(200, answerTo(itemA, itemB))
		s.c.send(batchOf("ab"))
		s.c.reply(3)
		s.origin.take()
		s.origin.setAnswer(400, `{"__type":"com.amazon.coral.validate#ValidationException","message":"no"}`)
		s.c.send(request)
		s.c.reply(3)
		if asked := s.origin.take(); !strings.Contains(asked, "BatchGetItem ") {
			t.Errorf("%s: the origin received %q", name, asked)
		}
	}
}

// TestBatchAfterWrite writes an item of a batch whose items are cached in both forms.
func TestBatchAfterWrite(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(200, answerTo(itemA, itemB))
	for range 3 {
		s.c.send(batchOf("ab"))
		s.c.reply(3)
	}
	s.origin.setAnswer(200, `{}`)
	s.c.send("013a7d8e7e56 44 54616231 41 61 41 01 bfff")
	s.c.reply(2)
	s.origin.setAnswer(200, answerTo(`{"pk":{"S":"a"}}`))
	for range 3 {
		s.c.send(batchOf("ab"))
		if got := s.c.reply(3); !strings.Contains(got, "41614101") || strings.Contains(got, "416c696365") || !strings.Contains(got, "426f62") {
			t.Errorf("got %s", got)
		}
	}
}

func newBatchLoop(t testing.TB) *loop {
	s := newStage(t, func(c *Config) { c.Listen, c.Log = "127.0.0.1:0", nil })
	var items []string
	keys := "abcdefgh"
	for _, key := range keys {
		items = append(items, fmt.Sprintf(`{"age":{"N":"42"},"name":{"S":%q},"pk":{"S":"%c"}}`, strings.Repeat("x", 200), key))
	}
	s.origin.setAnswer(200, answerTo(items...))
	for range 2 {
		s.c.send(batchOf(keys))
		s.c.reply(3)
	}
	return newLoop(t, s.rig, strings.ReplaceAll(batchOf(keys), " ", ""))
}

// TestBatchAllocs checks that hits don't allocate.
func TestBatchAllocs(t *testing.T) {
	l := newBatchLoop(t)
	if got := testing.AllocsPerRun(2000, func() {
		if err := l.once(); err != nil {
			t.Fatal(err)
		}
	}); got > 0 && !race.Enabled {
		t.Errorf("%v allocations, want none", got)
	}
}

func BenchmarkBatchGetItem(b *testing.B) {
	l := newBatchLoop(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.once(); err != nil {
			b.Fatal(err)
		}
	}
}
