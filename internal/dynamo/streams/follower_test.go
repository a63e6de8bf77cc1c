package streams

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.write(s.shards[0], 1, 1) // before the follower starts
		s.holdup = 300 * time.Millisecond
		s.start()
		s.pass(200 * time.Millisecond)
		s.wantNone()
		s.wantLog("fence")
		s.write(s.shards[1], 2, 1) // after the iterators were made, while the fence is pending
		s.pass(200 * time.Millisecond)
		s.wantLog("2:2.1")
		if calls := s.takeCalls(); !strings.HasPrefix(calls, "describe, LATEST shard-00000") || strings.Count(calls, ",") != 2 {
			t.Errorf("calls %q", calls)
		}
		s.wantLag(0, 250*time.Millisecond)
		s.write(s.shards[0], 1, 2)
		s.pass(time.Second)
		s.wantLog("1:1.2")
		s.wantLag(0, 250*time.Millisecond)
		if got := s.cfg.Metrics.Records.Value(); got != 2 {
			t.Errorf("%d records counted", got)
		}
		s.end()
		s.wantNone()
	})
}

// TestThroughAtStart checks that Through is the time of the iterators until the first poll.
func TestThroughAtStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.holdup = 300 * time.Millisecond
		s.fail = func(operation string) error {
			if operation == "GetRecords" {
				return errors.New("no connection")
			}
			return nil
		}
		s.startAt(time.Second)
		s.wantLag(time.Second, time.Second)
	})
}

func TestStartListsAllPages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 25)
		s.shardPage = 10
		s.startAt(time.Second)
		if open := s.open(); len(open) != 25 {
			t.Errorf("follows %v", open)
		}
		if got := s.count("DescribeStream"); got != 3 {
			t.Errorf("%d calls of DescribeStream", got)
		}
		s.wantLog("fence")
	})
}

// TestStartAmongOldShards checks that a closed shard is followed only if it has no children.
func TestStartAmongOldShards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.split(s.shards[0], 1)                                                 // 3
		s.listedAfter = func() time.Duration { return 1500 * time.Millisecond } // of 4
		s.split(s.shards[1], 1)
		s.start()
		s.pass(time.Second)
		if open := s.open(); !slices.Equal(open, []string{"2", "3"}) {
			t.Errorf("follows %v", open)
		}
		s.write(s.shards[3], 4, 1)
		s.pass(4 * time.Second)
		s.wantLog("fence 4:4.1")
		if open := s.open(); !slices.Equal(open, []string{"3", "4"}) {
			t.Errorf("follows %v", open)
		}
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestStartAtLeaf checks that a closed shard that never gets children holds back Through for
// a minute, and that a child that it gets later is a gap.
func TestStartAtLeaf(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.shards[0].closed = true
		s.start()
		s.pass(50 * time.Second)
		s.wantLag(49*time.Second, 50*time.Second)
		s.pass(30 * time.Second)
		s.wantLag(0, 250*time.Millisecond)
		s.wantLog("fence")
		before := s.count("DescribeStream")
		s.pass(10 * time.Minute)
		if n := s.count("DescribeStream") - before; n > 2 {
			t.Errorf("%d calls of DescribeStream in ten minutes", n)
		}
		s.set(func() { s.add(s.shards[0].id) })
		s.pass(6 * time.Minute)
		s.wantLog("fence")
		if open := s.open(); !slices.Equal(open, []string{"2", "3"}) {
			t.Errorf("follows %v", open)
		}
	})
}

// TestStartAtOnlyLeaf checks that the last shard remains, so that its children are found soon.
func TestStartAtOnlyLeaf(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.shards[0].closed = true
		s.start()
		s.pass(2 * time.Minute)
		s.set(func() { s.add(s.shards[0].id) })
		s.write(s.shards[1], 1, 1)
		s.pass(15 * time.Second)
		s.wantLog("fence 2:1.1")
	})
}

