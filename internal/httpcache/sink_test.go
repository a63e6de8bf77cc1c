package httpcache

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/testutil/memfs"
)

// shelved makes a store with a disk in memory, for bodies of more than 64 KiB. Its done
// closes it.
func shelved(t testing.TB, l FlightLimits) (s *engine, m *memfs.FS, done func()) {
	t.Helper()
	l.Stored.DiskFrom = 64 << 10
	m = memfs.New()
	tier, err := disk.Open("d", disk.Options{Size: 1 << 30, FS: m})
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, l)
	if err := s.OpenDisk(tier, "p", &options); err != nil {
		t.Fatal(err)
	}
	return s, m, func() { s.Close() }
}

const (
	sunkBody  = 4 << 20
	sunkPiece = 256 << 10 // as long bodies come
)

// sending is a body that goes to disk, of which a test sends piece by piece.
type sending struct {
	*source
	t    *testing.T
	s    *engine
	q    *store.Query
	body string
	sent int
}

// begin starts a fetch for a leader, who is to read all that comes.
func begin(t *testing.T, s *engine) (*sending, *client) {
	b := &sending{source: newSource(), t: t, s: s, q: get("http://h/a"), body: longBody(sunkBody)}
	leader := b.client(t, s, b.q)
	b.head(shared(b.q), sunkBody)
	return b, leader
}

// upTo sends pieces until so many bytes have come.
func (b *sending) upTo(n int) {
	for b.sent < n {
		next := min(b.sent+sunkPiece, n)
		b.send(b.body[b.sent:next])
		b.sent = next
		if held := b.s.Stats().Flying; held > 1<<20+sunkPiece {
			b.t.Fatalf("%d bytes are held", held)
		}
	}
}

// member joins the fetch and reads nothing by itself.
func (b *sending) member() *Ticket {
	b.t.Helper()
	ticket := b.s.Fly(&Ask{Query: b.q, Fill: b.fill})
	if out, err := ticket.Wait(b.t.Context()); err != nil || out.Way != Streaming || !ticket.Joined() {
		b.t.Fatalf("way %d, %v", out.Way, err)
	}
	return ticket
}

// read reads all that comes to the ticket from offset from on.
func (b *sending) read(ticket *Ticket, from int) {
	b.t.Helper()
	got, err := readAll(b.t.Context(), ticket)
	if err != nil || got != b.body[from:] {
		b.t.Errorf("%d bytes of %d, %v", len(got), len(b.body)-from, err)
	}
	ticket.Leave()
}

func bodies(m *memfs.FS) (n int) {
	for _, f := range m.Files() {
		if strings.HasSuffix(f, ".body") {
			n++
		}
	}
	return n
}

// Whoever is slow, late, or wants the middle reads from disk what memory has let go, and
// holds nobody up.
func TestSlowReadersOfTheDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := shelved(t, FlightLimits{})
		defer done()
		b, leader := begin(t, s)
		slow := b.member()
		b.upTo(2 << 20)
		late, middle, ahead := b.member(), b.member(), b.member()
		if err := middle.From(100_000); err != nil {
			t.Errorf("the middle: %v", err)
		}
		if err := ahead.From(3 << 20); err != nil {
			t.Errorf("what is still to come: %v", err)
		}
		if p, err := slow.Next(t.Context()); err != nil || !strings.HasPrefix(b.body, string(p)) || len(p) == 0 {
			t.Errorf("the slow one: %d bytes, %v", len(p), err)
		}
		if err := slow.From(0); err != nil {
			t.Errorf("back to the beginning: %v", err)
		}
		b.upTo(sunkBody)
		b.end(nil)
		leader.want(t, Streaming, b.body, true)
		b.read(slow, 0)
		b.read(late, 0)
		b.read(middle, 100_000)
		b.read(ahead, 3<<20)
		if f := s.Find(b.q); f.Object == nil || !f.Object.OnDisk() || text(f.Object) != b.body {
			t.Errorf("stored: %+v", f)
		}
		if n := s.Stats(); n.Flying != 0 || n.Behind != 0 || bodies(m) != 1 {
			t.Errorf("%+v, %d bodies", n, bodies(m))
		}
	})
}

// A body whose length nobody knows goes to disk once it is long.
func TestUnknownLengthGoesToDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := shelved(t, FlightLimits{Stored: store.Limits{MaxObject: 1 << 20}})
		defer done()
		b := &sending{source: newSource(), t: t, s: s, q: get("http://h/a"), body: longBody(sunkBody)}
		leader := b.client(t, s, b.q)
		b.head(shared(b.q), -1)
		b.upTo(40_000)
		if bodies(m) != 0 {
			t.Error("it goes there while it is short")
		}
		b.upTo(sunkBody)
		b.end(nil)
		leader.want(t, Streaming, b.body, true)
		if f := s.Find(b.q); f.Object == nil || !f.Object.OnDisk() || text(f.Object) != b.body {
			t.Errorf("stored: %+v", f)
		}
	})
}

