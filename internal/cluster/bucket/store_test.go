package bucket_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/bucket"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/pause"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/viewtest"
)

// TestContract uses a node without a copy in turn with the ones that have copies.
func TestContract(t *testing.T) {
	t.Parallel()
	s := start(t, 1)
	s.prepare()
	var opened atomic.Uint32
	viewtest.Contract(t, func(cluster string) viewtest.Store {
		return s.nodes[int(opened.Add(1))%len(s.nodes)].store(cluster)
	})
}

// history checks operations on a view: each read and each write must be of a revision that is not
// below one that was read, or written with success, before it began.
type history struct {
	t       *testing.T
	newest  atomic.Uint64
	mu      sync.Mutex
	writers map[uint64]protocol.Instance
}

// done records the end of an operation that began when before was the newest revision.
func (h *history) done(before, rev uint64) {
	if rev < before {
		h.t.Errorf("revision %d was read or written after %d", rev, before)
	}
	for {
		if old := h.newest.Load(); rev <= old || h.newest.CompareAndSwap(old, rev) {
			return
		}
	}
}

// work reads and writes the view through a store until ctx ends. It counts reads and failures.
func (h *history) work(ctx context.Context, s *bucket.Store, self protocol.Instance, reads, failures *atomic.Uint64) {
	for pause.For(ctx, time.Millisecond) {
		if h.readAndWrite(ctx, s, self) {
			reads.Add(1)
		} else {
			failures.Add(1)
		}
	}
}

// readAndWrite reads the view and writes the next revision. It reports whether the read succeeded.
func (h *history) readAndWrite(ctx context.Context, s *bucket.Store, self protocol.Instance) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	before := h.newest.Load()
	v, err := s.Read(ctx)
	if err != nil {
		return false
	}
	h.done(before, v.Rev)
	next := v
	next.Rev++
	next.Creator = 7
	next.Members = []protocol.Member{{Instance: self}}
	before = h.newest.Load()
	if s.Write(ctx, v.Rev, next) != nil {
		return true
	}
	h.done(before, next.Rev)
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := h.writers[next.Rev]; other != 0 {
		h.t.Errorf("revision %d was written by %d and %d", next.Rev, other, self)
	}
	h.writers[next.Rev] = self
	return true
}

// TestLinearizable reads and writes through all nodes while the leader of the stream is cut off,
// and when it is back.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	s.prepare()
	h := &history{t: t, writers: map[uint64]protocol.Instance{}}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var reads, failures [3]atomic.Uint64
	for i, n := range s.nodes {
		for w := range 2 {
			wg.Go(func() { h.work(ctx, n.store("test"), protocol.Instance(10*i+w+1), &reads[i], &failures[i]) })
		}
	}
	advance := func(what string) {
		since := h.newest.Load()
		began := time.Now()
		await.Until(t, func() bool { return h.newest.Load() > since+10 })
		t.Logf("%s: %v", what, time.Since(began))
	}
	advance("all")
	leader := s.leader()
	s.cut(leader, true)
	advance("the leader is cut off")
	failed := failures[leader.number].Load()
	await.Until(t, func() bool { return failures[leader.number].Load() > failed+1 })
	s.cut(leader, false)
	since := reads[leader.number].Load()
	await.Until(t, func() bool { return reads[leader.number].Load() > since+3 })
	advance("it is back")
	cancel()
	wg.Wait()
	for i := range s.nodes {
		t.Logf("node %d: %d reads, %d failures", i, reads[i].Load(), failures[i].Load())
	}
}

// TestRestart stops and starts nodes, one of them with an empty directory, and at last all.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	s.prepare()
	rev := uint64(0)
	write := func(through *keeper) {
		t.Helper()
		store := through.store("test")
		written := await.Until(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			v, err := store.Read(ctx)
			if err == nil && v.Rev == rev+1 { // a write without an answer
				return true
			}
			if err == nil && v.Rev != rev {
				t.Fatalf("got revision %d, want %d", v.Rev, rev)
			}
			return err == nil && store.Write(ctx, rev, viewtest.Members(rev+1, "a")) == nil
		})
		if !written {
			t.FailNow()
		}
		rev++
	}
	write(s.nodes[0])
	for i, n := range s.nodes {
		n.Close()
		write(s.nodes[(i+1)%3])
		if i == 1 {
			n.cfg.Copies.Directory = t.TempDir()
		}
		s.run(n)
		await.Until(t, func() bool { return n.CopyState("KV_members") == nil })
	}
	for _, n := range s.nodes {
		n.Close()
	}
	for _, n := range s.nodes {
		s.run(n)
	}
	write(s.nodes[2])
}