// TestStartBeforeParentIsListed checks that a shard is followed once, if it is listed before
// its parent.
func TestStartBeforeParentIsListed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		child := s.split(s.shards[0], 1)[0]
		grandchild := s.split(child, 1)[0]
		child.listed = time.Now().Add(5 * time.Second)
		s.start()
		s.pass(4 * time.Second)
		if open := s.open(); !slices.Equal(open, []string{"1", "3"}) {
			t.Errorf("follows %v", open)
		}
		s.write(grandchild, 1, 1)
		s.pass(10 * time.Second)
		if open := s.open(); !slices.Equal(open, []string{"3"}) {
			t.Errorf("follows %v", open)
		}
		s.wantLag(0, 250*time.Millisecond)
		s.wantLog("fence 3:1.1")
	})
}

// TestStartBetweenPages checks that the descendants of a shard that is followed wait for it.
func TestStartBetweenPages(t *testing.T) {
	d := &description{status: "ENABLED", shards: []listed{
		{id: "1"}, {id: "2", parent: "1", closed: true}, {id: "3", parent: "2"}, {id: "4", parent: "0", closed: true}, {id: "5", parent: "4"},
		{id: "6", parent: "7", closed: true}, {id: "7", parent: "6", closed: true}, // an impossible circle
	}}
	f := func(want ...string) {
		t.Helper()
		var got []string
		for _, sh := range newest(d) {
			got = append(got, sh.id)
		}
		if !slices.Equal(got, want) {
			t.Errorf("newest: %v, want %v", got, want)
		}
	}
	f("1", "5")
	d.shards[4].closed = true
	f("1", "5") // 5 has no children
	d.status = "DISABLED"
	f("1")
}

func TestEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.startAt(time.Second)
		s.write(s.shards[0], 1, 1)
		s.set(func() {
			s.status = "DISABLING"
			s.shards[0].closed = true
		})
		s.pass(2 * time.Second)
		if open := s.open(); !slices.Equal(open, []string{"2"}) {
			t.Errorf("follows %v", open)
		}
		s.write(s.shards[1], 2, 1)
		s.set(func() {
			s.status = "DISABLED"
			s.shards[1].closed = true
		})
		s.pass(2 * time.Second)
		s.wantResult(ErrEnded)
		s.wantLog("fence 1:1.1 2:2.1")
		s.wantNone()

		s.start() // there is no shard to follow
		s.pass(2 * time.Second)
		s.wantResult(ErrEnded)
		s.wantLog("")
	})
}

// TestEndedWithChildren checks that the children of all shards are found in a stream that is
// disabled, although each answer has those of one shard.
func TestEndedWithChildren(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 3)
		s.latency = func() time.Duration { return 50 * time.Millisecond } // so that searches meet
		s.startAt(time.Second)
		for i, shard := range slices.Clone(s.shards) {
			child := s.split(shard, 1)[0]
			s.write(child, i, 1)
			child.closed = true
		}
		s.set(func() { s.status = "DISABLED" })
		s.pass(time.Minute)
		s.wantResult(ErrEnded)
		got := strings.Fields(s.takeLog())
		slices.Sort(got)
		if want := []string{"4:0.1", "5:1.1", "6:2.1", "fence"}; !slices.Equal(got, want) {
			t.Errorf("log %v, want %v", got, want)
		}
	})
}

func TestGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.startAt(time.Second)
		s.set(func() { s.deleted = true })
		s.pass(4 * time.Second)
		s.wantResult(ErrGone)
		s.wantNone()
		s.wantLog("fence")
		if s.f.Checkpoint() != nil {
			t.Error("there is a checkpoint")
		}
		s.start()
		s.pass(2 * time.Second)
		s.wantResult(ErrGone)
	})
}

