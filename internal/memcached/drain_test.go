package memcached

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/httpcache"
)

// An origin is drained in all fallbacks that have it, or the request is refused.
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
			t.Errorf("after %+v: the states are %s, want %s", r, got, want)
		}
	}
	refused := func(r admin.DrainRequest) {
		t.Helper()
		before := states()
		if _, err := s.svc.Drain(context.Background(), r); !errors.Is(err, admin.ErrInput) || states() != before {
			t.Errorf("%+v: got the error %v, and the states changed from %s to %s; want a refusal", r, err, before, states())
		}
	}
	f("duduuu", admin.DrainRequest{Origin: x + "/"})
	refused(admin.DrainRequest{Origin: y})
	refused(admin.DrainRequest{Origin: z})
	refused(admin.DrainRequest{Origin: s.servers[0].Address()})
	f("uuuuuu", admin.DrainRequest{Origin: x, Undo: true})
	if got, err := s.svc.Drain(context.Background(), admin.DrainRequest{Origin: y}); err != nil || fmt.Sprint(got) != fmt.Sprint(admin.DrainResult{Origin: y, State: "drained"}) {
		t.Errorf("got %+v, %v; want %s drained", got, err, y)
	}
}
