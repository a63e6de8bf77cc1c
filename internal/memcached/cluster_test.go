package memcached

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// A purge drops the near copies of all nodes.
func TestPurgeReachesOtherNodes(t *testing.T) {
	b := newBacked(t, always(500, "oops")).listen()
	other, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	cl := clustertest.Connect(b.svc.space.Cache(), other)
	for _, r := range []admin.PurgeRequest{{}, {Key: []byte(`"1"`)}} {
		st := other.Note(b.svc.tags.all)
		if r.Key != nil {
			st = other.Note(b.svc.tags.key([]byte("1")))
		}
		if _, err := b.svc.Purge(t.Context(), r); err != nil || other.Current(&st) {
			t.Errorf("%s: the copies of the other node are current, or %v", r.Key, err)
		}
		cl.Refuse(cache.ErrIsolated)
		if _, err := b.svc.Purge(t.Context(), r); err == nil || !strings.Contains(err.Error(), "other nodes") {
			t.Errorf("%s: got error %v for a purge that the other node has not made", r.Key, err)
		}
		cl.Refuse(nil)
	}
}
