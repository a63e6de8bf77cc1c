package dax

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// queryOf is a query of table Tab2 for a partition with a name of one byte, before its options.
func queryOf(partition byte) string {
	return fmt.Sprintf("013a3781c2ae 44 54616232 4f 83018300821262706b8211008161%02x", partition)
}

const pageOf1 = `{"Count":1,"Items":[{"age":{"N":"42"},"name":{"S":"Alice"},"pk":{"S":"a"},"sk":{"N":"1"}}],"ScannedCount":1}`

// TestPageForms compares translated answers with those that are served in the attached form:
// the first reply is that of a miss, the second one is translated from the cache, the third one was
// attached, and the fourth one is found by its key.
func TestPageForms(t *testing.T) {
	s := newStage(t)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		n := rapid.IntRange(0, 5).Draw(t, "items")
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"pk":{"S":"a"},"sk":{"N":"%d"}`, i)
			if rapid.Bool().Draw(t, "more") {
				fmt.Fprintf(&b, `,"age":{"N":"%d"},"name":{"S":%q}`, rapid.Int().Draw(t, "age"), rapid.StringMatching(`[a-zé]{0,40}`).Draw(t, "name"))
			}
			b.WriteByte('}')
		}
		answer := fmt.Sprintf(`{"Items":[%s],"Count":%d,"ScannedCount":%d`, b.String(), n, n)
		if rapid.Bool().Draw(t, "last") {
			answer += `,"LastEvaluatedKey":{"pk":{"S":"a"},"sk":{"N":"7"}}`
		}
		options := rapid.SampledFrom([]string{
			"bf ff",
			"bf 0d 03 ff",                    // a limit
			"bf 03 02 ff",                    // with the consumed capacity
			"bf 00 49 820181821263616765 ff", // the attribute age
		}).Draw(t, "options")
		operation, request := "Query ", queryOf('a')
		if rapid.Bool().Draw(t, "scan") {
			operation, request = "Scan ", "013a6fc8309b 44 54616232"
		}
		if strings.Contains(options, " 03 02 ") {
			answer += `,"ConsumedCapacity":{"TableName":"Tab2","CapacityUnits":0.5}`
		}
		s.origin.setAnswer(200, answer+"}")
		request += options
		var replies [4]string
		for i := range replies {
			s.c.send(request)
			replies[i] = s.c.reply(2)
		}
		if asked := s.origin.take(); strings.Count(asked, operation) != 1 || strings.Count(asked, "\n") != 0 {
			t.Fatalf("the origin received %s", asked)
		}
		if replies[0] != replies[1] || replies[0] != replies[2] || replies[0] != replies[3] || !strings.HasPrefix(replies[0], "80") {
			t.Fatalf("got the replies\n%s", strings.Join(replies[:], "\n"))
		}
		s.origin.setAnswer(200, `{}`)
		s.c.expect("013a7d8e7e56 44 54616232 46 6161c11c0000 41 01 bfff", "80 f6")
		s.origin.take()
	})
	hits := 0
	for _, r := range s.log.take() {
		if r.Operation == "Query" && r.Decision == telemetry.Hit {
			hits++
		}
	}
	if hits == 0 {
		t.Error("no query was a hit")
	}
}

// TestPageFormAfterWrite writes an item of a page that is cached in both forms.
func TestPageFormAfterWrite(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(200, pageOf1)
	for range 4 {
		s.c.send(queryOf('a') + "bfff")
		if got := s.c.reply(2); !strings.Contains(got, hex.EncodeToString([]byte("Alice"))) {
			t.Fatalf("got %s", got)
		}
	}
	s.origin.setAnswer(200, `{}`)
	s.c.expect("013a7d8e7e56 44 54616232 46 6161c11c0000 41 01 bfff", "80 f6")
	s.origin.setAnswer(200, strings.Replace(pageOf1, "Alice", "Bob", 1))
	for range 4 {
		s.c.send(queryOf('a') + "bfff")
		if got := s.c.reply(2); !strings.Contains(got, hex.EncodeToString([]byte("Bob"))) {
			t.Fatalf("got %s after a write", got)
		}
	}
}

func newPageLoop(t testing.TB) *loop {
	s := newStage(t, func(c *Config) { c.Listen, c.Log = "127.0.0.1:0", nil })
	var items []string
	for i := range 8 {
		items = append(items, fmt.Sprintf(`{"age":{"N":"42"},"name":{"S":%q},"pk":{"S":"a"},"sk":{"N":"%d"}}`, strings.Repeat("x", 200), i))
	}
	s.origin.setAnswer(200, `{"Count":8,"Items":[`+strings.Join(items, ",")+`],"ScannedCount":8}`)
	request := strings.ReplaceAll(queryOf('a')+"bfff", " ", "")
	for range 3 {
		s.c.send(request)
		s.c.reply(2)
	}
	return newLoop(t, s.rig, request)
}

// TestQueryAllocs checks that hits don't allocate.
func TestQueryAllocs(t *testing.T) {
	l := newPageLoop(t)
	if got := testing.AllocsPerRun(2000, func() {
		if err := l.once(); err != nil {
			t.Fatal(err)
		}
	}); got > 0 && !race.Enabled {
		t.Errorf("%v allocations, want none", got)
	}
}

func BenchmarkQuery(b *testing.B) {
	l := newPageLoop(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.once(); err != nil {
			b.Fatal(err)
		}
	}
}
