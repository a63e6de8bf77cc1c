package viewtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/cluster/view"
)

// Store is the interface of the stores that Contract tests.
type Store interface {
	Read(ctx context.Context) (protocol.View, error)
	Write(ctx context.Context, expect uint64, v protocol.View) error
}

// Members returns a view of the revision with members of the given names.
func Members(rev uint64, names ...string) protocol.View {
	v := protocol.View{Rev: rev, Creator: 7, Epoch: rev / 2}
	for i, name := range names {
		v.Members = append(v.Members, protocol.Member{Instance: protocol.Instance(i + 1), Node: name, Address: name + ":1"})
	}
	return v
}

// Contract tests what the protocol needs of a store. open returns a new store of the view of
// a cluster at the same place; there are no views at first.
func Contract(t *testing.T, open func(cluster string) Store) {
	t.Run("read and write", func(t *testing.T) { readAndWrite(t, open) })
	t.Run("revisions", func(t *testing.T) { revisions(t, open("revisions")) })
	t.Run("concurrent writers", func(t *testing.T) { concurrentWriters(t, open) })
}

func readAndWrite(t *testing.T, open func(cluster string) Store) {
	s, second := open("production"), open("production")
	expect := func(want protocol.View) {
		t.Helper()
		for _, s := range []Store{s, second} {
			if got, err := s.Read(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("got %+v, %v, want %+v", got, err, want)
			}
		}
	}
	write := func(s Store, expect uint64, v protocol.View, want error) {
		t.Helper()
		if err := s.Write(t.Context(), expect, v); err != want {
			t.Fatalf("writing %d: got %v, want %v", v.Rev, err, want)
		}
	}
	expect(protocol.View{})
	write(s, 1, Members(2, "a"), view.ErrConflict)
	expect(protocol.View{})
	write(s, 0, Members(1, "a"), nil)
	expect(Members(1, "a"))
	write(s, 0, Members(1, "b"), view.ErrConflict)
	write(second, 1, Members(2, "a", "b"), nil)
	write(s, 1, Members(2, "a", "c"), view.ErrConflict)
	write(second, 1, Members(2, "a", "c"), view.ErrConflict)
	write(s, 7, Members(8, "a"), view.ErrConflict)
	replaced := Members(3, "a")
	replaced.Creator = 8
	write(s, 2, replaced, view.ErrConflict)
	write(second, 2, replaced, view.ErrConflict)
	expect(Members(2, "a", "b"))
	// A number keeps its digits.
	for rev := uint64(2); rev < 12; rev++ {
		write(s, rev, Members(rev+1), nil)
	}
	expect(Members(12))
	// Another cluster has its own view.
	other := open("test")
	if v, err := other.Read(t.Context()); err != nil || v.Rev != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
	write(other, 0, Members(1, "z"), nil)
	expect(Members(12))
}

func revisions(t *testing.T, s Store) {
	for _, rev := range []uint64{0, 2} {
		err := s.Write(t.Context(), 0, Members(rev))
		if err == nil || err.Error() != fmt.Sprintf("cluster view: revision %d can't replace 0", rev) {
			t.Errorf("got %v", err)
		}
	}
	err := s.Write(t.Context(), 0, protocol.View{Rev: 1, Members: make([]protocol.Member, 65)})
	if err == nil || err.Error() != "cluster view: it can't be stored: it has 65 members, and the maximum is 64" {
		t.Errorf("got %v", err)
	}
	if v, err := s.Read(t.Context()); err != nil || v.Rev != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
}

// concurrentWriters lets members add themselves to the view at the same time, again and again.
// Each successful write must be in the view. The outcome of a write that returns an error is
// unknown.
func concurrentWriters(t *testing.T, open func(cluster string) Store) {
	const writers, rounds = 6, 10
	r := &results{writers: map[uint64]string{}}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			s := open("concurrent")
			for n := range rounds {
				name := fmt.Sprintf("%d.%d", w, n)
				for errs := 0; ; {
					done, err := r.add(t, s, name)
					if err != nil {
						t.Logf("%s: %v", name, err)
						errs++
					}
					if errs == 20 {
						t.Errorf("%s failed too often", name)
						return
					}
					if done {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	v, err := open("concurrent").Read(t.Context())
	if err != nil || v.Rev != writers*rounds || len(v.Away) != writers*rounds {
		t.Fatalf("got revision %d with %d writes, %v", v.Rev, len(v.Away), err)
	}
	for i, a := range v.Away {
		if r.writers[uint64(i+1)] != a.Node {
			t.Errorf("revision %d has %s, and %s wrote it", i+1, a.Node, r.writers[uint64(i+1)])
		}
	}
	t.Logf("%d conflicts", r.conflicts)
}

// results are those of concurrent writers.
type results struct {
	mu        sync.Mutex
	writers   map[uint64]string // by revision
	conflicts int
}

// add tries to add a name to the view, and reports whether it is in it.
func (r *results) add(t *testing.T, s Store, name string) (done bool, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	v, err := s.Read(ctx)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(v.Away, func(a protocol.Away) bool { return a.Node == name })
	if at < 0 {
		next := v
		next.Rev++
		next.Away = append(next.Away, protocol.Away{Node: name})
		err, at = s.Write(ctx, v.Rev, next), len(v.Away)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch rev := uint64(at + 1); {
	case err == nil && r.writers[rev] != "":
		t.Errorf("revision %d was written by %s and %s", rev, r.writers[rev], name)
	case err == nil:
		r.writers[rev] = name
		return true, nil
	case errors.Is(err, view.ErrConflict):
		r.conflicts++
		return false, nil
	}
	return false, err
}
