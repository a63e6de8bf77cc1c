package memcached

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// A miss is answered by the fallback, whose answer is stored for later requests.
func TestMissIsStored(t *testing.T) {
	b := newBacked(t, always(200, "from the fallback", "Content-Type", "text/html", "X-More", "yes"), minute()).listen()
	r := b.get("/a?k=1&x=%20y", "Accept-Encoding", "gzip")
	b.expect("the first", `200 "from the fallback" fwd=miss; stored`, r)
	if r.header.Get("Content-Type") != "text/html" || r.header.Get("X-More") != "yes" || len(r.header.Values("Date")) != 1 {
		t.Errorf("the fields differ from the fallback's: %v", r.header)
	}
	b.waitIdle()
	if got := b.requests(); !slices.Equal(got, []string{"GET /a?k=1&x=%20y"}) {
		t.Errorf("the fallback was asked %q", got)
	}
	next := b.get("/a?k=1")
	b.expect("then", `200 "from the fallback" hit; detail=memcached`, next)
	if next.header.Get("ETag") != r.header.Get("ETag") || r.header.Get("ETag") == "" {
		t.Errorf("the tag changed from %q to %q", r.header.Get("ETag"), next.header.Get("ETag"))
	}
	if n := b.count("kasoku_memcached_fallback_stores_total", "outcome", "stored"); n != 1 {
		t.Errorf("%d stores are counted, want 1", n)
	}
}

// The fallback gets one request for any number of clients, however late memcached's answers
// are.
func TestOneRequestForAll(t *testing.T) {
	const clients = 1000
	f := func(name string, script http.HandlerFunc, want string, stored string) {
		t.Run(name, func(t *testing.T) {
			var b *backed
			b = newBacked(t, func(w http.ResponseWriter, r *http.Request) {
				// Many requests have queried memcached by now, and others have not.
				await.Until(t, func() bool { return len(b.servers[0].Commands("mg")) > clients/4 })
				script(w, r)
			}, minute(func(l *Location) { l.Store.MaxSize = 100 })).listen()
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					if r := b.get("/a?k=1"); fmt.Sprint(r.status, " ", r.body) != want {
						t.Errorf("got %s, want %s", r, want)
					}
				})
			}
			wg.Wait()
			b.waitIdle()
			if n := len(b.requests()); n != 1 || b.stored("1") != stored {
				t.Errorf("the fallback was asked %d times, stored is %q; want 1, %q", n, b.stored("1"), stored)
			}
		})
	}
	f("stored", always(200, "hello"), "200 hello", "hello")
	f("not there", always(404, "none"), "404 none", "nothing")
	f("chunks", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "hel")
		w.(http.Flusher).Flush()
		io.WriteString(w, "lo")
	}, "200 hello", "hello")
}

// An answer that is not stored, and a failure, is sent to all requests that had queried
// memcached before its end. Later requests are sent to the fallback again.
func TestOneRequestForEarlierClients(t *testing.T) {
	const clients = 200
	f := func(name string, script http.HandlerFunc, want string) {
		t.Run(name, func(t *testing.T) {
			var b *backed
			b = newBacked(t, func(w http.ResponseWriter, r *http.Request) {
				await.Until(t, func() bool { return len(b.servers[0].Commands("mg")) >= clients })
				script(w, r)
			}, minute(func(l *Location) { l.Store.MaxSize = 100 })).listen()
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					if r := b.get("/a?k=1"); fmt.Sprint(r.status, " ", r.body) != want {
						t.Errorf("got %s, want %s", r, want)
					}
				})
			}
			wg.Wait()
			b.waitIdle()
			if n := len(b.requests()); n != 1 {
				t.Errorf("the fallback was asked %d times", n)
			}
			b.get("/a?k=1")
			if n := len(b.requests()); n != 2 {
				t.Errorf("after a later request the fallback was asked %d times, want 2", n)
			}
		})
	}
	long := strings.Repeat("x", 101)
	f("error", always(500, "oops"), "500 oops")
	f("too large", always(200, long), "200 "+long)
	f("elsewhere", always(302, "", "Location", "/b"), "302 ")
}