// TestStreamWithoutShards checks that a new stream is described again until it has a shard.
func TestStreamWithoutShards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 0)
		s.status = "ENABLING"
		s.start()
		s.pass(10 * time.Second)
		s.wantNone()
		s.set(func() { s.add("") })
		s.pass(3 * time.Second)
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestStopEverywhere stops followers at any moment of their start. The bubble checks that
// their goroutines end.
func TestStopEverywhere(t *testing.T) {
	for ms := range 60 {
		bubble(t, func(t *testing.T) {
			s := newScene(t, 3)
			s.latency = func() time.Duration { return 70 * time.Millisecond }
			s.holdup = 100 * time.Millisecond
			s.set(func() { s.shards[0].closed = true })
			s.start()
			s.pass(time.Duration(ms) * 10 * time.Millisecond)
			if ms%2 == 0 {
				s.set(func() { s.expired = time.Now() })
				s.pass(time.Duration(ms) * time.Millisecond)
			}
			s.end()
			s.wantNone()
		})
	}
}

func TestResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 3)
		s.startAt(time.Second)
		for i, shard := range s.shards {
			s.write(shard, i, 1)
		}
		s.pass(time.Second)
		children := s.split(s.shards[0], 2) // 4 and 5, read from their beginning
		s.write(children[0], 4, 1)
		s.pass(5 * time.Second)
		s.end()
		s.takeLog()
		s.takeCalls()
		checkpoint := s.f.Checkpoint()
		if want := (Checkpoint{"shard-000002": {Sequence: "2"}, "shard-000003": {Sequence: "3"}, "shard-000004": {Sequence: "4"}, "shard-000005": {}}); !maps.Equal(checkpoint, want) {
			t.Fatalf("checkpoint %v, want %v", checkpoint, want)
		}
		s.write(s.shards[1], 2, 2)
		grandchildren := s.split(children[0], 1)
		s.write(grandchildren[0], 4, 2)
		s.write(children[1], 5, 1)

		s.cfg.From = checkpoint
		s.start()
		s.pass(100 * time.Millisecond)
		s.wantNone() // one of the answers was empty, which need not be the end
		s.pass(5 * time.Second)
		s.wantLag(0, 250*time.Millisecond)
		got := strings.Fields(s.takeLog())
		slices.Sort(got)
		if want := []string{"2:2.2", "5:5.1", "6:4.2"}; !slices.Equal(got, want) {
			t.Errorf("applied %v, want %v", got, want)
		}
		calls := s.takeCalls()
		for _, want := range []string{"AFTER_SEQUENCE_NUMBER shard-000002 2", "TRIM_HORIZON shard-000005", "describe shard-000004", "TRIM_HORIZON shard-000006"} {
			if !strings.Contains(calls, want) {
				t.Errorf("there is no %q in %q", want, calls)
			}
		}
	})
}

// TestResumeAtIterator checks that shards without a record are resumed while their iterators are
// valid, and with a fence afterwards.
func TestResumeAtIterator(t *testing.T) {
	f := func(pause time.Duration, want string) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s := newScene(t, 2)
			fence := s.cfg.Fence
			s.cfg.Fence = func(ctx context.Context) error {
				if c := s.f.Checkpoint(); c != nil {
					t.Errorf("checkpoint %v before the fence", c)
				}
				return fence(ctx)
			}
			s.startAt(time.Second)
			s.end()
			s.takeLog()
			s.takeCalls()
			s.cfg.From = s.f.Checkpoint()
			s.write(s.shards[0], 1, 1)
			s.write(s.shards[1], 2, 1)
			s.pass(pause)
			s.start()
			s.pass(2 * time.Second)
			s.wantLag(0, 250*time.Millisecond)
			got := strings.Fields(s.takeLog())
			slices.Sort(got)
			if got := strings.Join(slices.Compact(got), " "); got != want {
				t.Errorf("after %s: %q, want %q", pause, got, want)
			}
		})
	}
	f(0, "1:1.1 2:2.1")
	f(13*time.Minute, "1:1.1 2:2.1")
	f(16*time.Minute, "fence")
}

