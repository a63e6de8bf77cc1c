package embedded

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestFork writes to a store and to its forks, all at once: none sees the writes of another.
func TestFork(t *testing.T) {
	parent := newMemoryStore(t)
	parent.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
	for n := range 50 {
		parent.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"item%d"}}}`, n))
	}
	before := parent.whole(t)
	var forks sync.WaitGroup
	for n := range 8 {
		forks.Go(func() {
			s, err := parent.Fork()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if got := s.whole(t); got != before {
				t.Errorf("fork %d begins with\n%s\nwant\n%s", n, got, before)
			}
			own := fmt.Sprintf(`{"own":{"N":"%d"},"p":{"S":"item1"}}`, n)
			s.mustSend(t, "PutItem", `{"TableName":"tab","Item":`+own+`}`)
			s.mustSend(t, "CreateTable", strings.Replace(plainTable, "plain", fmt.Sprintf("fork%d", n), 1))
			s.mustSend(t, "DeleteItem", `{"TableName":"tab","Key":{"p":{"S":"item2"}}}`)
			if got := s.mustSend(t, "GetItem", `{"TableName":"tab","Key":{"p":{"S":"item1"}}}`); orderless(got) != orderless(`{"Item":`+own+`}`) {
				t.Errorf("fork %d has %s", n, got)
			}
			if got := s.mustSend(t, "ListTables", `{}`); got != fmt.Sprintf(`{"TableNames":["fork%d","tab"]}`, n) {
				t.Errorf("fork %d has %s", n, got)
			}
			f := newFollower(s, s.describe(t, "tab").LatestStreamArn)
			f.poll(t)
			for _, records := range f.got {
				if len(records) != 52 {
					t.Errorf("the stream of fork %d has %d records, want 50 of the parent and 2 of its own", n, len(records))
				}
			}
		})
	}
	forks.Wait()
	if got := parent.whole(t); got != before {
		t.Errorf("the parent has\n%s\nwant\n%s", got, before)
	}
	if _, err := newStore(t).Fork(); !errors.Is(err, ErrNoFork) {
		t.Errorf("a store on disk: %v", err)
	}
}

// BenchmarkFork forks and closes a store with ten tables and 100,000 items.
func BenchmarkFork(b *testing.B) {
	s := newMemoryStore(b)
	for n := range 10 {
		s.mustSend(b, "CreateTable", strings.Replace(plainTable, "plain", fmt.Sprintf("table%d", n), 1))
		for i := range 10_000 {
			s.mustSend(b, "PutItem", fmt.Sprintf(`{"TableName":"table%d","Item":{"p":{"S":"item%d"}}}`, n, i))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		fork, err := s.Fork()
		if err != nil {
			b.Fatal(err)
		}
		fork.Close()
	}
}
