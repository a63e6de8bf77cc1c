package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// scene is a follower of an origin, with a log of the calls of Apply and Fence.
type scene struct {
	t *testing.T
	*origin
	f      *Follower
	stop   context.CancelFunc
	result chan error
	cfg    Config

	logMu    sync.Mutex
	applied  []string // "shard:item.version", and "fence"
	applyErr error    // of the next call of Apply
	fenceErr error    // of the next call of Fence
	holdup   time.Duration
}

// bubble runs a test on a fake clock.
func bubble(t *testing.T, test func(t *testing.T)) { synctest.Test(t, test) }

func newScene(t *testing.T, shards int) *scene {
	s := &scene{t: t, origin: newOrigin(shards)}
	s.cfg = Config{Call: s.call, Stream: "arn", MaxLag: time.Second, Apply: s.apply, Fence: s.fence, Metrics: Metrics{
		Describes: telemetry.NewCounter(), Iterators: telemetry.NewCounter(), Reads: telemetry.NewCounter(), Records: telemetry.NewCounter(),
		Late: telemetry.NewCounter(), Fences: telemetry.NewCounter(), Throttles: telemetry.NewCounter(),
	}}
	return s
}

// start runs a follower until the test ends.
func (s *scene) start() {
	ctx, cancel := context.WithCancel(s.t.Context())
	f, result := New(s.cfg), make(chan error, 1)
	s.f, s.stop, s.result = f, cancel, result
	go func() { result <- f.Run(ctx) }()
	s.t.Cleanup(cancel)
}

// startAt runs a follower and waits until it has caught up.
func (s *scene) startAt(d time.Duration) {
	s.t.Helper()
	s.start()
	s.pass(d)
	if _, ok := s.f.Through(); !ok {
		s.t.Fatalf("the follower has not caught up: %v", s.f.Shards())
	}
}

// end stops the follower and waits for it.
func (s *scene) end() {
	s.stop()
	if err := <-s.result; !errors.Is(err, context.Canceled) {
		s.t.Errorf("Run returned %v", err)
	}
}

// pass lets time pass in the bubble, until all goroutines wait.
func (s *scene) pass(d time.Duration) {
	time.Sleep(d) // in a bubble
	synctest.Wait()
}

func (s *scene) apply(ctx context.Context, shard string, records []Record) error {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if err := s.applyErr; err != nil {
		s.applyErr = nil
		s.applied = append(s.applied, "failed")
		return err
	}
	for _, r := range records {
		item, version := itemOf(r)
		s.applied = append(s.applied, fmt.Sprintf("%s:%d.%d", strings.TrimLeft(shard, "shard-0"), item, version))
	}
	return nil
}

func itemOf(r Record) (item, version int) {
	if _, err := fmt.Sscanf(string(r.New), `{"pk":{"N":"%d"},"v":{"N":"%d"}`, &item, &version); err != nil {
		panic(err)
	}
	return item, version
}

func (s *scene) fence(ctx context.Context) error {
	s.logMu.Lock()
	err, holdup := s.fenceErr, s.holdup
	s.fenceErr = nil
	s.applied = append(s.applied, "fence")
	s.logMu.Unlock()
	if !wait(ctx, holdup) {
		return ctx.Err()
	}
	return err
}

// change changes the callbacks while they are in use.
func (s *scene) change(change func()) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	change()
}

// logged returns the number of entries of the log.
func (s *scene) logged() int {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	return len(s.applied)
}

// takeLog returns the log and clears it.
func (s *scene) takeLog() string {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	log := strings.Join(s.applied, " ")
	s.applied = nil
	return log
}

// takeCalls returns the origin's log and clears it.
func (s *scene) takeCalls() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := strings.Join(s.log, ", ")
	s.log = nil
	return log
}

// wantLog checks and clears the log.
func (s *scene) wantLog(want string) {
	s.t.Helper()
	if got := s.takeLog(); got != want {
		s.t.Errorf("log %q, want %q", got, want)
	}
}

// wantCalls checks and clears the origin's log.
func (s *scene) wantCalls(want string) {
	s.t.Helper()
	if got := s.takeCalls(); got != want {
		s.t.Errorf("calls %q, want %q", got, want)
	}
}

// lag returns how old Through is.
func (s *scene) lag() time.Duration {
	s.t.Helper()
	through, ok := s.f.Through()
	if !ok {
		s.t.Fatal("there is no Through")
	}
	return time.Since(through)
}

// wantLag checks how old Through is.
func (s *scene) wantLag(min, max time.Duration) {
	s.t.Helper()
	if lag := s.lag(); lag < min || lag > max {
		s.t.Errorf("Through is %v old, want %v to %v", lag, min, max)
	}
}

// wantNone checks that there is no Through.
func (s *scene) wantNone() {
	s.t.Helper()
	if through, ok := s.f.Through(); ok {
		s.t.Errorf("Through is %v, want none", through)
	}
}

// open returns the IDs of the shards that are followed.
func (s *scene) open() []string {
	var ids []string
	for _, state := range s.f.Shards() {
		ids = append(ids, strings.TrimLeft(state.ID, "shard-0"))
	}
	slices.Sort(ids)
	return ids
}

// wantResult checks that Run has returned.
func (s *scene) wantResult(want error) {
	s.t.Helper()
	select {
	case err := <-s.result:
		if !errors.Is(err, want) {
			s.t.Errorf("Run returned %v, want %v", err, want)
		}
	default:
		s.t.Errorf("Run has not returned, want %v", want)
	}
}
