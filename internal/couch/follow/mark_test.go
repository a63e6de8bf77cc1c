package follow

import (
	"testing"
	"time"
)

func (d *tracker) expectCovers(t *testing.T, what string, mark mark, want NodeSet) {
	t.Helper()
	if got := d.covers(mark); got != want {
		t.Errorf("%s: got the nodes %02b; want %02b", what, got, want)
	}
}

// TestCovers checks that changes before a mark count, and later ones don't.
func TestCovers(t *testing.T) {
	d, _ := watched(2, trackerConfig{})
	wrote := func(node int, id, rev string) { d.wrote(node, []byte(id), []byte(rev), 0) }
	d.expectCovers(t, "nothing is known", d.mark(), 0b11)
	wrote(0, "a", "1-a")
	wrote(1, "b", "1-b")
	mark := d.mark()
	d.expectCovers(t, "each has its own", mark, 0)
	feedRow(d, 1, "a", "1-a", 0)
	wrote(0, "c", "1-c")
	d.expectCovers(t, "c is later", mark, 0b10)
	d.expectCurrent(t, "", 0)
	feedRow(d, 0, "b", "1-b", 0)
	d.expectCovers(t, "both have all", mark, 0b11)
	d.expectCovers(t, "and c counts now", d.mark(), 0b01)
	d.markOut(0)
	d.expectCovers(t, "out", mark, 0b10)
	d.rejoin(0)
	d.expectCovers(t, "adrift", mark, 0)
	d.markSynced(0b11, 1<<60)
	d.expectCovers(t, "compared since then", mark, 0)
	d.expectCovers(t, "from now on", d.mark(), 0b01) // c
}

// TestCoversSteps checks a document that is written again before it was replicated: covers does
// not wait until the writes end, and the document does not count as replicated because a newer
// revision exists.
func TestCoversSteps(t *testing.T) {
	d, _ := watched(2, trackerConfig{})
	write := func(rev string) mark {
		d.wrote(0, []byte("a"), []byte(rev), 0)
		return d.mark()
	}
	first, second, third := write("1-a"), write("2-a"), write("3-a")
	d.expectCovers(t, "none", first, 0b01)
	feedRow(d, 1, "a", "2-a", 0)
	d.expectCovers(t, "the second", first, 0b11)
	d.expectCovers(t, "the second", second, 0b11)
	d.expectCovers(t, "the second", third, 0b01)
	fourth := write("4-a")
	d.expectCovers(t, "the second of four", second, 0b11)
	d.expectCovers(t, "the second of four", third, 0b01)
	feedRow(d, 1, "a", "4-a", 0)
	d.expectCovers(t, "the fourth", fourth, 0b11)
	d.markMissing(1, []byte("a"), []byte("5-a"), 0)
	d.expectCovers(t, "it is found to lack the fifth", d.mark(), 0b01)
	d.expectCovers(t, "it is found to lack the fifth", fourth, 0b11)

	revs := []string{"6-a", "7-a", "8-a", "9-a"}
	for range 5 {
		for i := range revs {
			write(revs[i])
			revs[i] = "1" + revs[i]
		}
	}
	c := d.open["a"]
	if from := c.lackedBy(1).number; len(c.steps) > maxSteps || from == 0 || from > fourth.changes+2 {
		t.Errorf("got %d steps, lacking from step %d", len(c.steps), from)
	}
}

// TestLackingSince checks since when a node counts as lacking a document that is written again and
// again.
func TestLackingSince(t *testing.T) {
	d, _ := watched(2, trackerConfig{})
	f := func(now int64, want NodeSet) {
		t.Helper()
		if got := d.within(time.Second, now*ms); got != want {
			t.Errorf("after %d ms: got the nodes %02b; want %02b", now, got, want)
		}
	}
	for i := range int64(4) {
		d.wrote(0, []byte("a"), rev(int(i+1)), 400*i*ms)
	}
	f(1000, 0b11)
	f(1001, 0b01)
	feedRow(d, 1, "a", string(rev(2)), 1300*ms)
	f(1800, 0b11)
	f(1801, 0b01)
	feedRow(d, 1, "a", string(rev(4)), 1300*ms)
	f(9000, 0b11)
}
