package httpcache

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// flightModel is one URL whose origin a test plays, and those who want it.
type flightModel struct {
	s       *engine
	now     *modelBody // the flight under way, nil if there is none
	source  *source    // its origin
	readers []*modelReader
	serial  int
}

// modelReader is a ticket with what it should get.
type modelReader struct {
	ticket *Ticket
	flight *modelBody
	offset int
}

// modelBody is what a flight has come to.
type modelBody struct {
	sent   string
	headed bool
	end    error // io.EOF, or why the rest is missing
}

var errModel = errors.New("the origin failed")

func (m *flightModel) Join(t *rapid.T) {
	src := newSource()
	ticket := m.s.Fly(&Ask{Query: get(url), Seen: m.s.Find(get(url)).Object, Fill: src.fill})
	synctest.Wait()
	if asked := src.asks() == 1; asked != (m.now == nil) {
		t.Fatalf("the origin was asked %v; a flight is under way: %v", asked, m.now != nil)
	}
	if m.now == nil {
		m.now, m.source = &modelBody{}, src
	}
	m.readers = append(m.readers, &modelReader{ticket: ticket, flight: m.now})
}

func (m *flightModel) Leave(t *rapid.T) {
	if len(m.readers) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.readers)-1).Draw(t, "who")
	m.readers[i].ticket.Leave()
	m.readers = slices.Delete(m.readers, i, i+1)
	synctest.Wait()
}

func (m *flightModel) Head(t *rapid.T) {
	if m.now == nil || m.now.headed {
		return
	}
	m.now.headed = true
	m.source.head(shared(get(url)), -1)
}

func (m *flightModel) Send(t *rapid.T) {
	if m.now == nil || !m.now.headed {
		return
	}
	n := rapid.SampledFrom([]int{1, 3, smallestChunk - 1, smallestChunk, largestChunk + 1}).Draw(t, "bytes")
	m.serial++
	b := strings.Repeat(string(rune('a'+m.serial%26)), n)
	m.source.send(b)
	m.now.sent += b
}

func (m *flightModel) End(t *rapid.T) {
	if m.now == nil {
		return
	}
	end := rapid.SampledFrom([]error{io.EOF, errModel}).Draw(t, "end")
	switch {
	case !m.now.headed:
		end = errModel
		m.source.fail(errModel)
	case end == io.EOF:
		m.source.end(nil)
	default:
		m.source.end(errModel)
	}
	m.now.end = end
	f := m.s.Find(get(url))
	if end == io.EOF && (f.Object == nil || text(f.Object) != m.now.sent) {
		t.Fatalf("what came is not stored")
	}
	m.now, m.source = nil, nil
}

// Read reads once; what is not there is waited for until the reader gives up.
func (m *flightModel) Read(t *rapid.T) {
	if len(m.readers) == 0 {
		return
	}
	r := rapid.SampledFrom(m.readers).Draw(t, "who")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !r.head(t, ctx, cancel) {
		return
	}
	var got []byte
	var err error
	done := make(chan struct{})
	go func() { got, err = r.ticket.Next(ctx); close(done) }()
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
			t.Fatalf("got %d bytes, %v; %d are there", len(got), err, len(left))
		}
		r.offset += len(got)
	case r.flight.end != nil && err != r.flight.end, r.flight.end == nil && err != context.Canceled:
		t.Fatalf("got %d bytes, %v; the flight came to %v", len(got), err, r.flight.end)
	}
}

// head waits for the head, and tells whether there is something to read.
func (r *modelReader) head(t *rapid.T, ctx context.Context, cancel func()) bool {
	var out Outcome
	var err error
	done := make(chan struct{})
	go func() { out, err = r.ticket.Wait(ctx); close(done) }()
	synctest.Wait()
	if !r.flight.headed {
		cancel()
		<-done
		if want := r.flight.end; want == nil && err != context.Canceled || want != nil && err != want {
			t.Fatalf("waiting for the head came to %v; the flight to %v", err, want)
		}
		return false
	}
	<-done
	if whole := r.flight.end == io.EOF; err != nil || (out.Way == Whole) != whole {
		t.Fatalf("the head came to %d, %v; the flight to %v", out.Way, err, r.flight.end)
	}
	return true
}

func (m *flightModel) From(t *rapid.T) {
	if len(m.readers) == 0 {
		return
	}
	r := rapid.SampledFrom(m.readers).Draw(t, "who")
	offset := rapid.IntRange(0, len(r.flight.sent)).Draw(t, "offset")
	if err := r.ticket.From(int64(offset)); err != nil {
		t.Fatal(err)
	}
	r.offset = offset
}

func (m *flightModel) Drop(t *rapid.T) {
	if o := m.s.Find(get(url)).Object; o != nil {
		m.s.Drop(get(url).Key, o)
	}
}

// BodiesInFlight is at least how much is lent: what has been read by nobody but those who have not
// left, and is stored no more.
func (m *flightModel) lent() (least int64) {
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
	if m.now != nil {
		running = 1
	}
	st := m.s.Stats()
	if least := m.lent(); st.Lent < least || len(m.readers) == 0 && st.Lent != 0 {
		t.Fatalf("%d bytes are lent to %d readers; want at least %d", st.Lent, len(m.readers), least)
	}
	if st.Running != running || running == 0 && st.Flying != 0 {
		t.Fatalf("%d flights run and hold %d bytes; want %d", st.Running, st.Flying, running)
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
				r.ticket.Leave()
			}
			if m.now == nil && s.Stats().Lent != 0 {
				t.Fatalf("%d bytes are lent to nobody", s.Stats().Lent)
			}
		})
	})
}
