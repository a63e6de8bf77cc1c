package flight

import (
	"context"
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

// openWithDisk opens a store with a disk in memory, for bodies longer than 64 KiB. done
// closes the store.
func openWithDisk(t testing.TB, l Limits, stored store.Limits) (s *engine, m *memfs.FS, done func()) {
	t.Helper()
	stored.DiskFrom = 64 << 10
	m = memfs.New()
	tier, err := disk.Open("d", disk.Options{Size: 1 << 30, FS: m})
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, l, stored)
	if err := s.OpenDisk(tier, "p", &options); err != nil {
		t.Fatal(err)
	}
	return s, m, func() { s.Close() }
}

const (
	spilledBody  = 4 << 20
	spilledPiece = 256 << 10 // as long bodies arrive
)

// sending is a body that is spilled to disk, supplied piece by piece.
type sending struct {
	*source
	t    *testing.T
	s    *engine
	q    *store.Query
	body string
	sent int
}

// begin starts a flight with a client that reads all of it.
func begin(t *testing.T, s *engine) (*sending, *client) {
	b := &sending{source: newSource(), t: t, s: s, q: get("http://h/a"), body: longBody(spilledBody)}
	leader := b.client(t, s, b.q)
	b.head(shared(b.q), spilledBody)
	return b, leader
}

// upTo sends pieces until n bytes have arrived.
func (b *sending) upTo(n int) {
	for b.sent < n {
		next := min(b.sent+spilledPiece, n)
		b.send(b.body[b.sent:next])
		b.sent = next
		if held := b.s.Stats().Held; held > 1<<20+spilledPiece {
			b.t.Fatalf("%d bytes are held in memory, want at most %d", held, 1<<20+spilledPiece)
		}
	}
}

// member joins the flight and reads nothing by itself.
func (b *sending) member() *Waiter {
	b.t.Helper()
	waiter := b.s.Join(&Request{Query: b.q, Fill: b.fill})
	if out, err := waiter.Wait(b.t.Context()); err != nil || out.Kind != Streaming || !waiter.Joined() {
		b.t.Fatalf("got the kind %d, %v; want to join the stream", out.Kind, err)
	}
	return waiter
}

// read reads all bytes from offset from on.
func (b *sending) read(waiter *Waiter, from int) {
	b.t.Helper()
	got, err := readAll(b.t.Context(), waiter)
	if err != nil || got != b.body[from:] {
		b.t.Errorf("got %d bytes of %d, %v", len(got), len(b.body)-from, err)
	}
	waiter.Leave()
}

// bodies returns the number of bodies on disk.
func bodies(m *memfs.FS) (n int) {
	for _, f := range m.Files() {
		if strings.HasSuffix(f, ".body") {
			n++
		}
	}
	return n
}

// Members that are slow or late, or read a range, read the bytes from disk that were dropped
// from memory, and do not delay the others.
func TestSlowReadersReadFromDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := openWithDisk(t, Limits{}, store.Limits{})
		defer done()
		b, leader := begin(t, s)
		slow := b.member()
		b.upTo(2 << 20)
		late, middle, ahead := b.member(), b.member(), b.member()
		if err := middle.StartAt(100_000); err != nil {
			t.Errorf("starting at bytes on disk: %v", err)
		}
		if err := ahead.StartAt(3 << 20); err != nil {
			t.Errorf("starting at bytes that have not arrived: %v", err)
		}
		if p, err := slow.Next(t.Context()); err != nil || !strings.HasPrefix(b.body, string(p)) || len(p) == 0 {
			t.Errorf("the slow reader got %d bytes, %v", len(p), err)
		}
		if err := slow.StartAt(0); err != nil {
			t.Errorf("starting at 0 again: %v", err)
		}
		b.upTo(spilledBody)
		b.end(nil)
		leader.want(t, Streaming, b.body, true)
		b.read(slow, 0)
		b.read(late, 0)
		b.read(middle, 100_000)
		b.read(ahead, 3<<20)
		if f := s.Find(b.q); f.Object == nil || !f.Object.OnDisk() || text(f.Object) != b.body {
			t.Errorf("found %+v", f)
		}
		if n := s.Stats(); n.Held != 0 || n.Behind != 0 || bodies(m) != 1 {
			t.Errorf("got %+v and %d bodies on disk, want one", n, bodies(m))
		}
	})
}

// A body of unknown length is spilled once it is long.
func TestUnknownLengthIsSpilled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := openWithDisk(t, Limits{}, store.Limits{MaxObject: 1 << 20})
		defer done()
		b := &sending{source: newSource(), t: t, s: s, q: get("http://h/a"), body: longBody(spilledBody)}
		leader := b.client(t, s, b.q)
		b.head(shared(b.q), -1)
		b.upTo(40_000)
		if bodies(m) != 0 {
			t.Error("a short body is spilled")
		}
		b.upTo(spilledBody)
		b.end(nil)
		leader.want(t, Streaming, b.body, true)
		if f := s.Find(b.q); f.Object == nil || !f.Object.OnDisk() || text(f.Object) != b.body {
			t.Errorf("found %+v", f)
		}
	})
}

