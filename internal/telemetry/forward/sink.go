// Package forward sends access-log records to receivers of the Fluentd forward protocol.
package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/fluent"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Config describes the receivers of records.
type Config struct {
	Servers []string
	Tag     string
	Fields  []string // names from telemetry.Fields; none for all
	Options []fluent.Option

	// Spill is a directory for records that exceed memory; "" for none.
	Spill    string
	SpillMax int64

	Log *slog.Logger // logs changes of servers, and losses
}

// Sink is a telemetry.Sink that sends records to Fluentd. Log encodes into the logger's
// buffers and never waits.
//
// A sink made by Prepare keeps records in memory until Open: it replaces one that must first
// release their common directory.
type Sink struct {
	config Config
	fields telemetry.FieldSet
	events sync.Pool // of *event

	target atomic.Pointer[target] // nil before Open

	mu      sync.Mutex // leaf
	waiting []*event   // before Open
	ended   bool       // by Close before Open
	dropped atomic.Uint64
	opened  chan struct{}  // closed by Open after posting them, or by Close before Open
	logging sync.WaitGroup // the goroutine that logs events
}

// target is an open logger. It is immutable.
type target struct {
	logger *fluent.Logger
	tag    *fluent.Tag
}

// maxWaiting is the maximum number of records that wait for Open.
const maxWaiting = 16384

// New returns an open sink. It does not connect before it returns; errors concern the
// configuration and the directory.
func New(c Config) (*Sink, error) {
	s := Prepare(c)
	t, err := s.start(c.Spill)
	if err != nil {
		return nil, err
	}
	s.use(t)
	return s, nil
}

// Prepare returns a sink that sends nothing before Open.
func Prepare(c Config) *Sink {
	s := &Sink{config: c, fields: telemetry.SelectFields(c.Fields), opened: make(chan struct{})}
	s.events.New = func() any { return new(event) }
	return s
}

// Open begins to send. If the directory can't be used, it returns the error and records are
// sent nevertheless, but kept only in memory. After Close it does nothing.
func (s *Sink) Open() error {
	t, err := s.start(s.config.Spill)
	if err != nil {
		err = fmt.Errorf("records are kept in memory only: %w", err)
		var again error
		if t, again = s.start(""); again != nil {
			return errors.Join(err, again)
		}
	}
	if !s.use(t) {
		_ = t.logger.Close() // it has no records yet
	}
	return err
}

func (s *Sink) start(spill string) (*target, error) {
	// Close is bounded by its caller's context instead.
	options := append(slices.Clip(s.config.Options), fluent.WithCloseTimeout(math.MaxInt64))
	if spill != "" {
		options = append(options, fluent.WithSpill(spill, fluent.SpillOptions{MaxBytes: s.config.SpillMax}))
	}
	l, err := fluent.New(s.config.Servers, options...)
	if err != nil {
		return nil, err
	}
	events := l.Subscribe()
	s.logging.Go(func() {
		for e := range events {
			logEvent(s.config.Log, e)
		}
	})
	return &target{l, l.Tag(s.config.Tag)}, nil
}

// use sets t as the target of the waiting and later records, unless the sink has ended.
func (s *Sink) use(t *target) bool {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return false
	}
	s.target.Store(t)
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, e := range waiting {
		s.post(t, e)
	}
	close(s.opened) // only now: Close would make the logger refuse the records
	return true
}

// logEvent logs the events of interest to an operator. Failed attempts are only counted,
// because they are repeated while a server is down.
func logEvent(log *slog.Logger, e fluent.Event) {
	switch e.Kind {
	case fluent.Tripped:
		log.Warn("access log: server is down", "server", e.Server, "error", e.Err)
	case fluent.Reset:
		log.Info("access log: server is up again", "server", e.Server)
	case fluent.Dropped:
		log.Warn("access log: records were given up", "records", e.Records, "error", e.Err)
	case fluent.SpillFailed:
		log.Warn("access log: the spill directory has trouble", "records", e.Records, "error", e.Err)
	}
}

// Log posts r, or drops it when memory and disk are full.
func (s *Sink) Log(r *telemetry.Record) {
	e := s.events.Get().(*event)
	e.fill(s.fields, r)
	if t := s.target.Load(); t != nil {
		s.post(t, e)
		return
	}
	s.wait(e)
}

// post sends e and returns it to the pool.
func (s *Sink) post(t *target, e *event) {
	// The logger counts refused records.
	_ = t.tag.PostWithTime(e.time, &e.record)
	if cap(e.text) <= maxText {
		s.events.Put(e)
	}
}

// wait keeps e until Open.
func (s *Sink) wait(e *event) {
	s.mu.Lock()
	if t := s.target.Load(); t != nil {
		s.mu.Unlock()
		s.post(t, e)
		return
	}
	defer s.mu.Unlock()
	if s.ended || len(s.waiting) >= maxWaiting {
		s.dropped.Add(1)
		return
	}
	s.waiting = append(s.waiting, e)
}

// Close sends the pending records until ctx ends. The rest is kept in the directory; without
// one it is lost, counted and reported by the error. If Open is running, Close waits for it.
func (s *Sink) Close(ctx context.Context) error {
	select {
	case <-s.opened:
	case <-ctx.Done():
		if err := s.giveUp(ctx); err != nil {
			return err
		}
		<-s.opened // now or soon
	}
	t := s.target.Load()
	if t == nil {
		return nil
	}
	// With a directory, Close does not wait for a server that is down; Shutdown ends it with
	// ctx.
	cut := context.AfterFunc(ctx, func() { _ = t.logger.Shutdown(ctx) })
	err := t.logger.Close()
	cut()
	s.logging.Wait()
	var unsent *fluent.UnsentError
	if errors.As(err, &unsent) && unsent.Records == unsent.Spooled {
		return nil
	}
	return err
}

// giveUp ends a sink that was not opened in time.
func (s *Sink) giveUp(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.target.Load() != nil {
		return nil
	}
	s.ended = true
	close(s.opened)
	n := len(s.waiting)
	s.waiting = nil
	s.dropped.Add(uint64(n))
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d records dropped: %w", n, context.Cause(ctx))
}

// Stats returns the counters since the sink was made. Records that an earlier process left
// in the directory count as written once they are sent.
func (s *Sink) Stats() telemetry.LogStats {
	s.mu.Lock()
	stats := telemetry.LogStats{Dropped: s.dropped.Load(), Pending: len(s.waiting)}
	s.mu.Unlock()
	t := s.target.Load()
	if t == nil {
		return stats
	}
	l := t.logger.Stats()
	stats.Add(telemetry.LogStats{
		Written: l.Delivered,
		Dropped: l.RefusedFull + l.RefusedClosed + l.DroppedOldest,
		Failed:  l.Unsent + l.RefusedInvalid,
		Pending: l.Pending, Spilled: l.Spooled, SpillBytes: l.SpooledBytes,
		Trouble: trouble(l.Servers),
	})
	return stats
}

func trouble(servers []fluent.ServerStats) string {
	var b strings.Builder
	for _, s := range servers {
		if s.State == fluent.Closed {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s.Server)
		b.WriteString(" is down")
		if s.LastError != nil {
			fmt.Fprintf(&b, ": %v", s.LastError)
		}
	}
	return b.String()
}
