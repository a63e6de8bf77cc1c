package memcached

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/httpcache"
)

// An origin is drained wherever it answers misses, or nowhere.
func TestDrain(t *testing.T) {
	s := newSite(t, 1, Location{Path: "/a", Key: "a", Fallback: 1}, Location{Path: "/b", Key: "b", Fallback: 2})
	const x, y, z = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"
	s.cfg.Fallback, s.cfg.Fallbacks = 0, []httpcache.Config{fallbackOf(x, y), fallbackOf(x, y, z), fallbackOf(z)}
	s.start()
	states := func() (list string) {
		for _, m := range s.svc.Report().Members[1:] {
			list += m.State[:1]
		}
		return list
	}
	f := func(want string, r admin.DrainRequest) {
		t.Helper()
		if _, err := s.svc.Drain(context.Background(), r); err != nil {
			t.Error(err)
		}
		if got := states(); got != want {
			t.Errorf("after %+v: %s; want %s", r, got, want)
		}
	}
	refused := func(r admin.DrainRequest) {
		t.Helper()
		before := states()
		if _, err := s.svc.Drain(context.Background(), r); !errors.Is(err, admin.ErrInput) || states() != before {
			t.Errorf("%+v: %v; %s became %s", r, err, before, states())
		}
	}
	f("duduuu", admin.DrainRequest{Origin: x + "/"})
	refused(admin.DrainRequest{Origin: y})
	refused(admin.DrainRequest{Origin: z})
	refused(admin.DrainRequest{Origin: s.servers[0].Address()})
	f("uuuuuu", admin.DrainRequest{Origin: x, Undo: true})
	if got, err := s.svc.Drain(context.Background(), admin.DrainRequest{Origin: y}); err != nil || fmt.Sprint(got) != fmt.Sprint(admin.DrainResult{Origin: y, State: "drained"}) {
		t.Errorf("%+v, %v", got, err)
	}
}
