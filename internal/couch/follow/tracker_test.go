package follow

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

const ms = int64(time.Millisecond)

// watched returns a tracker with synced nodes, and the list of its invalidations.
func watched(nodes int, cfg trackerConfig) (*tracker, *[]string) {
	moved := &[]string{}
	cfg.Nodes = nodes
	cfg.Invalidate = func(id []byte) { *moved = append(*moved, string(id)) }
	d := newTracker(cfg)
	d.markSynced(AllNodes(nodes), 1<<60)
	return d, moved
}

func feedRow(d *tracker, node int, id, rev string, now int64) {
	d.announced(node, []byte(id), []byte(rev), now)
}

func (d *tracker) expectCurrent(t *testing.T, id string, want NodeSet) {
	t.Helper()
	var of []byte
	if id != "" {
		of = []byte(id)
	}
	if got := d.current(of); got != want {
		t.Errorf("got the current nodes %03b for %q; want %03b", got, id, want)
	}
}

func TestServable(t *testing.T) {
	d, _ := watched(2, trackerConfig{MaxUnfollowed: 1000 * 1e6})
	f := func(now int64, want bool) {
		t.Helper()
		if got := d.servable(now * ms); got != want {
			t.Errorf("at %d ms: got servable %t", now, got)
		}
	}
	f(0, false)
	d.heardFrom(0, 0)
	f(0, false) // node 1 was not heard
	d.heardFrom(1, 500*ms)
	f(1000, true)
	f(1001, false)
	d.heardFrom(0, 2000*ms)
	f(1500, true)
	f(1501, false)
	d.markOut(1)
	f(3000, true)
	f(3001, false)
	d.rejoin(1)
	f(2000, false)
	d.heardFrom(1, 1900*ms)
	f(2900, true)
	d.heardFrom(1, 100*ms) // a late report
	f(2900, true)
	d.markOut(0)
	d.markOut(1)
	f(0, false)
}

// TestOneNode checks that the row of a write through Kasoku does not invalidate anything, and that
// the row of a direct write does.
// A tracker is behind by the silence of the feed that was heard from the longest time ago.
func TestBehind(t *testing.T) {
	d, _ := watched(2, trackerConfig{MaxUnfollowed: 1000 * 1e6})
	f := func(now int64, want int64, ok bool) {
		t.Helper()
		got, known := d.behind(now * ms)
		if known != ok || ok && int64(got) != want*ms {
			t.Errorf("at %d ms: got %s, %t; want %d ms, %t", now, got, known, want, ok)
		}
	}
	d.heardFrom(0, 100*ms)
	f(200, 0, false) // node 1 was not heard
	d.heardFrom(1, 150*ms)
	f(200, 100, true)
	d.heardFrom(0, 190*ms)
	f(200, 50, true)
	f(150, 0, true)
	d.markOut(1)
	f(200, 0, false) // its changes are not awaited
	d.rejoin(1)
	f(200, 50, true)
}

func TestOneNode(t *testing.T) {
	d, moved := watched(1, trackerConfig{})
	d.wrote(0, []byte("a"), []byte("1-a"), 0)
	d.expectCurrent(t, "", 1)
	feedRow(d, 0, "a", "1-a", 5*ms)
	if len(*moved) != 0 {
		t.Errorf("the row of Kasoku's own write invalidated %q", *moved)
	}
	feedRow(d, 0, "a", "2-a", 9*ms)
	feedRow(d, 0, "b", "1-b", 9*ms)
	if !slices.Equal(*moved, []string{"a", "b"}) {
		t.Errorf("got invalidated %q", *moved)
	}
	d.expectCurrent(t, "", 1)
	if len(d.open) != 0 {
		t.Errorf("%d changes are open", len(d.open))
	}
}

