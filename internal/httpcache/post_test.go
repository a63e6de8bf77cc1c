package httpcache

import (
	"context"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// The answer to a POST that another write has overtaken is not stored.
func TestPostOvertaken(t *testing.T) {
	var s *site
	s = newSite(t, func(a *asked) {
		if strings.HasPrefix(a.head, "POST ") {
			s.store.Invalidate(context.Background(), store.AppendKey(nil, "http", []byte("site"), []byte("/a"), nil))
			a.respond("HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Location: /a\nContent-Length: 7\n\nwritten")
			return
		}
		a.ok("read")
	})
	s.ask("GET /a")
	c := s.dial()
	c.send("POST /a HTTP/1.1\nHost: site\nContent-Length: 3\n\nabc")
	c.rest(c.head(), "POST")
	if g := s.ask("GET /a"); g.body != "read" || len(s.origin.requests()) != 3 {
		t.Errorf("afterwards: %s", g)
	}
}