// When the disk fails within a body nobody notices, but the body is not kept.
func TestDiskFailsWithinABody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := shelved(t, FlightLimits{})
		defer done()
		b, leader := begin(t, s)
		slow := b.member()
		b.upTo(2 << 20)
		m.Fail(func(op, _ string) error {
			if op == "write" {
				return syscall.ENOSPC
			}
			return nil
		})
		finished := make(chan struct{})
		go func() { b.read(slow, 0); close(finished) }()
		b.upTo(sunkBody)
		b.end(nil)
		<-finished
		leader.want(t, Streaming, b.body, true)
		if f := s.Find(b.q); f.Object != nil {
			t.Error("it is stored")
		}
		if n := s.Stats(); n.Flying != 0 || n.Behind != 0 || n.Undisked != 1 || bodies(m) != 0 {
			t.Errorf("%+v, left %q", n, m.Files())
		}
	})
}

// A reader that stands still after the disk has failed is cut off like any other of a body
// that is not kept.
func TestDiskFailsAndAReaderStandsStill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := shelved(t, FlightLimits{})
		defer done()
		b, leader := begin(t, s)
		slow := b.member()
		b.upTo(2 << 20)
		m.Fail(func(op, _ string) error {
			if op == "write" {
				return syscall.EIO
			}
			return nil
		})
		b.upTo(sunkBody)
		b.end(nil)
		leader.want(t, Streaming, b.body, true)
		if got, err := readAll(t.Context(), slow); !errors.Is(err, ErrBehind) || got != "" {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		slow.Leave()
		if n := s.Stats(); n.Flying != 0 || n.Behind != 1 {
			t.Errorf("%+v", n)
		}
	})
}

// What the disk does not take at all is kept in memory as far as max_object allows.
func TestDiskTakesNothing(t *testing.T) {
	for most, kept := range map[int64]bool{sunkBody: true, sunkBody - 1: false} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, m, done := shelved(t, FlightLimits{Stored: store.Limits{MaxObject: most}})
				defer done()
				m.Fail(func(op, _ string) error {
					if op == "create" {
						return syscall.EROFS
					}
					return nil
				})
				b := &sending{source: newSource(), t: t, s: s, q: get("http://h/a"), body: longBody(sunkBody)}
				leader := b.client(t, s, b.q)
				b.head(shared(b.q), sunkBody)
				for at := 0; at < sunkBody; at += sunkPiece {
					b.send(b.body[at : at+sunkPiece])
				}
				b.end(nil)
				leader.want(t, Streaming, b.body, true)
				if f := s.Find(b.q); (f.Object != nil) != kept || kept && (f.Object.OnDisk() || text(f.Object) != b.body) {
					t.Errorf("stored: %+v", f)
				}
			})
		})
	}
}

// If what is on disk can't be read while it is written, its reader is cut, and nobody
// else joins.
func TestDiskCannotBeReadWhileWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := shelved(t, FlightLimits{})
		defer done()
		b, leader := begin(t, s)
		slow := b.member()
		b.upTo(2 << 20)
		m.Fail(func(op, _ string) error {
			if op == "read" {
				return syscall.EIO
			}
			return nil
		})
		if got, err := readAll(t.Context(), slow); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		slow.Leave()
		m.Fail(nil)
		other := newSource()
		late := s.Fly(&Ask{Query: b.q, Fill: other.fill})
		synctest.Wait()
		if late.Joined() || other.asks() != 1 {
			t.Error("somebody joins")
		}
		late.Leave()
		b.upTo(sunkBody)
		b.end(nil)
		leader.want(t, Streaming, b.body, true)
		if f := s.Find(b.q); f.Object != nil {
			t.Error("it is stored")
		}
	})
}

// A body that is cut, or that nobody wants any more, leaves nothing on disk.
func TestNothingIsLeftOnDisk(t *testing.T) {
	f := func(name string, end func(*sending, *Ticket)) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, m, done := shelved(t, FlightLimits{Finish: 1})
				defer done()
				b := &sending{source: newSource(), t: t, s: s, q: get("http://h/a"), body: longBody(sunkBody)}
				ticket := s.Fly(&Ask{Query: b.q, Fill: b.fill})
				b.head(shared(b.q), sunkBody)
				b.upTo(2 << 20)
				if bodies(m) != 1 {
					t.Fatal("nothing is there")
				}
				end(b, ticket)
				synctest.Wait()
				ticket.Leave()
				synctest.Wait()
				if n := s.DiskStats(); len(m.Files()) != 0 || n.Bytes != 0 || s.Stats().Flying != 0 {
					t.Errorf("left %q, %+v, %+v", m.Files(), n, s.Stats())
				}
			})
		})
	}
	f("cut", func(b *sending, _ *Ticket) { b.end(io.ErrUnexpectedEOF) })
	f("left", func(_ *sending, ticket *Ticket) { ticket.Leave() })
	f("closed", func(b *sending, _ *Ticket) { b.s.Close() })
	f("purged", func(b *sending, _ *Ticket) {
		if err := b.s.Purge(store.Purge{All: true}); err != nil {
			b.t.Error(err)
		}
		b.upTo(sunkBody)
		b.end(nil)
	})
}
