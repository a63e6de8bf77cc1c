package store

import (
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
	"github.com/kasoku/kasoku/internal/testutil/memfs"
)

// Without a lease nothing is found, but what is stored can be changed.
func TestStoreWithoutLease(t *testing.T) {
	s := open(t, Limits{})
	c := s.space.Cache()
	q, other := get("http://h/a"), get("http://h/b")
	o := fill(t, s, q, "one")
	fill(t, s, other, "two")
	c.SetLease(c.Now())
	q.At, other.At = c.Now(), c.Now()
	if f := s.Find(q); f.Object != nil || f.Miss != MissIsolated {
		t.Errorf("found %+v without a lease", f)
	}
	s.Drop(q.Key, o)
	c.SetLease(1 << 62)
	wantFound(t, s, q, "")
	wantFound(t, s, other, "two")
}

// A resource can be stored after the cache was emptied.
func TestStoreAfterEmpty(t *testing.T) {
	s := open(t, Limits{})
	q := get("http://h/a")
	fill(t, s, q, "one")
	s.space.Cache().Empty()
	wantFound(t, s, q, "")
	fill(t, s, q, "two")
}

// What a node of a cluster finds on disk when it starts must be confirmed, since it has missed
// writes. It has no lease yet.
func TestDiskOfCluster(t *testing.T) {
	m := memfs.New()
	start := func(cluster bool) *Store {
		tier, err := disk.Open("d", disk.Options{Size: 1 << 30, FS: m})
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, Limits{DiskFrom: 64 << 10})
		if cluster {
			clustertest.Connect(s.space.Cache())
			s.space.Cache().SetLease(0)
		}
		if err := s.OpenDisk(tier, "p", &options); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tier.Close() })
		return s
	}
	q, gone := get("http://h/a"), get("http://h/b")
	body := strings.Repeat("x", 100_000)
	s := start(false)
	fill(t, s, q, body)
	fill(t, s, gone, body)
	s.Close()
	m = m.Crash(false, nil)

	s = start(true)
	c := s.space.Cache()
	q.At, gone.At = c.Now(), c.Now()
	if s.FindEmptied(q) != nil || s.Find(q).Object != nil {
		t.Error("a response is found without a lease")
	}
	c.SetLease(1 << 62)
	c.Hold([]cache.Tag{URLTag(gone.Key)}).Release()
	if f := s.Find(q); f.Object != nil || f.Miss != MissRemoved {
		t.Errorf("found %+v, want nothing before it is confirmed", f)
	}
	if o := s.FindEmptied(q); o == nil || text(o) != body {
		t.Error("there is nothing to confirm")
	}
	if s.FindEmptied(gone) != nil {
		t.Error("a response that was invalidated since the start is to be confirmed")
	}
}

// Invalidations that the other members could not get are sent until they have them.
func TestLateRounds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		defer s.Close()
		cl := clustertest.Connect(s.space.Cache())
		cl.Refuse(cache.ErrIsolated)
		a, b := get("http://h/a").Key, get("http://h/b").Key
		if err := s.Invalidate(t.Context(), a, b); err == nil {
			t.Error("no error without a cluster")
		}
		at := s.Fence(a)
		if _, err := s.InvalidateSince(t.Context(), &at, a); err == nil {
			t.Error("no error without a cluster")
		}
		s.Unknown(a)
		if st := s.Fence(a); st.Stamp.Settled {
			t.Error("a write with an unknown outcome has no quarantine here")
		}
		time.Sleep(time.Minute)
		for _, how := range cl.Rounds() {
			if how != "refused" {
				t.Errorf("a round ended with %s", how)
			}
		}
		cl.Refuse(nil)
		time.Sleep(2 * maxLatePause)
		if got := cl.Rounds(); len(got) != 1 || got[0] != "unknown" {
			t.Errorf("rounds ended with %q, want one unknown", got)
		}
		s.Unknown(b)
		time.Sleep(time.Millisecond)
		if got := cl.Rounds(); len(got) != 1 || got[0] != "unknown" {
			t.Errorf("then rounds ended with %q, want one unknown", got)
		}
		cl.Refuse(cache.ErrIsolated)
		s.Unknown(b) // Close ends the attempts
	})
}
