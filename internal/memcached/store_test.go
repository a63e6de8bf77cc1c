package memcached

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/memcached/value"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// codedBy returns text in a coding.
func codedBy(text string, in func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	w := in(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

func asGzip(text string) string {
	return codedBy(text, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func asZlib(text string) string {
	return codedBy(text, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

// An answer is stored in the form that later readers expect, or not at all.
func TestStored(t *testing.T) {
	f := func(name string, script http.HandlerFunc, values value.Profile, before, stored string, outcome Outcome, change ...func(*Location)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			b := newBacked(t, script, minute(change...))
			b.cfg.Values = values
			b.listen()
			b.servers[0].Script(func(command string) (string, bool) {
				if before != "" && strings.HasPrefix(command, "mg") {
					return "EN\r\n", true // the value is stored right after that
				}
				return "", false
			})
			if before != "" {
				b.set("1", before, 0, time.Hour)
			}
			b.get("/a?k=1")
			b.waitIdle()
			if got := b.stored("1"); got != stored {
				t.Errorf("stored is %.40q, want %.40q", got, stored)
			}
			if n := b.count("kasoku_memcached_fallback_stores_total", "outcome", outcome.String()); n != 1 {
				t.Errorf("%s is counted %d times, want once", outcome, n)
			}
		})
	}
	small := func(l *Location) { l.Store.MaxSize = 100 }
	replace := func(l *Location) { l.Store.Replace = true }
	chunked := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			io.WriteString(w, text)
		}
	}
	long := strings.Repeat("x", 101)
	f("gzip", always(200, asGzip("hello"), "Content-Encoding", "gzip"), value.Raw, "", "hello", Kept)
	f("deflate", always(200, asZlib("hello"), "Content-Encoding", "deflate"), value.CMF, "", "hello", Kept)
	f("gzip of too much", always(200, asGzip(long), "Content-Encoding", "gzip"), value.Raw, "", "nothing", Oversized, small)
	f("no gzip", always(200, "hello", "Content-Encoding", "gzip"), value.Raw, "", "nothing", Undecodable)
	f("gzip where readers decode it", always(200, asGzip("hello")), value.Raw, "", "nothing", Misread)
	f("gzip where readers keep it", always(200, asGzip("hello")), value.Bytes, "", asGzip("hello"), Kept)
	f("longer than announced", chunked(long), value.Raw, "", "nothing", Oversized, small)
	f("longer than memcached takes", chunked(strings.Repeat("x", 1<<20-1)), value.Raw, "", "nothing", Oversized)
	f("nothing", always(200, ""), value.Raw, "", "", Kept)
	f("another client stored first", always(200, "hello"), value.Raw, "theirs", "theirs", AlreadyThere)
	f("and is replaced", always(200, "hello"), value.Raw, "theirs", "hello", Kept, replace)
	f("cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "200")
		io.WriteString(w, long)
	}, value.Raw, "", "nothing", Cut)
}

// With concurrent requests, writes and purges, the answer for a key is its value or the
// fallback's, never that of another key.
func TestRacesOfKeys(t *testing.T) {
	b := newBacked(t, func(w http.ResponseWriter, r *http.Request) {
		k := r.URL.Query().Get("k")
		switch rand.IntN(8) {
		case 0:
			w.WriteHeader(404)
		case 1:
			w.WriteHeader(503)
		case 2:
			w.Header().Set("Set-Cookie", "a=b")
		case 3:
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, k+" ")
		io.WriteString(w, strings.Repeat(k, 100))
	}, minute(stale, func(l *Location) { l.NegativeTTL, l.NearTTL = time.Nanosecond, time.Millisecond })).listen()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for range 100 {
				k := fmt.Sprint("key", random.IntN(8))
				switch random.IntN(12) {
				case 0:
					b.server(k).Delete(k)
				case 1:
					b.set(k, k+" "+strings.Repeat(k, 100), 0, time.Duration(1+random.IntN(11))*time.Minute)
				case 2:
					b.svc.forgetAll()
				default:
					var fields []string
					if random.IntN(4) == 0 {
						fields = []string{"Cookie", "c=d"}
					}
					if r := b.get("/a?k="+k, fields...); r.body != k+" "+strings.Repeat(k, 100) {
						t.Errorf("a request for %s got %.40s", k, r)
					}
				}
			}
		})
	}
	wg.Wait()
	b.waitIdle()
	for i := range 8 {
		k := fmt.Sprint("key", i)
		if got := b.stored(k); got != "nothing" && got != k+" "+strings.Repeat(k, 100) {
			t.Errorf("%s has %.40q in memcached", k, got)
		}
	}
}