// TestResumeWithGap checks that a checkpoint that does not fit the stream is not used.
func TestResumeWithGap(t *testing.T) {
	f := func(name string, checkpoint Checkpoint, change func(s *scene)) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s := newScene(t, 2)
			s.write(s.shards[0], 1, 1)
			s.write(s.shards[1], 2, 1)
			s.write(s.shards[1], 2, 2)
			change(s)
			s.cfg.From = checkpoint
			s.startAt(4 * time.Second)
			if log := s.takeLog(); log != "fence" {
				t.Errorf("%s: log %q, want a fence", name, log)
			}
			listed := 0
			for _, shard := range s.shards {
				if !shard.forgotten {
					listed++
				}
			}
			if calls := s.takeCalls(); strings.Count(calls, latest) != listed {
				t.Errorf("%s: calls %q, want %d iterators at the end of shards", name, calls, listed)
			}
			s.write(s.shards[1], 2, 3)
			s.pass(time.Second)
			if log := s.takeLog(); log != "2:2.3" {
				t.Errorf("%s: log %q", name, log)
			}
		})
	}
	one, both := Checkpoint{"shard-000002": {Sequence: "2"}}, Checkpoint{"shard-000001": {Sequence: "1"}, "shard-000002": {Sequence: "2"}}
	f("a shard is not in the checkpoint", one, func(*scene) {})
	f("a shard of the checkpoint was removed", both, func(s *scene) { s.shards[0].forgotten = true })
	f("the records were trimmed", both, func(s *scene) { s.shards[1].trimmed = 2 })
	f("the checkpoint is empty", Checkpoint{}, func(*scene) {})
}

// TestResumeParentAndChild checks that a child waits for its parent.
func TestResumeParentAndChild(t *testing.T) {
	d := &description{status: "ENABLED", shards: []listed{{id: "1", closed: true}, {id: "2", parent: "1"}}}
	shards, err := resume(d, Checkpoint{"1": {Sequence: "5"}, "2": {Sequence: "6"}})
	if err != nil || len(shards) != 1 || shards[0].id != "1" || shards[0].sequence != "5" {
		t.Errorf("resumes %v, error %v", shards, err)
	}
}

// TestResumeBehind checks that empty answers do not end the search for records that follow.
func TestResumeBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.write(s.shards[0], 1, 1)
		s.write(s.shards[0], 1, 2)
		s.pass(time.Hour)
		s.emptyAnswers = emptyAnswers - 1
		s.cfg.From = Checkpoint{"shard-000001": {Sequence: "1"}}
		s.cfg.MaxLag = 20 * time.Second
		s.start()
		began := time.Now()
		for s.takeLog() == "" {
			s.wantNone()
			s.pass(50 * time.Millisecond)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the record was found after %v", took)
		}
		s.wantLag(time.Hour-2*time.Second, time.Hour+2*time.Second)
		s.pass(8 * time.Second)
		s.wantLag(0, 5*time.Second)
	})
}

// TestResumeBusy checks that a shard that always has records is polled no more often after it
// was resumed.
func TestResumeBusy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.write(s.shards[0], 1, 1)
		s.cfg.From = Checkpoint{"shard-000001": {Sequence: "1"}}
		s.cfg.MaxLag = 20 * time.Second
		s.start()
		for version := range 600 {
			s.write(s.shards[0], 1, 2+version)
			s.pass(100 * time.Millisecond)
		}
		if n := s.count("GetRecords"); n > 15 {
			t.Errorf("%d calls of GetRecords in a minute", n)
		}
		s.wantLag(0, 5*time.Second)
	})
}

// TestResumeAtOnce checks that there is no Through and no checkpoint while some shards of a
// checkpoint are unread.
func TestResumeAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.cfg.From = Checkpoint{}
		for i, shard := range s.shards {
			s.write(shard, i, 1)
			s.cfg.From[shard.id] = Place{Sequence: strconv.Itoa(shard.records[0].sequence)}
			s.write(shard, i, 2)
		}
		apply := s.cfg.Apply
		s.cfg.Apply = func(ctx context.Context, shard string, records []Record) error {
			s.wantNone()
			if got := len(s.f.Checkpoint()); got != 2 {
				t.Errorf("a checkpoint of %d shards", got)
			}
			wait(ctx, time.Second)
			return apply(ctx, shard, records)
		}
		s.start()
		s.pass(500 * time.Millisecond)
		s.wantNone()
	})
}

func TestCheckpointLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, maxCheckpoint)
		s.startAt(time.Second)
		for _, shard := range s.shards {
			s.write(shard, 1, 1)
		}
		s.pass(time.Second)
		if got := len(s.f.Checkpoint()); got != maxCheckpoint {
			t.Errorf("a checkpoint of %d shards", got)
		}
		s.split(s.shards[0], 2)
		s.pass(4 * time.Second)
		if got := s.f.Checkpoint(); got != nil {
			t.Errorf("a checkpoint of %d shards", len(got))
		}
	})
}

// TestThroughOfRecords checks how the time of records bounds Through.
func TestThroughOfRecords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		epoch := time.Now()
		second := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
		f := &Follower{epoch: epoch, cfg: Config{Metrics: Metrics{Late: newScene(t, 0).cfg.Metrics.Late}}}
		late := f.cfg.Metrics.Late
		f.set.reset()
		r := &round{f: f}
		sh := &shard{id: "1"}
		f.set.replace(nil, []*shard{sh})
		poll := func(started float64, full, end bool, records ...float64) {
			p := &page{full: full, started: second(started), next: "next"}
			if end {
				p.next = ""
			}
			for _, created := range records {
				p.records = append(p.records, Record{Created: epoch.Add(second(created))})
			}
			r.applied(sh, p)
		}
		want := func(through float64, lateRecords uint64) {
			t.Helper()
			if got := time.Duration(f.set.through.Load()); got != second(through) {
				t.Errorf("through %v, want %v s", got, through)
			}
			if late.Value() != lateRecords {
				t.Errorf("%d late records, want %d", late.Value(), lateRecords)
			}
		}
		poll(10, true, false, 1, 2)
		if got := f.set.through.Load(); got != none {
			t.Errorf("a full answer is the first: through %v", time.Duration(got))
		}
		poll(10.5, false, false, 3)
		want(4, 0)
		poll(11, true, false, 3, 5)
		want(5, 0)
		poll(12, false, false)
		want(12, 0)
		poll(12.5, false, false, 11, 12)
		want(12.5, 0)
		poll(13, false, false, 11, 12)
		want(13, 1)
		poll(14, true, false, 9)
		want(13, 2)
		poll(15, false, false, 99)
		want(15, 2)
		poll(16, false, true)
		want(15, 2)
	})
}

func TestThroughOfAll(t *testing.T) {
	var set shardSet
	set.reset()
	want := func(through int64) {
		t.Helper()
		if got := set.through.Load(); got != through {
			t.Errorf("through %d, want %d", got, through)
		}
	}
	want(none)
	a, b, c := &shard{id: "a"}, &shard{id: "b"}, &shard{id: "c"}
	set.replace(nil, []*shard{a, b})
	set.advance(a, 5)
	want(none)
	set.advance(b, 3)
	want(3)
	set.advance(b, 8)
	want(5)
	set.advance(a, 4)
	want(5)
	set.hold()
	want(none)
	set.release()
	want(5)
	set.replace(a, []*shard{c})
	want(5)
	set.advance(c, 9)
	want(8)
	set.replace(b, nil)
	want(9)
	set.replace(c, nil)
	want(none)
}

// TestThroughIsCheap checks that a reader of Through takes no lock and allocates nothing.
func TestThroughIsCheap(t *testing.T) {
	f := New(Config{})
	f.set.release()
	sh := &shard{id: "1"}
	f.set.replace(nil, []*shard{sh})
	f.set.advance(sh, time.Second)
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := f.Through(); !ok {
			t.Error("there is no Through")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRunReturnsErrorOfContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := New(s.cfg).Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run returned %v", err)
		}
	})
}
