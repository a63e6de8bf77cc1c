package couch

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/fault"
)

// TestProxy checks that a proxy behaves like its node by default, and the faults that it injects
// into feeds and requests.
func TestProxy(t *testing.T) {
	n := Disk(t)
	p := NewProxy(t, n)
	by := &Node{URL: p.URL}
	by.Must(t, "PUT", "/db", "")
	rows := line(t, by, "/db/_changes?feed=continuous&since=0&heartbeat=1000")
	n.Must(t, "PUT", "/db/a", "{}")
	if got := rows(); !strings.Contains(got, `"id":"a"`) {
		t.Errorf("got row %s, want document a", got)
	}
	p.Repeat(true)
	n.Must(t, "PUT", "/db/b", "{}")
	if one, two := rows(), rows(); !strings.Contains(one, `"id":"b"`) || one != two {
		t.Errorf("got rows %s and %s, want document b twice", one, two)
	}
	p.Repeat(false)
	p.CutRow()
	n.Must(t, "PUT", "/db/c", "{}")
	if got, end := rows(), rows(); strings.HasSuffix(got, "}") || end != "" {
		t.Errorf("got %s and then %q, want half a row and the end of the feed", got, end)
	}
	rows = line(t, by, "/db/_changes?feed=continuous&since=now&heartbeat=1000")
	p.CutFeeds()
	if got := rows(); got != "" {
		t.Errorf("got %s after the end of the feed", got)
	}
	Await(t, "the feeds to end", func() bool { return p.Feeds() == 0 })

	p.Faults.Set(fault.Plan{OneIn: map[fault.Kind]int{fault.Unavailable: 1}, Only: []string{"read"}})
	if a := by.Do(t, "GET", "/db/a", ""); a.Status != 503 {
		t.Errorf("read: status %d, want 503", a.Status)
	}
	by.Must(t, "GET", "/db", "")
	by.Must(t, "PUT", "/db/d", "{}")
	p.Faults.Set(fault.Plan{OneIn: map[fault.Kind]int{fault.ErrorBefore: 1}, Only: []string{"write"}})
	if a := by.Do(t, "PUT", "/db/e", "{}"); a.Status != 500 {
		t.Errorf("write: status %d, want 500", a.Status)
	}
	p.Faults.Clear()
	if a := by.Do(t, "GET", "/db/e", ""); a.Status != 404 || p.Asked("GET", "/db/e") != 1 || p.Asked("GET", "/db/") < 3 {
		t.Errorf("document e, whose write failed: status %d, want 404; %d requests for it, want 1; %d for all documents, want at least 3", a.Status, p.Asked("GET", "/db/e"), p.Asked("GET", "/db/"))
	}
}