// A disk that fails during a body affects no member, but the body is not kept.
func TestDiskFailsDuringBody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := openWithDisk(t, Limits{}, store.Limits{})
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
		b.upTo(spilledBody)
		b.end(nil)
		<-finished
		leader.want(t, Streaming, b.body, true)
		if f := s.Find(b.q); f.Object != nil {
			t.Error("the body is stored")
		}
		if n := s.Stats(); n.Held != 0 || n.Behind != 0 || n.Undisked != 1 || bodies(m) != 0 {
			t.Errorf("got %+v, files %q", n, m.Files())
		}
	})
}

// A reader that does not read on after the disk has failed is cut off, as for any body that
// is not kept.
func TestStalledReaderAfterDiskFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := openWithDisk(t, Limits{}, store.Limits{})
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
		b.upTo(spilledBody)
		b.end(nil)
		leader.want(t, Streaming, b.body, true)
		if got, err := readAll(t.Context(), slow); !errors.Is(err, ErrBehind) || got != "" {
			t.Errorf("got %d bytes, %v; want %v", len(got), err, ErrBehind)
		}
		slow.Leave()
		if n := s.Stats(); n.Held != 0 || n.Behind != 1 {
			t.Errorf("got %+v, want no bytes held and 1 reader behind", n)
		}
	})
}

// A body that the disk refuses is kept in memory, as far as max_object allows.
func TestDiskRefusesBody(t *testing.T) {
	for maxObject, kept := range map[int64]bool{spilledBody: true, spilledBody - 1: false} {
		t.Run(fmt.Sprint(maxObject), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, m, done := openWithDisk(t, Limits{}, store.Limits{MaxObject: maxObject})
				defer done()
				m.Fail(func(op, _ string) error {
					if op == "create" {
						return syscall.EROFS
					}
					return nil
				})
				b := &sending{source: newSource(), t: t, s: s, q: get("http://h/a"), body: longBody(spilledBody)}
				leader := b.client(t, s, b.q)
				b.head(shared(b.q), spilledBody)
				for at := 0; at < spilledBody; at += spilledPiece {
					b.send(b.body[at : at+spilledPiece])
				}
				b.end(nil)
				leader.want(t, Streaming, b.body, true)
				if f := s.Find(b.q); (f.Object != nil) != kept || kept && (f.Object.OnDisk() || text(f.Object) != b.body) {
					t.Errorf("found %+v", f)
				}
			})
		})
	}
}

// If the spill can't be read while it is written, its reader is cut off and no other request
// joins.
func TestDiskCannotBeReadWhileWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := openWithDisk(t, Limits{}, store.Limits{})
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
			t.Errorf("got %d bytes, %v; want %v", len(got), err, disk.ErrDamaged)
		}
		slow.Leave()
		m.Fail(nil)
		other := newSource()
		late := s.Join(&Request{Query: b.q, Fill: other.fill})
		synctest.Wait()
		if late.Joined() || other.asks() != 1 {
			t.Error("a later request joined the flight")
		}
		late.Leave()
		b.upTo(spilledBody)
		b.end(nil)
		leader.want(t, Streaming, b.body, true)
		if f := s.Find(b.q); f.Object != nil {
			t.Error("the body is stored")
		}
	})
}

// A body that is broken off, or not wanted any more, leaves nothing on disk.
func TestNothingIsLeftOnDisk(t *testing.T) {
	f := func(name string, end func(*sending, *Waiter)) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, m, done := openWithDisk(t, Limits{Finish: 1}, store.Limits{})
				defer done()
				b := &sending{source: newSource(), t: t, s: s, q: get("http://h/a"), body: longBody(spilledBody)}
				waiter := s.Join(&Request{Query: b.q, Fill: b.fill})
				b.head(shared(b.q), spilledBody)
				b.upTo(2 << 20)
				if bodies(m) != 1 {
					t.Fatal("the body is not spilled")
				}
				end(b, waiter)
				synctest.Wait()
				waiter.Leave()
				synctest.Wait()
				if n := s.DiskStats(); len(m.Files()) != 0 || n.Bytes != 0 || s.Stats().Held != 0 {
					t.Errorf("files %q, %+v, %+v remain", m.Files(), n, s.Stats())
				}
			})
		})
	}
	f("cut", func(b *sending, _ *Waiter) { b.end(io.ErrUnexpectedEOF) })
	f("left", func(_ *sending, waiter *Waiter) { waiter.Leave() })
	f("closed", func(b *sending, _ *Waiter) { b.s.Close() })
	f("purged", func(b *sending, _ *Waiter) {
		if err := b.s.Purge(context.Background(), store.Purge{}); err != nil {
			b.t.Error(err)
		}
		b.upTo(spilledBody)
		b.end(nil)
	})
}

// longBody returns n bytes without short repetitions.
func longBody(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return string(b)
}