// Fields that are not forwarded to the fallback do not separate requests, even if Vary lists
// them.
func TestOneRequestForAllCookies(t *testing.T) {
	const clients = 20
	f := func(name, vary string, change func(*Location)) {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			b := newBacked(t, func(w http.ResponseWriter, _ *http.Request) {
				<-gate
				w.Header().Set("Vary", vary)
				io.WriteString(w, "hello")
			}, minute(change)).listen()
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					fields := []string{"Cookie", fmt.Sprint("a=1; b=", i), "Authorization", fmt.Sprint(i), "Accept-Encoding", []string{"gzip", "br"}[i%2], "X-A", "1"}
					if r := b.get("/a?k=1", fields...); r.body != "hello" || r.header.Get("Vary") != vary {
						t.Errorf("got %s, Vary: %s; want %s", r, r.header.Get("Vary"), vary)
					}
				})
			}
			await.Until(t, func() bool { return b.svc.settings.Load().fallbacks[0].Stats().Joined == clients-1 })
			close(gate)
			wg.Wait()
			b.waitIdle()
			if n := len(b.requests()); n != 1 {
				t.Errorf("the fallback was asked %d times", n)
			}
		})
	}
	f("removed fields", "Accept-Encoding, Cookie, Authorization", func(l *Location) { l.Public = true })
	f("in the key", "Accept-Encoding, Cookie, X-A", func(l *Location) {
		l.Public, l.Key = true, "${arg.k}${cookie.a}${header.x-a}"
	})
}

