package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// counting is a sink that counts records.
type counting struct {
	telemetry.Sink
	mu sync.Mutex
	n  int
}

func (c *counting) Log(*telemetry.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func open(t *testing.T, l *Log, filter string) *Reader {
	t.Helper()
	f, err := Parse(filter)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each reader gets the records that its filter selects, while it is open, and the next sink all.
func TestReaders(t *testing.T) {
	var l Log
	next := &counting{Sink: telemetry.Discard()}
	sink := l.Tap(next)
	sink.Log(&telemetry.Record{Service: "early"})
	a, b := open(t, &l, "service=a"), open(t, &l, "")
	sink.Log(&telemetry.Record{Service: "a"})
	sink.Log(&telemetry.Record{Service: "b"})
	services := func(r *Reader) (list []string) {
		lines, lost, err := r.Next(t.Context())
		if err != nil || lost != 0 {
			t.Errorf("%d lost, %v", lost, err)
		}
		for line := range bytes.Lines(lines) {
			_, after, _ := strings.Cut(string(line), `"service":"`)
			name, _, _ := strings.Cut(after, `"`)
			list = append(list, name)
		}
		return list
	}
	if got := fmt.Sprint(services(a), services(b)); got != "[a] [a b]" {
		t.Errorf("got %s", got)
	}
	a.Close()
	sink.Log(&telemetry.Record{Service: "a"})
	if got := fmt.Sprint(services(b)); got != "[a]" {
		t.Errorf("got %s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := a.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a closed reader got %v", err)
	}
	b.Close()
	b.Close()
	if l.readers.Load() != nil || next.n != 4 {
		t.Errorf("readers are left, or %d records of 4", next.n)
	}
}

// A reader that does not read loses the newest records, and gets their number.
func TestSlowReader(t *testing.T) {
	var l Log
	sink := l.Tap(telemetry.Discard())
	r := open(t, &l, "")
	record := &telemetry.Record{Path: bytes.Repeat([]byte("x"), 10_000)}
	const records = 200
	for range records {
		sink.Log(record)
	}
	lines, lost, err := r.Next(t.Context())
	if got := bytes.Count(lines, []byte("\n")); err != nil || lost == 0 || got+int(lost) != records || len(lines) > maxPending+20_000 {
		t.Errorf("%d lines, %d lost, %d bytes, %v", got, lost, len(lines), err)
	}
	sink.Log(record)
	if lines, lost, err := r.Next(t.Context()); bytes.Count(lines, []byte("\n")) != 1 || lost != 0 || err != nil {
		t.Errorf("afterwards %d bytes, %d lost, %v", len(lines), lost, err)
	}
}

func TestMaxReaders(t *testing.T) {
	var l Log
	var last *Reader
	for range MaxReaders {
		last = open(t, &l, "")
	}
	if _, err := l.Open(&Filter{}); !errors.Is(err, ErrReaders) {
		t.Errorf("got %v", err)
	}
	last.Close()
	open(t, &l, "")
}

// Records are made in many goroutines while readers are opened and closed: none is lost or torn.
func TestConcurrentReaders(t *testing.T) {
	var l Log
	sink := l.Tap(telemetry.Discard())
	all := open(t, &l, "")
	var writers, others sync.WaitGroup
	const perWriter = 500
	for range 4 {
		writers.Go(func() {
			for range perWriter {
				sink.Log(&telemetry.Record{Service: "a", Path: []byte("/p")})
			}
		})
		others.Go(func() {
			for range 50 {
				f := &Filter{}
				if r, err := l.Open(f); err == nil {
					r.Close()
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		writers.Wait()
		close(done)
	}()
	n := 0
	count := func(ctx context.Context) bool {
		lines, lost, err := all.Next(ctx)
		for line := range bytes.Lines(lines) {
			if n++; !bytes.HasPrefix(line, []byte(`{"time"`)) || !bytes.HasSuffix(line, []byte("}\n")) {
				t.Errorf("got %q", line)
			}
		}
		n += int(lost)
		return err == nil
	}
	for n < 4*perWriter && count(t.Context()) {
	}
	<-done
	others.Wait()
	if n != 4*perWriter {
		t.Errorf("got %d records", n)
	}
}

// Without readers, a record costs no allocation.
func TestTapAllocates(t *testing.T) {
	var l Log
	sink, r := l.Tap(telemetry.Discard()), sample()
	if n := testing.AllocsPerRun(100, func() { sink.Log(r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
