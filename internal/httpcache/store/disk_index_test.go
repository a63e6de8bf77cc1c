package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/testutil/memfs"
)

// onMemfs returns a store with a disk in memory, for bodies of more than 64 KiB. done closes
// the store.
func onMemfs(t testing.TB) (s *Store, m *memfs.FS, done func()) {
	t.Helper()
	m = memfs.New()
	tier, err := disk.Open("d", disk.Options{Size: 1 << 30, FS: m})
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, Limits{DiskFrom: 64 << 10})
	if err := s.OpenDisk(tier, "p", &options); err != nil {
		t.Fatal(err)
	}
	return s, m, func() { s.Close() }
}

// An eviction does not sync the directory, since an evicted object may be found again after a
// restart. A purge syncs it.
func TestEvictionDoesNotSync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m, done := onMemfs(t)
		defer done()
		fill(t, s, get("http://h/a"), strings.Repeat("x", 100_000))
		fill(t, s, get("http://h/b"), strings.Repeat("x", 100_000))
		syncs := 0
		m.Fail(func(op, _ string) error {
			if op == "syncdir" {
				syncs++
			}
			return nil
		})
		if !s.index.part.EvictOne() || s.Find(get("http://h/a")).Object != nil {
			t.Error("the object was not evicted")
		}
		fill(t, s, get("http://h/c"), strings.Repeat("x", 100_000))
		s.Invalidate(context.Background(), get("http://h/none").Key)
		if syncs != 0 {
			t.Errorf("%d syncs during an eviction, want 0", syncs)
		}
		if s.Invalidate(context.Background(), get("http://h/a").Key); syncs != 1 {
			t.Errorf("%d syncs after a write to an evicted URL, want 1", syncs)
		}
	})
}

// A purge that matches nothing reads the head of every body on disk.
func BenchmarkPurgeOnDisk(b *testing.B) {
	s, _, done := onMemfs(b)
	defer done()
	for i := range 8_000 {
		w, err := s.index.part.Create(1)
		if err != nil {
			b.Fatal(err)
		}
		w.Write([]byte{1})
		f, err := w.Finish(0)
		if err != nil {
			b.Fatal(err)
		}
		q := get(fmt.Sprintf("http://host/some/path/%d", i))
		at := s.Fence(q.Key)
		s.Put(q.Key, NewObject(head(q, "Surrogate-Key", "some tags"), onDisk(f), at), nil)
	}
	for b.Loop() {
		if err := s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, "/none")}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(s.index.weight.Load())/float64(s.index.part.Stats().Files), "B/file")
}
