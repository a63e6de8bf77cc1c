package streams

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestIntervals checks the pauses between the polls of an idle shard.
func TestIntervals(t *testing.T) {
	f := func(maxLag, want time.Duration) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s := newScene(t, 1)
			s.cfg.MaxLag = maxLag
			s.start()
			s.pass(time.Minute)
			times := s.readTime["shard-000001"]
			for i := range times[1:] {
				if got := times[i+1].Sub(times[i]); got != want {
					t.Fatalf("MaxLag %v: polls %v apart, want %v", maxLag, got, want)
				}
			}
		})
	}
	f(0, 200*time.Millisecond)
	f(time.Second, 250*time.Millisecond)
	f(10*time.Second, 2500*time.Millisecond)
	f(time.Hour, 5*time.Second)
}

// TestFullAnswers checks that a shard with many records is read with five calls a second.
func TestFullAnswers(t *testing.T) {
	f := func(records, padding, calls int) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s := newScene(t, 1)
			s.cfg.MaxLag = time.Minute
			s.startAt(10*time.Second + time.Millisecond)
			began := time.Now()
			s.set(func() {
				for i := range records {
					s.append(s.shards[0], originRecord{item: 1, version: i, padding: padding})
				}
			})
			for s.logged() < 1+records {
				s.pass(10 * time.Millisecond)
				if time.Since(began) > time.Minute {
					t.Fatalf("%d records applied", s.logged())
				}
			}
			var read []time.Time
			for _, at := range s.readTime["shard-000001"] {
				if at.After(began) {
					read = append(read, at)
				}
			}
			if len(read) != calls {
				t.Errorf("%d calls, want %d", len(read), calls)
			}
			for i := range read[1:] {
				if got := read[i+1].Sub(read[i]); got != minInterval {
					t.Errorf("calls %v apart", got)
				}
			}
		})
	}
	f(2500, 0, 3)
	f(20, 100_000, 2)
}

// TestThrottles checks the pauses after errors, and that the shard is read on from its place.
func TestThrottles(t *testing.T) {
	for _, kind := range append(throttles, "InternalServerError") {
		bubble(t, func(t *testing.T) {
			s := newScene(t, 1)
			s.startAt(time.Second)
			s.takeLog()
			s.takeCalls()
			from := s.count("GetRecords")
			s.set(func() { s.fail = func(string) error { return &Error{Type: kind} } })
			s.write(s.shards[0], 1, 1)
			s.pass(20 * time.Second)
			if n := s.count("GetRecords") - from; n < 9 || n > 16 {
				t.Errorf("%s: %d calls in 20 s", kind, n)
			}
			if err := s.f.Shards()[0].Err; errorType(err) != kind {
				t.Errorf("%s: the state of the shard has the error %v", kind, err)
			}
			s.wantLag(20*time.Second, 20*time.Second+250*time.Millisecond)
			s.set(func() { s.fail = nil })
			s.pass(4 * time.Second)
			s.wantLog("1:1.1")
			s.wantCalls("")
			s.wantLag(0, 250*time.Millisecond)
			if err := s.f.Shards()[0].Err; err != nil {
				t.Errorf("%s: the state of the shard has the error %v", kind, err)
			}
			if got := s.cfg.Metrics.Throttles.Value(); got == 0 != (kind == "InternalServerError") {
				t.Errorf("%s: %d throttles counted", kind, got)
			}
		})
	}
}

// TestFailuresAtStart checks that each call of the start is repeated.
func TestFailuresAtStart(t *testing.T) {
	for _, operation := range []string{"DescribeStream", "GetShardIterator", "GetRecords"} {
		for _, kind := range []string{"ThrottlingException", "InternalServerError"} {
			bubble(t, func(t *testing.T) {
				s := newScene(t, 2)
				var log strings.Builder
				s.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
				failures := 0
				s.fail = func(op string) error {
					if op == operation && failures < 5 {
						failures++
						return &Error{Type: kind}
					}
					return nil
				}
				fences := "fence"
				if isThrottle(&Error{Type: kind}) {
					s.fenceErr, fences = errors.New("busy"), "fence fence"
				}
				s.startAt(20 * time.Second)
				s.wantLog(fences)
				s.end()
				if warned := strings.Contains(log.String(), "can't be"); warned != (kind == "InternalServerError") {
					t.Errorf("log: %s", log.String())
				}
			})
		}
	}
}

func TestExpiredIterator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 3)
		s.startAt(time.Second)
		s.write(s.shards[1], 2, 1)
		s.split(s.shards[2], 1) // 4, read from its beginning
		s.pass(3 * time.Second)
		s.wantLog("fence 2:2.1")
		s.takeCalls()
		s.set(func() { s.expired = time.Now().Add(time.Nanosecond) })
		s.change(func() { s.holdup = time.Second })
		s.write(s.shards[0], 1, 1) // is before the new iterator
		s.pass(700 * time.Millisecond)
		s.wantNone()
		s.write(s.shards[0], 1, 2)
		s.write(s.shards[1], 2, 2)
		s.write(s.shards[3], 4, 1)
		s.pass(3 * time.Second)
		log := " " + s.takeLog() + " "
		for _, want := range []string{" fence ", " 1:1.2 ", " 2:2.2 ", " 4:4.1 "} {
			if strings.Count(log, want) != 1 {
				t.Errorf("there is not one%sin %q", want, log)
			}
		}
		calls := s.takeCalls()
		for _, want := range []string{"LATEST shard-000001", "AFTER_SEQUENCE_NUMBER shard-000002 1", "TRIM_HORIZON shard-000004"} {
			if strings.Count(calls, want) != 1 {
				t.Errorf("there is not one %q in %q", want, calls)
			}
		}
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestShardIsRemoved checks that a shard that loses its place and is removed is a gap.
func TestShardIsRemoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.startAt(time.Second)
		s.takeLog()
		s.set(func() {
			s.fail = func(operation string) error {
				if operation == "GetShardIterator" {
					return errors.New("no connection")
				}
				return nil
			}
			s.expired = time.Now().Add(time.Nanosecond)
		})
		s.pass(5 * time.Second)
		s.wantNone()
		s.set(func() {
			s.fail, s.shards[0].forgotten = nil, true
		})
		s.pass(10 * time.Second)
		if log := s.takeLog(); log != "fence" && log != "fence fence" { // of the other shard
			t.Errorf("log %q", log)
		}
		s.wantLag(0, 250*time.Millisecond)
		if open := s.open(); len(open) != 1 {
			t.Errorf("follows %v", open)
		}
	})
}

