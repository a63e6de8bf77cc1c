package couch

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/fault"
)

// TestWay checks that a way behaves like its node by default, and the faults that it injects
// into feeds and requests.
func TestWay(t *testing.T) {
	n := Disk(t)
	w := NewWay(t, n)
	by := &Node{URL: w.URL}
	by.Must(t, "PUT", "/db", "")
	rows := line(t, by, "/db/_changes?feed=continuous&since=0&heartbeat=1000")
	n.Must(t, "PUT", "/db/a", "{}")
	if got := rows(); !strings.Contains(got, `"id":"a"`) {
		t.Errorf("a row: %s", got)
	}
	w.Repeat(true)
	n.Must(t, "PUT", "/db/b", "{}")
	if one, two := rows(), rows(); !strings.Contains(one, `"id":"b"`) || one != two {
		t.Errorf("twice: %s and %s", one, two)
	}
	w.Repeat(false)
	w.CutRow()
	n.Must(t, "PUT", "/db/c", "{}")
	if got, end := rows(), rows(); strings.HasSuffix(got, "}") || end != "" {
		t.Errorf("half a row: %s, and then %q", got, end)
	}
	rows = line(t, by, "/db/_changes?feed=continuous&since=now&heartbeat=1000")
	w.CutFeeds()
	if got := rows(); got != "" {
		t.Errorf("after the end: %s", got)
	}
	Await(t, "the feeds to be gone", func() bool { return w.Feeds() == 0 })

	w.Faults.Set(fault.Plan{OneIn: map[fault.Kind]int{fault.Unavailable: 1}, Only: []string{"read"}})
	if a := by.Do(t, "GET", "/db/a", ""); a.Status != 503 {
		t.Errorf("a read: %d", a.Status)
	}
	by.Must(t, "GET", "/db", "")
	by.Must(t, "PUT", "/db/d", "{}")
	w.Faults.Set(fault.Plan{OneIn: map[fault.Kind]int{fault.ErrorBefore: 1}, Only: []string{"write"}})
	if a := by.Do(t, "PUT", "/db/e", "{}"); a.Status != 500 {
		t.Errorf("a write: %d", a.Status)
	}
	w.Faults.Clear()
	if a := by.Do(t, "GET", "/db/e", ""); a.Status != 404 || w.Asked("GET", "/db/e") != 1 || w.Asked("GET", "/db/") < 3 {
		t.Errorf("a document that was not written: %d; asked %d times, and %d times for any", a.Status, w.Asked("GET", "/db/e"), w.Asked("GET", "/db/"))
	}
}
