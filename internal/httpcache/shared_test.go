package httpcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// kept specifies how keyedSite treats an answer. why 0 means Stored.
type kept struct {
	share    bool
	why      policy.Reason
	remember time.Duration
}

// keyedSite is a service that stores answers elsewhere, under its own keys. Its fields may be
// changed while no request is in flight.
type keyedSite struct {
	*site
	kept    kept
	arrived atomic.Int64 // 0: when the request arrived
	refresh bool
	begun   atomic.Int64

	mu     sync.Mutex
	bodies []string // that OnBody had
}

func newKeyed(t testing.TB, script func(*asked)) *keyedSite {
	k := &keyedSite{site: newSite(t, script), kept: kept{share: true}}
	k.server.SetHandler(k)
	return k
}

func (k *keyedSite) Serve(x *edge.Exchange) {
	arrived := k.arrived.Load()
	if arrived == 0 {
		arrived = k.space.Cache().At(x.Now())
	}
	describe := func(r *flight.Request) {
		r.Arrived, r.Linger = arrived, time.Hour
		r.KeepFailure = func(err error) bool {
			_, ok := errors.AsType[*origin.Fault](err)
			return ok
		}
	}
	p := &Plan{Key: []byte("k"), Options: planOptions, Why: policy.NoValue, Shared: &Shared{
		Ask: func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
			return k.Service.Ask(ctx, q, &balance.Choice{})
		},
		Answer: k.answer,
		Join: func(r *flight.Request) *flight.Waiter {
			describe(r)
			return k.Flights().Join(r)
		},
	}}
	if k.refresh {
		k.Prepare(x, p, func(r *flight.Request) {
			describe(r)
			if k.Flights().Refresh(r) {
				k.begun.Add(1)
			}
		})
		x.Reply.Status = 204
		return
	}
	k.Read(x, p)
}

// answer makes the flight's answer that k.kept describes.
func (k *keyedSite) answer(in *origin.Inbound, r *Received) (*flight.Answer, policy.Reason, error) {
	p := policy.ParseResponse(in.Status, r.Fields, r.Asked, r.Asked, planOptions)
	a := &flight.Answer{Head: store.NewHead(p, r.Fields, r.Request, planOptions), Length: in.Length, Body: in, Share: k.kept.share}
	status := in.Status
	if a.Share {
		a.Remember = k.kept.remember
		a.OnBody = func(b *store.Body) { k.keepBody(status, b) }
	}
	return a, cmp.Or(k.kept.why, policy.Stored), nil
}

func (k *keyedSite) keepBody(status int, b *store.Body) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if b == nil {
		k.bodies = append(k.bodies, "nothing")
		return
	}
	k.bodies = append(k.bodies, fmt.Sprint(status)+" "+text(&store.Object{Body: b}))
}

// keptBodies lists the bodies that were passed to keepBody.
func (k *keyedSite) keptBodies() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.bodies, ", ")
}

// TestByKey checks that the filler alone decides whether waiters share an answer, whatever
// its caching directives are, and that nothing is stored.
func TestByKey(t *testing.T) {
	const clients = 100
	f := func(name, head string, does kept, requests int, how, after string) {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			k := newKeyed(t, func(a *asked) {
				if a.n == 1 {
					<-gate
				}
				a.respond("HTTP/1.1 " + head + "\nContent-Length: 5\n\nhello")
			})
			k.kept = does
			closeWhen(t, gate, func() bool { return k.Stats().Joined == clients-1 })
			shared := 0
			for _, g := range k.crowd(clients, "GET /a", "Cache-Control: no-cache", "Cookie: a=b") {
				if g.body != "hello" || !strings.HasPrefix(g.get("Cache-Status"), "kasoku; fwd=miss") {
					t.Fatal(g)
				}
				if s := g.get("Cache-Status"); s == "kasoku; fwd=miss; collapsed; stored" {
					shared++
				} else if s != "kasoku; fwd=miss; "+how {
					t.Fatal(s)
				}
			}
			if n := len(k.origin.requests()); n != requests || shared != clients-requests {
				t.Errorf("the origin got %d requests, want %d; %d clients shared an answer", n, requests, shared)
			}
			waitFor(t, func() bool { return k.Stats().Running == 0 })
			if st := k.Stats(); st.Stored != 0 || k.keptBodies() != after {
				t.Errorf("OnBody got %q, want %q; %+v", k.keptBodies(), after, st)
			}
		})
	}
	all := kept{share: true}
	f("fresh", "200 OK\nCache-Control: max-age=60\nETag: \"1\"", all, 1, "stored", "200 hello")
	f("no-store", "200 OK\nCache-Control: no-store", all, 1, "stored", "200 hello")
	f("no-cache", "200 OK\nCache-Control: private, no-cache, max-age=0", all, 1, "stored", "200 hello")
	f("cookie", "200 OK\nSet-Cookie: a=b", all, 1, "stored", "200 hello")
	f("error", "500 Oops", all, 1, "stored", "500 hello")
	f("redirect", "302 Found\nLocation: /b", all, 1, "stored", "302 hello")
	f("shared and not stored", "200 OK", kept{share: true, why: policy.NowhereToStore}, 1, "detail=store-off", "200 hello")
	f("neither", "200 OK\nCache-Control: max-age=60", kept{why: policy.SetsCookie}, clients, "detail=set-cookie", "")
}

