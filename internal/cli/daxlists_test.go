package cli

import (
	"context"
	"encoding/binary"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
)

func newRegistry(t *testing.T) *lists.Registry {
	t.Helper()
	r, err := lists.Open(lists.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// mustNumber returns the number of the list of name.
func mustNumber(t *testing.T, r *lists.Registry, name string) uint64 {
	t.Helper()
	id, err := r.ID([][]byte{[]byte(name)}, lists.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestListSearch looks for lists that another node has, has not, or gives wrongly.
func TestListSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := newRegistry(t), newRegistry(t)
		known, wrong := mustNumber(t, there, "age"), mustNumber(t, there, "name")
		var mu sync.Mutex
		asked := 0
		s := newListSearch(nil, "orders", here, slog.New(slog.DiscardHandler))
		s.ask = func(ctx context.Context, kind string, request []byte, good func([]byte) bool) ([]byte, bool) {
			mu.Lock()
			asked++
			mu.Unlock()
			if want := append(binary.BigEndian.AppendUint64(nil, known), "orders"...); kind != listKind || len(request) != len(want) {
				t.Errorf("asked %s %q, want %q", kind, request, want)
			}
			time.Sleep(10 * time.Millisecond)
			id := binary.BigEndian.Uint64(request)
			if id == wrong {
				id = known
			}
			reply, _ := there.Encode(id)
			return reply, good(reply) && ctx.Err() == nil
		}
		find := func(ctx context.Context, id uint64, want ...string) {
			if names, ok := s.find(ctx, id); !slices.Equal(names, want) || ok != (want != nil) {
				t.Errorf("list %d is %q, %v; want %q", id, names, ok, want)
			}
		}
		first, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { find(first, known, "age") })
		synctest.Wait()
		for range 10 {
			all.Go(func() { find(t.Context(), known, "age") })
		}
		ended, end := context.WithCancel(t.Context())
		all.Go(func() { find(ended, known) })
		synctest.Wait()
		end()
		cancel() // the first client disconnects; the others still get the list
		all.Wait()
		if asked != 1 {
			t.Errorf("%d questions, want 1", asked)
		}
		if names, ok := here.Names(known); !ok || !slices.Equal(names, []string{"age"}) {
			t.Errorf("the list is not stored: %q, %v", names, ok)
		}
		find(t.Context(), wrong)
		find(t.Context(), 12345)
		find(t.Context(), 12345)
		if asked != 4 || len(s.open) > 0 {
			t.Errorf("%d questions, %d are open", asked, len(s.open))
		}
		if _, ok := here.Names(wrong); ok {
			t.Error("a list with another number was stored")
		}
	})
}