// Cache-Status reports whether an answer is shared, and why it is not stored.
func TestSharing(t *testing.T) {
	script := func(status int, fields ...string) http.HandlerFunc { return always(status, "hello", fields...) }
	f := func(name string, loc Location, script http.HandlerFunc, request []string, how, stored, asked string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			b := newBacked(t, script, loc).listen()
			r := b.get("/a?k=1", request...)
			if got := strings.TrimPrefix(r.header.Get("Cache-Status"), "kasoku; "); got != how || r.body != "hello" {
				t.Errorf("got %s, want %s", r, how)
			}
			b.waitIdle()
			if got := b.requests(); len(got) != 1 || got[0] != "GET /a?k=1"+asked || b.stored("1") != stored {
				t.Errorf("the fallback got %q, stored is %q; want one request with %q, and %q", got, b.stored("1"), asked, stored)
			}
		})
	}
	all := minute()
	public := minute(func(l *Location) { l.Public = true })
	unstored := minute(func(l *Location) { l.Store = nil })
	small := minute(func(l *Location) { l.Store.MaxSize = 4 })
	cookie := minute(func(l *Location) { l.Key = "${arg.k}${cookie.a:-}" })
	header := minute(func(l *Location) { l.Key = "${arg.k}${header.X-A:-}" })
	ok := script(200)
	f("plain", all, ok, nil, "fwd=miss; stored", "hello", "")
	f("with any freshness", all, script(200, "Cache-Control", "no-cache, max-age=0", "Expires", "0"), nil, "fwd=miss; stored", "hello", "")
	f("range", all, ok, []string{"Range", "bytes=0-1", "If-Range", `"1"`}, "fwd=miss; stored", "hello", "")
	f("reload", all, ok, []string{"Cache-Control", "no-cache"}, "fwd=miss; stored", "hello", "")
	f("no store", unstored, ok, nil, "fwd=miss; detail=store-off", "nothing", "")
	f("set-cookie", all, script(200, "Set-Cookie", "a=b"), nil, "fwd=miss; detail=set-cookie", "nothing", "")
	f("set-cookie of a 404", all, script(404, "Set-Cookie", "a=b"), nil, "fwd=miss; detail=set-cookie", "nothing", "")
	f("private", all, script(200, "Cache-Control", "max-age=60, private"), nil, "fwd=miss; detail=private", "nothing", "")
	f("no-store", all, script(200, "Cache-Control", "no-store"), nil, "fwd=miss; detail=no-store", "nothing", "")
	f("vary", all, script(200, "Vary", "X-A"), nil, "fwd=miss; detail=vary", "nothing", "")
	f("vary on all", all, script(200, "Vary", "*"), nil, "fwd=miss; detail=vary-star", "nothing", "")
	f("vary on codings", all, script(200, "Vary", "accept-encoding"), []string{"Accept-Encoding", "gzip"}, "fwd=miss; stored", "hello", "")
	f("vary on the key", header, script(200, "Vary", "X-A"), nil, "fwd=miss; stored", "hello", "")
	f("vary on a removed field", public, script(200, "Vary", "Cookie"), nil, "fwd=miss; stored", "hello", "")
	f("404", all, script(404), nil, "fwd=miss; detail=negative", "nothing", "")
	f("500", all, script(500), nil, "fwd=miss; detail=status", "nothing", "")
	f("203", all, script(203), nil, "fwd=miss; detail=status", "nothing", "")
	f("too large", small, ok, nil, "fwd=miss; detail=too-large", "nothing", "")
	f("coding", all, script(200, "Content-Encoding", "br"), nil, "fwd=miss; detail=encoding", "nothing", "")
	f("codings", all, script(200, "Content-Encoding", "gzip, gzip"), nil, "fwd=miss; detail=encoding", "nothing", "")
	f("authorization", all, ok, []string{"Authorization", "Basic eA=="}, "fwd=miss; detail=credentials", "nothing", " Authorization=Basic eA==")
	f("cookie", all, ok, []string{"Cookie", "a=b"}, "fwd=miss; detail=credentials", "nothing", " Cookie=a=b")
	f("public", public, ok, []string{"Authorization", "Basic eA==", "Cookie", "a=b"}, "fwd=miss; stored", "hello", "")
	f("no-store asked", all, ok, []string{"Cache-Control", "no-store"}, "fwd=miss; detail=no-store", "nothing", "")
	f("a cookie and another", cookie, ok, []string{"Cookie", "a=; b=c"}, "fwd=miss; detail=credentials", "nothing", " Cookie=a=; b=c")
	f("the key's cookie", cookie, ok, []string{"Cookie", "a="}, "fwd=miss; stored", "hello", " Cookie=a=")
}

// Concurrent clients with different credentials get their own answers.
func TestAnswersAreNotMixed(t *testing.T) {
	gate := make(chan struct{})
	b := newBacked(t, func(w http.ResponseWriter, r *http.Request) {
		<-gate
		w.Header().Set("Set-Cookie", "s="+r.Header.Get("X-A"))
		io.WriteString(w, "of "+r.Header.Get("X-A")+r.Header.Get("Authorization"))
	}, minute()).listen()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			me := fmt.Sprint(i)
			if r := b.get("/a?k=1", "X-A", me); r.body != "of "+me || r.header.Get("Set-Cookie") != "s="+me {
				t.Errorf("client %s got %s", me, r)
			}
			if r := b.get("/a?k=1", "Authorization", me); r.body != "of "+me {
				t.Errorf("client %s got %s", me, r)
			}
		})
	}
	await.Until(t, func() bool { return len(b.servers[0].Commands("mg")) > 10 })
	close(gate)
	wg.Wait()
	if b.stored("1") != "nothing" {
		t.Errorf("stored is %q, want nothing", b.stored("1"))
	}
}