// TestLag follows one change through three nodes.
func TestLag(t *testing.T) {
	var caught []string
	d, moved := watched(3, trackerConfig{Replicated: func(node int, lag time.Duration) { caught = append(caught, fmt.Sprint(node, " ", lag)) }})
	feedRow(d, 1, "a", "2-a", 1000*ms)
	d.expectCurrent(t, "a", 0b010)
	d.expectCurrent(t, "b", 0b111)
	d.expectCurrent(t, "", 0b010)
	feedRow(d, 0, "b", "1-b", 1100*ms)
	d.expectCurrent(t, "", 0)
	if s := d.replicaState(2, 1300*ms); s.Lacks != 2 || s.Lag != 300*time.Millisecond || s.Quiet >= 0 {
		t.Errorf("got %+v", s)
	}
	feedRow(d, 0, "a", "2-a", 1140*ms)
	feedRow(d, 1, "b", "1-b", 1150*ms)
	d.expectCurrent(t, "", 0b011)
	feedRow(d, 2, "b", "1-b", 1200*ms)
	feedRow(d, 2, "a", "2-a", 1500*ms)
	d.expectCurrent(t, "", 0b111)
	if !slices.Equal(*moved, []string{"a", "b"}) || len(d.open) != 0 {
		t.Errorf("got invalidated %q, %d changes open", *moved, len(d.open))
	}
	if want := []string{"0 140ms", "1 50ms", "2 100ms", "2 500ms"}; !slices.Equal(caught, want) {
		t.Errorf("got caught up %q; want %q", caught, want)
	}
}

// TestLosingRevision checks that a row invalidates copies although its winner is recorded: the
// node may have received a losing revision, and a copy may depend on the former one.
func TestLosingRevision(t *testing.T) {
	d, moved := watched(3, trackerConfig{})
	feedRow(d, 0, "a", "2-a", 0)
	d.confirm(1, revision{"a", "2-a"}, 500*ms) // it has the winner
	d.expectCurrent(t, "a", 0b011)
	feedRow(d, 1, "a", "2-a", 600*ms)
	if !slices.Equal(*moved, []string{"a", "a"}) {
		t.Errorf("got invalidated %q", *moved)
	}
}

// TestOverdue checks that a node that has a change without announcing it is detected, and that one
// that never gets it is given up after a while.
func TestOverdue(t *testing.T) {
	d, moved := watched(2, trackerConfig{})
	feedRow(d, 0, "a", "2-a", 0)
	if got := d.overdue(1, 499*ms, 10); got != nil {
		t.Errorf("got overdue %v too early", got)
	}
	got := d.overdue(1, 500*ms, 10)
	if !slices.Equal(got, []revision{{"a", "2-a"}}) || d.overdue(0, 500*ms, 10) != nil {
		t.Errorf("got overdue %v", got)
	}
	d.confirm(1, revision{"a", "1-a"}, 600*ms) // already confirmed
	d.expectCurrent(t, "", 0b01)
	d.confirm(1, got[0], 600*ms)
	d.expectCurrent(t, "", 0b11)

	feedRow(d, 0, "b", "1-b", 1000*ms)
	minutes := func(n int64) int64 { return n * 60 * 1000 * ms }
	if n := d.sweep(minutes(11)); n != 0 {
		t.Errorf("%d changes were abandoned without a query", n)
	}
	d.overdue(1, minutes(11), 10)
	*moved = nil
	if n := d.sweep(minutes(11)); n != 1 || !slices.Equal(*moved, []string{"b"}) {
		t.Errorf("%d changes were abandoned, invalidated %q", n, *moved)
	}
	d.expectCurrent(t, "", 0b11)
}

// TestNodeIsOut checks that changes don't wait for a node that is out. When a node rejoins, no copy
// from meanwhile is valid, and nothing is cached before all nodes were compared, because the
// others may lack its earlier changes.
func TestNodeIsOut(t *testing.T) {
	d, moved := watched(2, trackerConfig{})
	feedRow(d, 0, "a", "2-a", 0)
	d.markOut(1)
	d.expectCurrent(t, "", 0b01)
	feedRow(d, 0, "b", "1-b", 0)
	if len(d.open) != 0 {
		t.Errorf("%d changes wait for a node that is out", len(d.open))
	}
	*moved = nil
	d.rejoin(1)
	d.expectCurrent(t, "", 0)
	nodes, mark := d.unsyncedNodes()
	if nodes != 0b11 || !slices.Equal(*moved, []string{""}) {
		t.Errorf("got the unsynced nodes %02b, invalidated %q", nodes, *moved)
	}
	d.markMissing(1, []byte("a"), []byte("2-a"), 0)
	d.markSynced(nodes, mark)
	d.expectCurrent(t, "", 0b01)
	d.expectCurrent(t, "b", 0b11)
	feedRow(d, 1, "a", "2-a", 100*ms)
	d.expectCurrent(t, "", 0b11)
	d.resetNode(0, Recreated)
	d.markSynced(0b11, mark) // of a comparison from before the reset
	if nodes, _ := d.unsyncedNodes(); nodes != 0b11 {
		t.Errorf("got the unsynced nodes %02b", nodes)
	}
}