// A reload changes, adds and removes fallbacks.
func TestFallbacksReload(t *testing.T) {
	b := newBacked(t, always(200, "one"), minute(func(l *Location) { l.Store = nil })).listen()
	b.expect("before", `200 "one" fwd=miss; detail=store-off`, b.get("/a?k=1"))
	b.waitIdle() // a request may join a flight that has not ended, and get its answer
	two := newBacked(t, always(200, "two"))
	next := b.cfg
	next.Fallbacks = []httpcache.Config{fallbackOf(two.back.URL), fallbackOf(b.back.URL)}
	next.Fallback = 1
	if err := b.svc.Reconfigure(next); err != nil {
		t.Fatal(err)
	}
	b.expect("another", `200 "two" fwd=miss; detail=store-off`, b.get("/a?k=1"))
	b.expect("a second", `200 "one" fwd=bypass; detail=no-location`, b.get("/b"))
	b.waitIdle()
	bad := next
	bad.Fallbacks = []httpcache.Config{fallbackOf(b.back.URL), fallbackOf("nonsense")}
	if err := b.svc.Reconfigure(bad); err == nil {
		t.Fatal("an invalid fallback was accepted")
	}
	b.expect("after a mistake", `200 "two" fwd=miss; detail=store-off`, b.get("/a?k=1"))
	none := next
	none.Fallbacks, none.Fallback = nil, None
	none.Locations = []Location{next.Locations[0]}
	none.Locations[0].Fallback = None
	if err := b.svc.Reconfigure(none); err != nil {
		t.Fatal(err)
	}
	if r := b.get("/b"); r.status != 404 {
		t.Errorf("without: %s", r)
	}
}

// A fallback that is configured again before its predecessor of the same name is closed keeps
// its counters.
func TestFallbackReplacedWithinGrace(t *testing.T) {
	b := newBacked(t, always(200, "hello"), minute(), minute(func(l *Location) { l.Path = "/b" }))
	one := b.cfg
	two := b.cfg
	two.Fallbacks = []httpcache.Config{b.cfg.Fallbacks[0], fallbackOf(b.back.URL)}
	two.Locations = slices.Clone(b.cfg.Locations)
	two.Locations[1].Fallback = 1
	b.cfg = two
	b.listen()
	reload := func(cfg Config) {
		t.Helper()
		if err := b.svc.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
	}
	endGrace := func() {
		backs := &b.svc.fallbacks
		backs.mu.Lock()
		for _, timer := range backs.retired {
			timer.Reset(0)
		}
		backs.mu.Unlock()
		await.Until(t, func() bool {
			backs.mu.Lock()
			defer backs.mu.Unlock()
			return len(backs.retired) == 0
		})
	}
	series := func() int {
		w := httptest.NewRecorder()
		b.registry.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return strings.Count(w.Body.String(), `service="counts/2"`)
	}
	b.get("/b?k=1")
	await.Until(t, func() bool { return b.svc.settings.Load().fallbacks[1].Stats().Running == 0 })
	before := series()
	reload(one)
	reload(two)
	endGrace()
	if n := series(); n != before || n == 0 {
		t.Errorf("the second fallback has %d series, want %d", n, before)
	}
	reload(one)
	bad := two
	bad.Fallbacks = []httpcache.Config{two.Fallbacks[0], fallbackOf("nonsense")}
	if err := b.svc.Reconfigure(bad); err == nil {
		t.Error("a fallback without members was accepted")
	}
	endGrace()
	if n := series(); n != 0 {
		t.Errorf("the removed fallback has %d series, want 0", n)
	}
}