// Resources that the fallback lacks are remembered, and memcached is still queried first.
func TestNegative(t *testing.T) {
	b := newBacked(t, always(410, "gone"), minute()).listen()
	b.expect("first", `410 "gone" fwd=miss; detail=negative`, b.get("/a?k=1"))
	b.waitIdle()
	for range 3 {
		b.expect("then", `410 "gone" hit; detail=negative`, b.get("/a?k=1"))
	}
	b.set("1", "there", 0, time.Hour)
	b.expect("once memcached has a value", `200 "there" hit; detail=memcached`, b.get("/a?k=1"))
	if n := len(b.requests()); n != 1 {
		t.Errorf("the fallback was asked %d times", n)
	}
}

// Requests without a location or with another method are forwarded with their bodies.
func TestPassed(t *testing.T) {
	b := newBacked(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
		fmt.Fprint(w, r.Method, r.RequestURI)
	}, minute()).listen()
	b.expect("another path", `200 "GET/b?k=1" fwd=bypass; detail=no-location`, b.get("/b?k=1"))
	b.expect("another method", `200 "postedPOST/a?k=1" fwd=method; detail=passed`, b.get("POST /a?k=1"))
	b.expect("no key", `200 "GET/a" fwd=miss; detail=no-key`, b.get("/a"))
	if r := b.get("HEAD /a?k=1"); r.status != 200 || r.header.Get("Cache-Status") != "kasoku; fwd=miss; detail=passed" {
		t.Errorf("HEAD: %s", r)
	}
	if b.stored("1") != "nothing" {
		t.Errorf("stored is %q, want nothing", b.stored("1"))
	}
}

// A failure of memcached is a miss with its reason.
func TestFallbackForFailedServer(t *testing.T) {
	b := newBacked(t, always(200, "hello"), minute(func(l *Location) { l.NegativeTTL = 0 }))
	b.cfg.Client.Breaker.Failures = 1000 // the server is never marked down
	b.listen()
	b.set("1", "\x80\x04pickled", 1, 0)
	b.svc.settings.Load().cfg.Values = 0
	b.servers[0].Stop()
	b.expect("down", `200 "hello" fwd=miss; detail=down; stored`, b.get("/a?k=1"))
	b.waitIdle()
	if n := b.count("kasoku_memcached_fallback_stores_total", "outcome", "server-failed"); n != 1 {
		t.Errorf("%d failures are counted, want 1", n)
	}
	b.servers[0].Restart()
	b.servers[0].Script(func(command string) (string, bool) { return "nonsense\r\n", strings.HasPrefix(command, "mg") })
	if !await.Until(t, func() bool { return b.get("/a?k=1").String() == `200 "hello" fwd=miss; detail=garbled; stored` }) {
		t.Error("an invalid reply was not reported as garbled")
	}
}

// Nothing is stored in a server that is marked down, and Cache-Status has the reason.
func TestStoreIsDown(t *testing.T) {
	asking := make(chan struct{})
	answer := make(chan struct{})
	b := newBacked(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("k") == "late" {
			close(asking)
			<-answer
		}
		always(200, "hello")(w, r)
	}, minute())
	b.cfg.Client.Breaker = client.Breaker{Failures: 1, RetryEvery: time.Hour}
	b.listen()
	var late *reply
	var wg sync.WaitGroup
	wg.Go(func() { late = b.get("/a?k=late") })
	<-asking
	b.servers[0].Stop()
	b.get("/a?k=1")
	c := b.svc.settings.Load().client
	if !await.Until(t, func() bool { return !c.Up(0) }) {
		t.Fatal("the server was not marked down")
	}
	close(answer)
	wg.Wait()
	b.expect("down during the request", `200 "hello" fwd=miss; detail=store-server-down`, late)
	b.waitIdle()
	tried := b.count("kasoku_memcached_fallback_stores_total", "outcome", "server-failed")
	b.expect("down", `200 "hello" fwd=miss; detail=down`, b.get("/a?k=2"))
	b.waitIdle()
	if n := b.count("kasoku_memcached_fallback_stores_total", "outcome", "server-failed"); n != tried {
		t.Errorf("%d stores were attempted, %d before the server was down; want no more", n, tried)
	}
}
