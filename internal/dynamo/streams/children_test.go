package streams

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestChildren checks that children are read after their parent, from their beginning.
func TestChildren(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(s *scene)
	}{
		{"filter", func(*scene) {}},
		{"filter is ignored", func(s *scene) { s.ignoreFilter = true }},
		{"filter is refused", func(s *scene) { s.refuseFilter = true }},
		{"pages", func(s *scene) { s.ignoreFilter, s.shardPage = true, 2 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newScene(t, 2)
				test.change(s)
				s.startAt(5 * time.Second)
				s.takeLog()
				s.write(s.shards[0], 1, 1)
				children := s.split(s.shards[0], 2)
				s.write(children[0], 1, 2)
				s.write(children[1], 2, 1)
				children = append(children, s.split(children[1], 1)...) // 5
				s.write(children[2], 2, 2)
				s.pass(8 * time.Second)
				log := s.takeLog()
				if log != "1:1.1 3:1.2 4:2.1 5:2.2" && log != "1:1.1 4:2.1 3:1.2 5:2.2" {
					t.Errorf("log %q", log)
				}
				if open := s.open(); !slices.Equal(open, []string{"2", "3", "5"}) {
					t.Errorf("follows %v", open)
				}
				s.wantLag(0, 250*time.Millisecond)
				if got := s.cfg.Metrics.Late.Value(); got != 0 {
					t.Errorf("%d late records", got)
				}
			})
		})
	}
}

// TestShardsEndTogether checks that few calls find the children of shards that are closed at the
// same time, so that Through does not lag for as many seconds.
func TestShardsEndTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 8)
		s.startAt(5 * time.Second)
		for generation := range 5 {
			before := s.count("DescribeStream")
			for _, sh := range slices.Clone(s.shards[8*generation:]) {
				s.split(sh, 1)
			}
			for range 20 {
				s.pass(100 * time.Millisecond)
				s.wantLag(0, s.cfg.MaxLag)
			}
			if n := s.count("DescribeStream") - before; n > 2 {
				t.Errorf("generation %d: %d calls of DescribeStream, want 2 at most", generation, n)
			}
		}
	})
}

// TestSearchAfterOutage checks that children are found soon after calls have failed for a while.
func TestSearchAfterOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.startAt(5 * time.Second)
		s.set(func() {
			s.fail = func(operation string) error {
				if operation == "DescribeStream" {
					return errors.New("no connection")
				}
				return nil
			}
		})
		s.split(s.shards[0], 1)
		s.pass(5 * time.Minute)
		s.set(func() { s.fail = nil })
		s.pass(4 * time.Second)
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestChildrenAreListedLater checks that Through waits for them.
func TestChildrenAreListedLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.startAt(5 * time.Second)
		s.takeLog()
		s.set(func() { s.listedAfter = func() time.Duration { return 20 * time.Second } })
		before := s.count("DescribeStream")
		closed := time.Now()
		s.write(s.split(s.shards[0], 1)[0], 1, 1)
		s.pass(15 * time.Second)
		s.wantLag(15*time.Second, 15*time.Second+250*time.Millisecond)
		s.wantLog("")
		s.pass(11 * time.Second)
		s.wantLog("2:1.1")
		s.wantLag(0, 250*time.Millisecond)
		if n := s.count("DescribeStream") - before; n > int(time.Since(closed)/time.Second)+describeBurst {
			t.Errorf("%d calls of DescribeStream", n)
		}
	})
}

// TestSecondChildIsListedLater checks that a child that is listed after its sibling is a gap.
func TestSecondChildIsListedLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.startAt(5 * time.Second)
		s.takeLog()
		delay := time.Duration(0)
		s.listedAfter = func() time.Duration {
			delay += 10 * time.Second
			return delay - 10*time.Second
		}
		children := s.split(s.shards[0], 2)
		s.pass(5 * time.Second)
		s.write(children[1], 2, 1)
		s.pass(60 * time.Second)
		s.wantLog("fence")
		s.write(children[1], 2, 2)
		s.pass(time.Second)
		s.wantLog("3:2.2")
	})
}

// TestManyChildren checks that one listing of the stream serves many searches.
func TestManyChildren(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const shards = 150
		s := newScene(t, shards)
		s.shardPage = 50
		s.startAt(5 * time.Second)
		s.takeLog()
		before := s.count("DescribeStream")
		for _, shard := range slices.Clone(s.shards) {
			s.split(shard, 1)
		}
		s.pass(20 * time.Second)
		s.wantLag(0, 250*time.Millisecond)
		if n := s.count("DescribeStream") - before; n > 20 {
			t.Errorf("%d calls of DescribeStream", n)
		}
		s.pass(30 * time.Second)
		if n := s.count("DescribeStream") - before; n > 40 {
			t.Errorf("%d calls of DescribeStream, with the check of the searches", n)
		}
		if open := s.open(); len(open) != shards {
			t.Errorf("follows %d shards", len(open))
		}
		s.wantLog("")
	})
}

// TestParentIsTrimmed checks that the stream is followed anew if it is described without the
// shard whose children are looked for.
func TestParentIsTrimmed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.startAt(time.Second)
		s.takeLog()
		s.set(func() {
			s.fail = func(operation string) error {
				if operation == "DescribeStream" {
					s.fail = nil
					return &Error{notFound, "Requested resource not found: Shard does not exist"}
				}
				return nil
			}
		})
		s.split(s.shards[0], 1)
		s.pass(3 * time.Second)
		s.wantLog("fence")
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestCheckedParentIsTrimmed checks that a search that only checks another ends without a
// gap if the shard is removed.
func TestCheckedParentIsTrimmed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.startAt(time.Second)
		s.split(s.shards[0], 1)
		s.pass(5 * time.Second)
		s.set(func() {
			s.fail = func(operation string) error {
				if operation == "DescribeStream" {
					return &Error{notFound, "Requested resource not found: Shard does not exist"}
				}
				return nil
			}
		})
		before := s.count("DescribeStream")
		s.pass(2 * time.Minute)
		s.wantLog("fence")
		if n := s.count("DescribeStream") - before; n > 2 {
			t.Errorf("%d calls of DescribeStream", n)
		}
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestChildrenAfterLongOutage checks that children are not read from their beginning if that
// may have been trimmed.
func TestChildrenAfterLongOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.startAt(time.Second)
		s.takeLog()
		s.set(func() { s.listedAfter = func() time.Duration { return 2 * time.Second } })
		s.split(s.shards[0], 1)
		s.pass(time.Second)
		s.set(func() { s.fail = func(string) error { return errors.New("no connection") } })
		s.pass(23*time.Hour + time.Minute)
		s.write(s.shards[1], 1, 1)
		s.set(func() { s.fail = nil })
		s.pass(15 * time.Second)
		s.wantLag(0, 250*time.Millisecond)
		s.wantLog("fence")
	})
}

// TestEndDuringLongOutage checks that children are read from their beginning after a fence,
// if their parent ended in an outage.
func TestEndDuringLongOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.startAt(time.Second)
		s.takeLog()
		s.set(func() { s.fail = func(string) error { return errors.New("no connection") } })
		s.split(s.shards[0], 1)
		s.pass(23*time.Hour + time.Minute)
		s.write(s.shards[1], 1, 1)
		s.set(func() { s.fail = nil })
		s.pass(10 * time.Second)
		s.wantLag(0, 250*time.Millisecond)
		s.wantLog("fence 2:1.1")
	})
}
