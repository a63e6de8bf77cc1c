package memcached

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// dotted returns a filter with the usual settings, for JSON of the type text/javascript.
func dotted(t testing.TB, mode jsonp.Mode) *jsonp.Filter {
	t.Helper()
	cfg := jsonp.Defaults(mode)
	cfg.Param, cfg.Types = "callback", []string{"text/javascript"}
	f, err := jsonp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestHotPathAllocs checks that a hit allocates nothing, from memcached or from a copy.
func TestHotPathAllocs(t *testing.T) {
	f := func(name string, near time.Duration, filter *jsonp.Filter, want string, what string, fields ...string) {
		t.Helper()
		s := newSite(t, 1, Location{
			Path: "/count/{kind}", Key: "${arg.user_id}::${path.kind}", ContentType: "text/javascript", ETag: true, CacheControl: "no-cache",
			NearTTL: near, JSONP: filter, Fallback: None,
		})
		s.cfg.Rules.Namespace, s.cfg.Client.Protocol = "testapp::", client.Text
		for i := range s.servers {
			s.cfg.Client.Servers[i].Address = startMinimalServer(t, map[string]string{
				"testapp::100::all": `{"count":1000}`, "testapp::200::all": strings.Repeat("long ", 10_000),
			})
		}
		s.start()
		if got := s.ask(nil, what, fields...); !strings.HasPrefix(got, want) {
			t.Fatalf("%s: got %.100s", name, got)
		}
		x := request(what, fields...)
		if n := testing.AllocsPerRun(200, func() { serveAgain(s, x) }); n != 0 && !race.Enabled {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	const target = "GET /count/all?user_id=100"
	for name, near := range map[string]time.Duration{"memcached": 0, "near": time.Hour} {
		f(name, near, nil, "200\n\n{\"count\"", target)
		f(name+" with a filter", near, dotted(t, jsonp.Dotted), "200\n\n{\"count\"", target)
		f(name+" jsonp", near, dotted(t, jsonp.Dotted), "200\n\n/**/cb.a({", target+"&callback=cb.a&_=7")
		f(name+" legacy", near, dotted(t, jsonp.Legacy), "200\n\ncb({", target+"&callback=cb")
		f(name+" long", near, nil, "200\n\nlong ", "GET /count/all?user_id=200")
		f(name+" HEAD", near, nil, "200", "HEAD /count/all?user_id=100")
		f(name+" not modified", near, nil, "304", target, "If-None-Match", `"a", `+tagText(`{"count":1000}`))
	}
}

// startMinimalServer starts a memcached that does not allocate. It has these values, and
// answers one get at a time.
func startMinimalServer(t testing.TB, values map[string]string) (address string) {
	t.Helper()
	replies := map[string][]byte{}
	for k, v := range values {
		replies["get "+k+"\r\n"] = fmt.Appendf(nil, "VALUE %s 0 %d\r\n%s\r\nEND\r\n", k, len(v), v)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	serve := func(nc net.Conn) {
		defer nc.Close()
		var room [512]byte
		for {
			n, err := nc.Read(room[:])
			if err != nil {
				return
			}
			reply := replies[string(room[:n])]
			if reply == nil {
				reply = unknown
			}
			if _, err := nc.Write(reply); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go serve(nc)
		}
	}()
	return l.Addr().String()
}

var unknown = []byte("ERROR\r\n")

// tagText returns the entity tag of a value.
func tagText(value string) string {
	t := tagOf([]byte(value))
	return string(t.bytes())
}

// serveAgain answers an exchange and resets it.
func serveAgain(s *site, x *edge.Exchange) {
	s.svc.Serve(x)
	x.Reply.Reset()
}
