package cli

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// refusing returns an address at which connections are refused.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// count returns how often text was written.
func (c *console) count(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Count(c.text.String(), text)
}

// TestFailuresOfOrigins sends requests to services whose origins are down. The log has the
// cause and the request, once for many requests, and the service is not ready until a request
// succeeds.
func TestFailuresOfOrigins(t *testing.T) {
	f := func(kind, service string) {
		unavailable := "none of its origins is available"
		if kind == "memcached" {
			unavailable = "no origin of a fallback is available"
		}
		t.Run(kind, func(t *testing.T) {
			log := newConsole()
			r := runLogging(t, "admin: {listen: \"127.0.0.1:0\"}\nservices:\n  web: {type: "+kind+", listen: \"127.0.0.1:0\", "+
				strings.ReplaceAll(service, "ADDRESS", refusing(t))+"}\n", slog.NewTextHandler(log, nil))
			for i := range 3 {
				req, err := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("http://%s/db/%d?secret=x", r.ServiceAddr("web"), i), nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Request-Id", fmt.Sprintf("request-%d", i))
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode < 500 {
					t.Errorf("got status %d", resp.StatusCode)
				}
			}
			if got := log.count("the origin failed a request"); got != 1 {
				t.Errorf("got %d messages about failed requests", got)
			}
			for _, want := range []string{"level=WARN", "service=web", "connection refused", "request_id=request-0", "operation=GET", "path=/db/0", "others_since_last=0"} {
				if log.count(want) == 0 {
					t.Errorf("the log is\n%s\nwant %q in it", log.text.String(), want)
				}
			}
			if log.count("secret") > 0 {
				t.Error("the log has the query")
			}
			if kind == "memcached" { // a server counts as down after several failures
				await.Until(t, func() bool {
					r.fetch("web", "/db/1")
					return strings.Contains(r.page("/readyz"), unavailable)
				})
			}
			for _, page := range []string{"/readyz", "/api/v1/report"} {
				if text := r.page(page); !strings.Contains(text, unavailable) {
					t.Errorf("%s: %s", page, text)
				}
			}
		})
	}
	f("http", `origins: ["http://ADDRESS"]`)
	f("couchdb", `nodes: ["http://ADDRESS/"]`)
	f("memcached", `servers: ["ADDRESS"], fallback: ["http://ADDRESS"], locations: [{path: "/db/{id}", key: "${path.id}"}]`)
}

// TestReadyAgain checks that a service is ready again once its origin is back.
func TestReadyAgain(t *testing.T) {
	address := refusing(t)
	r := run(t, `admin: {listen: "127.0.0.1:0"}
services:
  web: {type: http, listen: "127.0.0.1:0", origins: ["http://`+address+`"]}
`)
	r.fetch("web", "/")
	ready := func() bool { return strings.HasPrefix(r.page("/readyz"), "ready") }
	if ready() {
		t.Error("ready with an origin that refuses connections")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	origin := &http.Server{Handler: http.NotFoundHandler()}
	t.Cleanup(func() { origin.Close() })
	go origin.Serve(l)
	await.Until(t, func() bool {
		r.fetch("web", "/")
		return ready()
	})
}