// TestBestNodes checks from which nodes a document is read when no node is current.
func TestBestNodes(t *testing.T) {
	d, _ := watched(2, trackerConfig{})
	f := func(what string, want NodeSet) {
		t.Helper()
		if got := d.likely([]byte("a")); got != want {
			t.Errorf("%s: got the nodes %02b, want %02b", what, got, want)
		}
	}
	f("nothing is known", 0b11)
	feedRow(d, 1, "a", "1-a", 0)
	f("one has it", 0b10)
	d.markOut(1)
	f("and is taken out", 0b01)
	feedRow(d, 0, "a", "1-b", 0)
	feedRow(d, 0, "b", "1-b", 0)
	d.rejoin(1)
	f("and rejoins", 0b01)
	feedRow(d, 1, "a", "2-a", 0)
	f("and announces what may be older than 1-b or its successors", 0b01)
	d.wrote(1, []byte("a"), []byte("3-a"), 0)
	f("and stores something for Kasoku", 0b10)
	d.markOut(1)
	f("and is taken out again", 0b01)
	d.wrote(1, []byte("a"), []byte("4-a"), 0)
	f("and stores something before it is heard", 0b10)
	if got := d.reachable(); got != 0b11 {
		t.Errorf("got the nodes %02b", got)
	}
	d.rejoin(1)
	f("and rejoins with it", 0b10)
	d.resetNode(0, Opened)
	f("the other's feed restarts", 0b10)
	d.markSynced(0b11, 1<<60)
	feedRow(d, 0, "a", "4-a", 0)
	f("both are compared and have it", 0b11)
}

// TestGoneWithItsDatabase checks that a change is dropped when the only node that had it
// loses its database.
func TestGoneWithItsDatabase(t *testing.T) {
	d, _ := watched(2, trackerConfig{})
	d.wrote(0, []byte("a"), []byte("1-a"), 0)
	feedRow(d, 1, "b", "1-b", 0)
	d.resetNode(0, Recreated)
	d.markSynced(0b11, 1<<60)
	d.expectCurrent(t, "a", 0b11)
	d.expectCurrent(t, "b", 0b10)
	d.expectCurrent(t, "", 0b10)
}

// TestOnlyHolderIsOut checks that an acknowledged revision remains recorded while the only node that
// has it is out: its feed may announce an older revision late, or may have to be opened anew.
// Otherwise the other node would be current without that revision.
func TestOnlyHolderIsOut(t *testing.T) {
	reset := func(why ResetReason) func(d *tracker) { return func(d *tracker) { d.resetNode(0, why) } }
	announce := func(rev string) func(d *tracker) { return func(d *tracker) { feedRow(d, 0, "a", rev, 0) } }
	leave := func(node int) func(d *tracker) { return func(d *tracker) { d.markOut(node) } }
	for _, test := range []struct {
		name  string
		steps []func(d *tracker)
		want  NodeSet
	}{
		{"the feed is opened anew", []func(d *tracker){leave(0), reset(Opened)}, 0},
		{"after it has announced an older revision", []func(d *tracker){announce("1-a"), leave(0), reset(Opened)}, 0},
		{"and announces it while the node is out", []func(d *tracker){leave(0), announce("1-a"), reset(Opened)}, 0},
		{"and was opened anew before", []func(d *tracker){announce("1-a"), reset(Opened), leave(0), reset(Opened)}, 0},
		{"another database may have the name", []func(d *tracker){leave(0), reset(Recreated)}, 0},
		{"the node refuses the position", []func(d *tracker){leave(0), reset(Refused)}, 0},
		{"the node does not have the database any more", []func(d *tracker){leave(0), reset(Deleted)}, 0b10},
		{"the other node is out for a while too", []func(d *tracker){leave(0), leave(1), func(d *tracker) { d.rejoin(1) }}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, _ := watched(2, trackerConfig{})
			d.wrote(0, []byte("a"), []byte("2-a"), 0)
			for _, step := range test.steps {
				step(d)
			}
			d.expectCurrent(t, "a", test.want)
			d.expectCurrent(t, "", test.want)
		})
	}
}