// TestSharedFence checks that many shards that lose their place share few fences.
func TestSharedFence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 100)
		s.holdup = time.Second
		s.startAt(3 * time.Second)
		s.set(func() { s.expired = time.Now().Add(time.Nanosecond) })
		s.pass(4 * time.Second)
		s.wantLog("fence fence fence") // one at the start
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestOldIterator checks that an iterator is not used after 14 minutes of failures.
func TestOldIterator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.startAt(time.Second)
		s.write(s.shards[0], 1, 1)
		s.pass(time.Second)
		s.takeCalls()
		for range 2 {
			s.set(func() { s.fail = func(string) error { return errors.New("no connection") } })
			s.pass(13 * time.Minute)
			s.set(func() { s.fail = nil })
			s.pass(5 * time.Second)
			s.wantCalls("")
		}
		s.set(func() {
			s.fail = func(string) error { return errors.New("no connection") }
		})
		s.pass(14*time.Minute + 10*time.Second)
		s.set(func() { s.fail = nil })
		s.pass(5 * time.Second)
		s.wantCalls("AFTER_SEQUENCE_NUMBER shard-000001 1")
		s.wantLog("fence 1:1.1")
	})
}

func TestTrimmed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 2)
		s.startAt(time.Second)
		s.write(s.shards[0], 1, 1)
		s.pass(time.Second)
		s.takeLog()
		s.takeCalls()
		s.set(func() {
			s.append(s.shards[0], originRecord{item: 1, version: 2})
			s.append(s.shards[0], originRecord{item: 1, version: 3})
			s.shards[0].trimmed = 2
		})
		s.write(s.shards[1], 2, 1)
		s.pass(2 * time.Second)
		s.wantCalls("LATEST shard-000001")
		if log := s.takeLog(); log != "fence 2:2.1" && log != "2:2.1 fence" {
			t.Errorf("log %q", log)
		}
		if got := s.f.Checkpoint()["shard-000001"]; got.Iterator == "" || got.Sequence != "" {
			t.Errorf("the checkpoint has %v", got)
		}
		s.write(s.shards[0], 1, 4)
		s.pass(time.Second)
		s.wantLog("1:1.4")
		if got := s.f.Checkpoint(); len(got) != 2 {
			t.Errorf("checkpoint %v", got)
		}
	})
}

// TestApplyAgain checks that the records of a failed call are applied again, without another
// call of the origin, and that Through waits for them.
func TestApplyAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		s.startAt(5 * time.Second)
		s.takeLog()
		s.write(s.shards[0], 1, 1)
		s.change(func() { s.applyErr = errors.New("busy") })
		s.pass(250 * time.Millisecond)
		s.wantLog("failed")
		s.wantLag(250*time.Millisecond, 500*time.Millisecond)
		before := s.count("GetRecords")
		s.pass(400 * time.Millisecond)
		s.wantLog("1:1.1")
		if n := s.count("GetRecords") - before; n > 1 {
			t.Errorf("%d calls of GetRecords", n)
		}
		s.pass(time.Second)
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestSlowAnswers checks that Through is the time when a call began, and that calls time out.
func TestSlowAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		delay := 3 * time.Second
		s.latency = func() time.Duration { return delay }
		s.startAt(30 * time.Second)
		for range 50 {
			s.wantLag(3*time.Second, 6*time.Second)
			s.pass(100 * time.Millisecond)
		}
		s.set(func() { delay = time.Hour })
		s.pass(20 * time.Second)
		if err := s.f.Shards()[0].Err; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the state of the shard has the error %v", err)
		}
		s.set(func() { delay = 0 })
		s.pass(20 * time.Second)
		s.wantLag(0, 250*time.Millisecond)
	})
}

// TestInvalidAnswers checks that an answer that can't be parsed is not applied and that the
// shard is read on from the same place.
func TestInvalidAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newScene(t, 1)
		var broken atomic.Bool
		call := s.cfg.Call
		s.cfg.Call = func(ctx context.Context, operation string, body []byte) ([]byte, error) {
			answer, err := call(ctx, operation, body)
			if broken.Load() && err == nil {
				answer = answer[:len(answer)-1]
			}
			return answer, err
		}
		s.startAt(time.Second)
		broken.Store(true)
		s.write(s.shards[0], 1, 1)
		s.pass(3 * time.Second)
		s.wantLag(3*time.Second, 3500*time.Millisecond)
		broken.Store(false)
		s.pass(3 * time.Second)
		s.wantLog("fence 1:1.1")
		s.wantLag(0, 250*time.Millisecond)
	})
}

func TestBackoff(t *testing.T) {
	var failures backoff
	for _, base := range []time.Duration{250, 500, 1000, 2000, 2000, 2000} {
		base *= time.Millisecond
		if got := failures.next(); got < base*3/4 || got > base*5/4 {
			t.Errorf("a pause of %v, want about %v", got, base)
		}
	}
}
