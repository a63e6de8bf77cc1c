package flight

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// flightModel is one URL with an origin that the test controls, and its readers.
type flightModel struct {
	s       *engine
	running *modelBody // of the running flight, nil if there is none
	source  *source    // its origin
	readers []*modelReader
	serial  int
}

// modelReader is a waiter with the bytes that it should get.
type modelReader struct {
	waiter *Waiter
	flight *modelBody
	offset int
}

// modelBody is the expected result of a flight.
type modelBody struct {
	sent   string
	headed bool
	end    error // io.EOF, or the error that breaks it off
}

var errModel = errors.New("the origin failed")

func (m *flightModel) Join(t *rapid.T) {
	src := newSource()
	waiter := m.s.Join(&Request{Query: get(url), Seen: m.s.Find(get(url)).Object, Fill: src.fill})
	synctest.Wait()
	if asked := src.asks() == 1; asked != (m.running == nil) {
		t.Fatalf("the origin was asked: %v, although a flight is running: %v", asked, m.running != nil)
	}
	if m.running == nil {
		m.running, m.source = &modelBody{}, src
	}
	m.readers = append(m.readers, &modelReader{waiter: waiter, flight: m.running})
}

func (m *flightModel) Leave(t *rapid.T) {
	if len(m.readers) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.readers)-1).Draw(t, "reader")
	m.readers[i].waiter.Leave()
	m.readers = slices.Delete(m.readers, i, i+1)
	synctest.Wait()
}

func (m *flightModel) Head(t *rapid.T) {
	if m.running == nil || m.running.headed {
		return
	}
	m.running.headed = true
	m.source.head(shared(get(url)), -1)
}

func (m *flightModel) Send(t *rapid.T) {
	if m.running == nil || !m.running.headed {
		return
	}
	n := rapid.SampledFrom([]int{1, 3, smallestChunk - 1, smallestChunk, largestChunk + 1}).Draw(t, "bytes")
	m.serial++
	b := strings.Repeat(string(rune('a'+m.serial%26)), n)
	m.source.send(b)
	m.running.sent += b
}

func (m *flightModel) End(t *rapid.T) {
	if m.running == nil {
		return
	}
	end := rapid.SampledFrom([]error{io.EOF, errModel}).Draw(t, "end")
	switch {
	case !m.running.headed:
		end = errModel
		m.source.fail(errModel)
	case end == io.EOF:
		m.source.end(nil)
	default:
		m.source.end(errModel)
	}
	m.running.end = end
	f := m.s.Find(get(url))
	if end == io.EOF && (f.Object == nil || text(f.Object) != m.running.sent) {
		t.Fatal("the body is not stored")
	}
	m.running, m.source = nil, nil
}

// Read reads once. It stops waiting for bytes that have not arrived.
func (m *flightModel) Read(t *rapid.T) {
	if len(m.readers) == 0 {
		return
	}
	r := rapid.SampledFrom(m.readers).Draw(t, "reader")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !r.head(t, ctx, cancel) {
		return
	}
	var got []byte
	var err error
	done := make(chan struct{})
	go func() { got, err = r.waiter.Next(ctx); close(done) }()
	synctest.Wait()
	cancel()
	<-done
	left := ""
	if r.offset < len(r.flight.sent) {
		left = r.flight.sent[r.offset:]
	}
	switch {
	case left != "":
		if err != nil || len(got) == 0 || !strings.HasPrefix(left, string(got)) {
			t.Fatalf("got %d bytes, %v; want a prefix of the %d unread bytes", len(got), err, len(left))
		}
		r.offset += len(got)
	case r.flight.end != nil && err != r.flight.end, r.flight.end == nil && err != context.Canceled:
		t.Fatalf("got %d bytes, %v; the flight ended with %v", len(got), err, r.flight.end)
	}
}

// head waits for the head and reports whether there is something to read.
func (r *modelReader) head(t *rapid.T, ctx context.Context, cancel func()) bool {
	var out Outcome
	var err error
	done := make(chan struct{})
	go func() { out, err = r.waiter.Wait(ctx); close(done) }()
	synctest.Wait()
	if !r.flight.headed {
		cancel()
		<-done
		if want := r.flight.end; want == nil && err != context.Canceled || want != nil && err != want {
			t.Fatalf("waiting for the head returned %v; the flight ended with %v", err, want)
		}
		return false
	}
	<-done
	if whole := r.flight.end == io.EOF; err != nil || (out.Kind == Whole) != whole {
		t.Fatalf("the outcome is %d, %v; the flight ended with %v", out.Kind, err, r.flight.end)
	}
	return true
}

func (m *flightModel) From(t *rapid.T) {
	if len(m.readers) == 0 {
		return
	}
	r := rapid.SampledFrom(m.readers).Draw(t, "reader")
	offset := rapid.IntRange(0, len(r.flight.sent)).Draw(t, "offset")
	if err := r.waiter.StartAt(int64(offset)); err != nil {
		t.Fatal(err)
	}
	r.offset = offset
}

func (m *flightModel) Drop(t *rapid.T) {
	if o := m.s.Find(get(url)).Object; o != nil {
		m.s.Drop(get(url).Key, o)
	}
}

// remaining returns the minimum of the bytes in flight: bodies that are no longer stored and
// whose readers have not left.
func (m *flightModel) remaining() (least int64) {
	stored := m.s.Find(get(url)).Object
	seen := map[*modelBody]bool{}
	for _, r := range m.readers {
		b := r.flight
		if b.end == nil || seen[b] || len(b.sent) <= store.MaxCopied || stored != nil && text(stored) == b.sent {
			continue
		}
		seen[b] = true
		least += int64(len(b.sent))
	}
	return least
}

// Check is run after every step.
func (m *flightModel) Check(t *rapid.T) {
	running := int64(0)
	if m.running != nil {
		running = 1
	}
	st := m.s.Stats()
	if least := m.remaining(); st.InFlight < least || len(m.readers) == 0 && st.InFlight != 0 {
		t.Fatalf("%d bytes are counted for %d readers; want at least %d", st.InFlight, len(m.readers), least)
	}
	if st.Running != running || running == 0 && st.Held != 0 {
		t.Fatalf("%d flights run and hold %d bytes, want %d flights", st.Running, st.Held, running)
	}
}

// TestFlightModel runs random sequences of joining, reading, leaving, bytes and
// failures against a model of each reader's bytes.
func TestFlightModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			s, done := openIn(t)
			defer done()
			m := &flightModel{s: s}
			t.Repeat(rapid.StateMachineActions(m))
			for _, r := range m.readers {
				r.waiter.Leave()
			}
			if m.running == nil && s.Stats().InFlight != 0 {
				t.Fatalf("%d bytes are counted without a reader", s.Stats().InFlight)
			}
		})
	})
}

// openIn is open for rapid; done closes the engine.
func openIn(t *rapid.T) (s *engine, done func()) {
	c, err := cache.New(cache.Config{Memory: 64 << 20, Generations: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	s = newEngine(space, Limits{})
	return s, func() { s.Close(); c.Close() }
}
