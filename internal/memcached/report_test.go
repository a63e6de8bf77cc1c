package memcached

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// An explanation lists the steps of the look-up.
func TestExplain(t *testing.T) {
	s := newSite(t, 1, Location{Path: "/k/{id}", Key: "${path.id}.${header.a:-}", NearTTL: time.Hour, Fallback: None}, Location{Path: "/h", Key: "${header.a}", Fallback: None},
		Location{Path: "/j", Key: "${uri}", ContentType: "text/javascript", Fallback: None, JSONP: dotted(t, jsonp.Dotted)})
	s.cfg.Rules.Namespace = "n:"
	s.start()
	s.set("v.", "value", 7, time.Hour)
	explain := func(r admin.ExplainRequest) (decision string, steps string) {
		t.Helper()
		e, err := s.svc.Explain(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range e.Steps {
			steps += p.What + " " + p.Value + "\n"
		}
		return e.Decision, steps
	}
	f := func(decision, want, path string, r admin.ExplainRequest) {
		t.Helper()
		r.Path = path
		got, steps := explain(r)
		want = strings.NewReplacer("SERVER", s.servers[0].Address(), "FALLBACK", "fallback none").Replace(want)
		if got != decision || steps != want {
			t.Errorf("%s: got %s\n%swant %s\n%s", path, got, steps, decision, want)
		}
	}
	f("hit", "location /k/{id}\nkey \"n:v.\"\ncopy none\nserver SERVER\nmemcached hit\nvalue identity\nanswer memcached\n", "/k/v", admin.ExplainRequest{})
	s.ask(nil, "GET /k/v")
	f("hit", "location /k/{id}\nkey \"n:v.\"\ncopy fresh\nanswer near\n", "http://host/k/v?x=1", admin.ExplainRequest{Method: "HEAD"})
	f("miss", "location /k/{id}\nkey \"n:v.1\"\ncopy none\nserver SERVER\nmemcached miss\nFALLBACK\nanswer missing\n", "/k/v",
		admin.ExplainRequest{Headers: map[string]string{"A": "1"}})
	f("miss", "location /h\nFALLBACK\nanswer no-key\n", "/h", admin.ExplainRequest{})
	f("miss", "location /h\nkey \"n:a b\"\nFALLBACK\nanswer bad-key\n", "/h", admin.ExplainRequest{Headers: map[string]string{"A": "a b"}})
	f("pass", "location /h\nFALLBACK\nanswer method\n", "/h", admin.ExplainRequest{Method: "POST"})
	f("pass", "location none\nFALLBACK\nanswer no-location\n", "/x", admin.ExplainRequest{})
	j := func(how string) string {
		return "location /j\ncallback " + how + "\nkey \"n:/j\"\nserver SERVER\nmemcached miss\nFALLBACK\nanswer missing\n"
	}
	f("miss", j("wrapped"), "/j?callback=f", admin.ExplainRequest{})
	f("miss", j("credentials"), "/j?callback=f#?callback=a-b", admin.ExplainRequest{Headers: map[string]string{"Cookie": "a=b"}})
	f("local", "location /j\ncallback bad-name\nanswer bad-callback\n", "/j?callback=a-b", admin.ExplainRequest{})
	f("miss", strings.Replace(j(""), "callback \n", "", 1), "/j", admin.ExplainRequest{})
	s.cfg.Fallbacks = []httpcache.Config{fallbackOf("http://127.0.0.1:1", "http://127.0.0.1:2")}
	s.cfg.Locations[1].Fallback = 0
	if err := s.svc.Reconfigure(s.cfg); err != nil {
		t.Fatal(err)
	}
	f("miss", "location /h\nfallback http://127.0.0.1:1 http://127.0.0.1:2\nanswer no-key\n", "/h", admin.ExplainRequest{})
	if _, err := s.svc.Explain(context.Background(), admin.ExplainRequest{Path: "/h", Headers: map[string]string{"a b": "c"}}); !errors.Is(err, admin.ErrInput) {
		t.Errorf("an invalid header: got the error %v", err)
	}
}

// The report lists the servers, with a note on each that is down. If all are down and there is
// no fallback, the service is not ready.
func TestReport(t *testing.T) {
	s := newSite(t, 2, Location{Path: "/k", Key: "${arg.k}", Fallback: None})
	s.cfg.Client.Breaker = client.Breaker{Failures: 1, RetryEvery: time.Hour}
	s.start()
	s.set("a", "value", 0, 0)
	s.ask(nil, "GET /k?k=a")
	r := s.svc.Report()
	if r.Type != "memcached" || len(r.Members) != 2 || r.Members[0].State != "up" || r.Members[0].Weight != 1 || r.Origin.Requests != 1 ||
		r.Origin.URL != s.servers[0].Address()+" "+s.servers[1].Address() || len(r.Notes) != 0 || s.svc.Ready() != nil {
		t.Errorf("got %+v", r)
	}
	down := s.server("a")
	down.Stop()
	s.ask(nil, "GET /k?k=a")
	await.Until(t, func() bool { return len(s.svc.Report().Notes) == 1 })
	r = s.svc.Report()
	if !strings.Contains(r.Notes[0], down.Address()+" is down") || s.svc.Ready() != nil {
		t.Errorf("got notes %+v, Ready() = %v", r.Notes, s.svc.Ready())
	}
	for _, m := range r.Members {
		if (m.State == "down") != (m.Origin == down.Address()) {
			t.Errorf("got %+v", m)
		}
	}
	for _, m := range s.servers {
		m.Stop()
	}
	for _, k := range []string{"a", "b", "c", "d", "e", "f"} {
		s.ask(nil, "GET /k?k="+k)
	}
	await.Until(t, func() bool { return s.svc.Ready() != nil })
}