// TestOneRequestForLateClients checks that the origin gets one request for all clients, late
// ones included.
func TestOneRequestForLateClients(t *testing.T) {
	const clients = 1000
	f := func(name, head string, requests int, body string) {
		t.Run(name, func(t *testing.T) {
			k := newKeyed(t, func(a *asked) {
				if head == "" {
					a.conn.Close()
					return
				}
				a.respond("HTTP/1.1 " + head + "\n\nhello")
			})
			k.arrived.Store(k.space.Cache().Now())
			for _, g := range k.crowd(clients, "GET /a") {
				if g.body != body || g.cut {
					t.Fatal(g)
				}
			}
			waitFor(t, func() bool { return k.Stats().Running == 0 })
			if g := k.ask("GET /a"); g.body != body {
				t.Error(g)
			}
			if n := len(k.origin.requests()); n != requests {
				t.Errorf("the origin got %d requests", n)
			}
		})
	}
	f("length", "200 OK\nContent-Length: 5", 1, "hello")
	f("error", "503 Oops\nContent-Length: 5", 1, "hello")
}

// TestFaultForLateClients checks that all waiters and late requests get a fault, after one more
// attempt for all except the starter.
func TestFaultForLateClients(t *testing.T) {
	k := newKeyed(t, func(a *asked) { a.conn.Close() })
	k.arrived.Store(k.space.Cache().Now())
	for _, g := range k.crowd(200, "GET /a") {
		if g.status != 502 {
			t.Fatal(g)
		}
	}
	waitFor(t, func() bool { return k.Stats().Running == 0 })
	flights := k.Stats().Flights
	if g := k.ask("GET /a"); g.status != 502 || flights > 2 || k.Stats().Flights > 2 {
		t.Errorf("a late client got %s, want 502; %d flights, then %d, want at most 2", g, flights, k.Stats().Flights)
	}
}

// TestRememberedAnswer checks that later requests get a remembered answer, with its own
// Cache-Status.
func TestRememberedAnswer(t *testing.T) {
	k := newKeyed(t, func(a *asked) { a.respond("HTTP/1.1 404 Not Found\nContent-Length: 4\n\nnone") })
	k.kept = kept{share: true, why: policy.NegativeKept, remember: time.Hour}
	for i, how := range []string{"fwd=miss; detail=negative", "hit; detail=negative", "hit; detail=negative"} {
		g := k.ask("GET /a")
		if g.status != 404 || g.body != "none" || g.get("Cache-Status") != "kasoku; "+how {
			t.Errorf("%d: got %s", i, g)
		}
		waitFor(t, func() bool { return k.Stats().Running == 0 })
	}
	if n := len(k.origin.requests()); n != 1 {
		t.Errorf("the origin got %d requests", n)
	}
}

// A panic in OnBody, after the clients have their answer, is counted and has no other effect.
func TestPanicInOnBody(t *testing.T) {
	k := newKeyed(t, func(a *asked) { a.ok("hello") })
	f := (&originFetch{svc: k.Service}).guarded(func(*store.Body) { panic("a planned fault") })
	f(nil)
	if n := k.metrics.faults.Value(); n != 1 {
		t.Errorf("%d faults are counted, want 1", n)
	}
}

// A refresh sends one request to the origin, and passes the body to OnBody only.
func TestRefreshByKey(t *testing.T) {
	gate := make(chan struct{})
	k := newKeyed(t, func(a *asked) {
		<-gate
		a.ok("hello")
	})
	k.refresh = true
	for range 10 {
		if g := k.ask("HEAD /a?x=1", "If-None-Match: *"); g.status != 204 || g.get("Cache-Status") != "" {
			t.Fatal(g)
		}
	}
	close(gate)
	waitFor(t, func() bool { return k.keptBodies() == "200 hello" })
	heads := k.origin.requests()
	if len(heads) != 1 || !strings.HasPrefix(heads[0], "GET /a?x=1 ") || strings.Contains(heads[0], "If-None-Match") || k.begun.Load() != 1 {
		t.Errorf("%d refreshes were started, want 1; the origin got %q", k.begun.Load(), heads)
	}
}

// TestRefreshThatIsCut checks that OnBody is called without a body when a refresh is cut.
func TestRefreshThatIsCut(t *testing.T) {
	k := newKeyed(t, func(a *asked) {
		a.respond("HTTP/1.1 200 OK\nContent-Length: 50\n\nhello")
		a.conn.Close()
	})
	k.refresh = true
	k.ask("GET /a")
	waitFor(t, func() bool { return k.keptBodies() == "nothing" })
}
