package httpcache

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/purge"
)

// An owner asks the former owner of a key before the origin, for its own client and on behalf of
// another member.
func TestFormerOwner(t *testing.T) {
	a, b, cl := newOwned(t, versions)
	b.space.Cache().SetLease(0) // it has not joined
	a.ask("GET /a")
	a.ask("GET /b")
	b.space.Cache().SetLease(math.MaxInt64)
	cl.Inherit(a.space.Cache())
	cl.Fetches()
	b.wantStatus("GET /a", "detail=peer; stored")
	b.wantStatus("GET /c", "fwd=uri-miss; stored")
	if got, n := fmt.Sprint(cl.Fetches()), len(a.origin.requests()); got != "[stored absent]" || n != 3 {
		t.Errorf("got %s, and %d requests to the origin", got, n)
	}
	r := http1.Request{Method: []byte("GET"), Target: []byte("/b"), Path: []byte("/b"), Host: []byte("site"), Minor: 1}
	c := a.startCall(edge.Detached(t.Context(), r, nil, time.Now()))
	c.parse()
	if _, ok := b.answerPeer(t.Context(), c.completed(&peerQuestion{}).request); !ok {
		t.Error("a question is not answered")
	}
	if got, n := fmt.Sprint(cl.Fetches()), len(a.origin.requests()); got != "[stored]" || n != 3 {
		t.Errorf("on behalf of another member: got %s, and %d requests to the origin", got, n)
	}
}

// questionsOf returns the questions for the hottest responses of a site.
func questionsOf(s *site) (all []string) {
	s.space.Cache().Warmer("site").Hottest(100, func(q []byte) bool {
		all = append(all, string(q))
		return true
	})
	return all
}

// warm lets s take over the hottest responses of another site, and returns the number of those
// that it has stored. between is called before each answer arrives.
func (s *site) warm(from *site, between func()) (stored int) {
	w := s.space.Cache().Warmer("site")
	for _, q := range questionsOf(from) {
		keep := w.Expect(s.t.Context(), []byte(q))
		if keep == nil {
			continue
		}
		a, ok := from.space.Cache().Stored("site", []byte(q))
		between()
		if ok && keep(a) {
			stored++
		}
	}
	return stored
}

// A node takes over stored responses, with all variants that it can ask for, and not those that it
// has.
func TestWarm(t *testing.T) {
	script := func(x *asked) {
		switch target := strings.Fields(x.head)[1]; target {
		case "/language":
			_, language, _ := strings.Cut(x.head, "Accept-Language: ")
			x.ok(language[:2], "Vary: Accept-Language")
		case "/cookie":
			x.ok(fmt.Sprint(x.n), "Vary: Cookie")
		case "/long":
			x.ok(strings.Repeat("x", 1<<20))
		case "/private":
			x.ok("private", "Cache-Control: private")
		case "/old":
			x.ok("old", "Age: 60")
		default:
			x.ok(target, `ETag: "1"`)
		}
	}
	a, b, cl := newPair(t, script)
	for _, url := range []string{"/a", "/b?c", "/cookie", "/long", "/private", "/old", "/here"} {
		a.ask("GET " + url)
	}
	a.ask("GET /cookie", "Cookie: a=b")
	a.ask("GET /language", "Accept-Language: de")
	a.ask("GET /language", "Accept-Language: EN;q=1")
	b.ask("GET /here")
	before := len(b.origin.requests())
	if n := b.warm(a, func() {}); n != 5 {
		t.Errorf("%d responses were stored, want 5", n)
	}
	for _, url := range []string{"/a", "/b?c", "/here"} {
		b.wantStatus("GET "+url, "kasoku; hit")
	}
	for _, language := range []string{"de", "EN;q=1"} {
		if g := b.ask("GET /language", "Accept-Language: "+language); g.body != language[:2] || !strings.Contains(g.get("Cache-Status"), "hit") {
			t.Errorf("%s: got %s", language, g)
		}
	}
	if n := b.warm(a, func() {}); n != 0 {
		t.Errorf("again: %d responses were stored", n)
	}
	if n := len(b.origin.requests()) - before; n != 0 {
		t.Errorf("the origin got %d requests", n)
	}
	if got := cl.Rounds(); len(got) != 0 {
		t.Errorf("rounds: %v", got)
	}
}

// What a node takes over is not older than an invalidation that ends meanwhile, or was not
// received by the other node.
func TestInvalidationDuringWarming(t *testing.T) {
	for name, invalidate := range invalidations {
		t.Run(name, func(t *testing.T) {
			a, b, _ := newPair(t, versions)
			a.ask("GET /a")
			b.warm(a, func() { invalidate(b) })
			if g := b.ask("GET /a"); g.body == "1" {
				t.Errorf("got %s", g)
			}
		})
	}
	t.Run("announced", func(t *testing.T) {
		a, b, cl := newPair(t, versions)
		a.ask("GET /a")
		cl.BeforeBroadcast(func() {
			if n := b.warm(a, func() {}); n != 0 {
				t.Errorf("%d responses were stored during a purge", n)
			}
		})
		invalidations["tag"](b)
	})
	t.Run("write in flight", func(t *testing.T) {
		a, b, _ := newPair(t, versions)
		a.ask("GET /a")
		defer b.space.Cache().Hold([]cache.Tag{cache.TagOf([]byte("http://site/a"))}).Release()
		if n := b.warm(a, func() {}); n != 0 {
			t.Errorf("%d responses were stored during a write", n)
		}
	})
	t.Run("purged before", func(t *testing.T) {
		a, b, _ := newPair(t, versions)
		a.ask("GET /a")
		purgesBy(purge.Tag, "x", false)(a)
		if n := len(questionsOf(a)); n != 0 || b.warm(a, func() {}) != 0 {
			t.Errorf("%d purged responses are listed", n)
		}
	})
}