// TestRecreatedWhileOut checks that a change is dropped when the only node that had it rejoins with
// another database of that name.
func TestRecreatedWhileOut(t *testing.T) {
	d, _ := watched(2, trackerConfig{})
	d.wrote(0, []byte("a"), []byte("1-a"), 0)
	d.markOut(0)
	d.resetNode(0, Recreated)
	d.wrote(0, []byte("b"), []byte("1-b"), 0)
	d.rejoin(0)
	d.markSynced(0b11, 1<<60)
	d.expectCurrent(t, "a", 0b11)
	d.expectCurrent(t, "b", 0b01)
}

func tagsFor(method, path string, ids [][]byte) (reads, writes []cache.Tag) {
	r := api.Classify([]byte(method), nil, []byte(path), nil)
	if r.Class == api.Write {
		return nil, tagger.AppendWrites(nil, &r, ids)
	}
	return tagger.AppendReads(nil, &r), nil
}

// TestTags checks for pairs of a write and a read whether the one reaches the
// other.
func TestTags(t *testing.T) {
	f := func(write string, ids [][]byte, read string, want bool) {
		t.Helper()
		var method, path string
		fmt.Sscan(write, &method, &path)
		_, writes := tagsFor(method, path, ids)
		reads, _ := tagsFor("GET", read, nil)
		if len(reads) == 0 || len(reads) > cache.MaxTags-1 {
			t.Errorf("%s depends on %d tags", read, len(reads))
		}
		got := slices.ContainsFunc(reads, func(tag cache.Tag) bool { return slices.Contains(writes, tag) })
		if got != want {
			t.Errorf("%s reaches %s: %t", write, read, got)
		}
	}
	one := [][]byte{[]byte("x")}
	f("PUT /db/x", nil, "/db/x", true)
	f("PUT /db/%78", nil, "/db/x", true)
	f("PUT /db/x", nil, "/db/x/att", true)
	f("PUT /db/x/att", nil, "/db/x", true)
	f("PUT /db/x", nil, "/db/y", false)
	f("PUT /db/x", nil, "/other/x", false)
	f("PUT /db/x", nil, "/db/_all_docs", true)
	f("PUT /db/x", nil, "/db/_design/d/_list/l/v", true)
	f("PUT /db/x", nil, "/other/_all_docs", false)
	f("PUT /db/_design/d", nil, "/db/_design/d", true)
	f("PUT /db/_design%2Fd", nil, "/db/_design/d", true)
	f("POST /db/_bulk_docs", one, "/db/x", true)
	f("POST /db/_bulk_docs", one, "/db/y", false)
	f("POST /db/_bulk_docs", nil, "/db/y", true)
	f("POST /db/_bulk_docs", one, "/db/_all_docs", true)
	f("POST /db", nil, "/db/x", true)
	f("COPY /db/y", one, "/db/x", true)
	f("COPY /db/y", one, "/db/y", false)
	f("POST /db/_design/d/_update/f", nil, "/db/x", true)
	f("DELETE /db", nil, "/db/x", true)
	f("DELETE /db", nil, "/_all_dbs", true)
	f("DELETE /db", nil, "/other/x", false)
	f("POST /db/_purge", nil, "/db/x", true)
	f("POST /db/_purge", nil, "/_all_dbs", false)
	f("PUT /db/_local/x", nil, "/db/_all_docs", false)
	f("PUT /db/_security", nil, "/db/x", false)
}

// TestAllocs checks the allocations of a hit's calls.
func TestAllocs(t *testing.T) {
	if race.Enabled {
		return // the race detector allocates
	}
	d, _ := watched(2, trackerConfig{})
	r := api.Classify([]byte("GET"), nil, []byte("/db/some-document"), nil)
	tags := make([]cache.Tag, 0, cache.MaxTags)
	allocs := testing.AllocsPerRun(100, func() {
		tags = tagger.AppendReads(tags[:0], &r)
		_ = d.servable(1)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
