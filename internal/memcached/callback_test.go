package memcached

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// A request to the fallback that clients share has no callback, whatever its other arguments.
// The fallback could wrap the answer itself, and the wrapped answer would be stored.
func TestCallbackIsNotForwarded(t *testing.T) {
	f := func(fields ...string) {
		t.Helper()
		b := newBacked(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, r.URL.Query().Get("callback")+"[1]")
		}, minute(func(l *Location) { l.JSONP = dotted(t, jsonp.Dotted) })).listen()
		r := b.get("/a?k=1&callback=cb", fields...)
		b.waitIdle()
		if got := b.requests(); !slices.Equal(got, []string{"GET /a?k=1"}) || r.body != "/**/cb([1]);" || b.stored("1") != "[1]" {
			t.Errorf("%q: got %s, the fallback was asked %q, stored is %q", fields, r, got, b.stored("1"))
		}
	}
	f()
	f("Connection", "upgrade", "Upgrade", "websocket")
}

// A miss without a fallback is wrapped if errors are, and Cache-Status has the callback's
// reason in any case.
func TestCallbackOfMisses(t *testing.T) {
	f := func(errors jsonp.Errors, want string) {
		t.Helper()
		cfg := jsonp.Defaults(jsonp.Dotted)
		cfg.Errors, cfg.Types = errors, []string{"text/plain"} // an error as text is not JSON in any case
		filter, err := jsonp.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", ContentType: "application/json", Fallback: None, JSONP: filter}).start()
		s.wantAnswer(want, []string{"Cache-Status", "Content-Type", "X-Status", "Set-Cookie"}, "GET /k?k=v&callback=cb")
	}
	f(jsonp.OnlySuccess, "404\nCache-Status: kasoku; fwd=miss; detail=missing; jsonp=status\nContent-Type: text/plain; charset=utf-8\n\n"+nothing)
	f(jsonp.AsIs, "404\nCache-Status: kasoku; fwd=miss; detail=missing; jsonp=not-json\nContent-Type: text/plain; charset=utf-8\n\n"+nothing)
	f(jsonp.Envelope, "200\nCache-Status: kasoku; fwd=miss; detail=missing; jsonp=enveloped\nContent-Type: application/javascript; charset=utf-8\nX-Status: 404\n\n"+
		`/**/cb({"status":404,"data":null});`)
}

// Fields that identify a client to a fallback do so for wrapped values as well.
func TestCallbackOfOtherCredentials(t *testing.T) {
	b := newBacked(t, always(200, "[2]", "Content-Type", "application/json"), minute(func(l *Location) {
		l.JSONP, l.ContentType = dotted(t, jsonp.Dotted), "application/json"
	}))
	b.cfg.Fallbacks[0].Credentials = []string{"X-A"}
	b.listen()
	b.set("1", "[1]", 0, 0)
	b.expect("a value", `200 "[1]" hit; detail=memcached; jsonp=credentials`, b.get("/a?k=1&callback=cb", "X-A", "me"))
	b.expect("a miss", `200 "[2]" fwd=miss; detail=credentials; jsonp=credentials`, b.get("/a?k=2&callback=cb", "x-a", "me"))
	b.expect("no credentials", `200 "/**/cb([1]);" hit; detail=memcached; jsonp=wrapped`, b.get("/a?k=1&callback=cb"))
}

// A long value is wrapped without copying it.
func TestCallbackOfLongValues(t *testing.T) {
	long := "[\"" + strings.Repeat("x", 1<<20)
	for name, near := range map[string]time.Duration{"memcached": 0, "a copy": time.Hour} {
		b := newBacked(t, always(500, "oops"), minute(func(l *Location) {
			l.JSONP, l.ContentType, l.NearTTL = dotted(t, jsonp.Dotted), "application/json", near
		})).listen()
		f := func(value, want string) {
			t.Helper()
			b.set("1", value, 0, 0)
			b.svc.forgetAll()
			for range 2 {
				if r := b.get("/a?k=1&callback=cb"); r.body != want || r.header.Get("Content-Length") != strconv.Itoa(len(want)) {
					t.Errorf("%s: got %d bytes, Content-Length %s; want %d", name, len(r.body), r.header.Get("Content-Length"), len(want))
				}
				if r := b.get("HEAD /a?k=1&callback=cb"); r.header.Get("Content-Length") != strconv.Itoa(len(want)) {
					t.Errorf("%s: HEAD: Content-Length %s; want %d", name, r.header.Get("Content-Length"), len(want))
				}
			}
		}
		f("\ufeff"+long+"\"]\n", "/**/cb("+long+"\"]);")
		f(long+"\u2028\"]", "/**/cb("+long+`\u2028"]);`)
		b.set("1", long+`"]`, 0, 0)
		b.svc.forgetAll()
		x := request("GET /a?k=1&callback=cb")
		b.svc.Serve(x)
		if n := cap(x.Reply.Buf); n > 64<<10 {
			t.Errorf("%s: the value was copied to a buffer of %d bytes", name, n)
		}
		x.Reply.Reset()
	}
}
