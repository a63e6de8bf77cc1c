package httpcache

import (
	"context"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/purge"
)

// A purge by a tag during a validation applies to the updated response, even if the answer
// has removed the tag.
func TestPurgeOfRemovedTag(t *testing.T) {
	const part = "HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nETag: \"1\"\nContent-Range: bytes 0-1/5\nContent-Length: 2\nSurrogate-Key: old\n\nhe"
	f := func(name, first, second, line string, fields ...string) {
		t.Run(name, func(t *testing.T) {
			received, gate := make(chan struct{}), make(chan struct{})
			s := newSite(t, func(a *asked) {
				switch a.n {
				case 1:
					a.respond(first)
				case 2:
					received <- struct{}{}
					<-gate
					a.respond(second)
				default:
					a.ok("newer")
				}
			})
			s.ask("GET /a", fields...)
			c := s.dial()
			c.send(line + " /a HTTP/1.1\nHost: site")
			<-received
			if err := s.store.Purge(context.Background(), store.Purge{Selector: purge.By(purge.Tag, "old")}); err != nil {
				t.Fatal(err)
			}
			close(gate)
			c.rest(c.head(), line)
			if g := s.ask("GET /a"); g.body != "newer" {
				t.Errorf("the purged response was served: %s", g)
			}
		})
	}
	const tagged = "Surrogate-Key: new\nCache-Control: max-age=60\nETag: \"1\"\n"
	f("304", stale+"Surrogate-Key: old\n\nhello", "HTTP/1.1 304 Not Modified\n"+tagged+"\n", "GET")
	f("HEAD", stale+"Surrogate-Key: old\n\nhello", "HTTP/1.1 200 OK\n"+tagged+"\n", "HEAD")
	f("rest", part, "HTTP/1.1 206 Partial Content\nContent-Range: bytes 2-4/5\nContent-Length: 3\n"+tagged+"\nllo", "GET", "Range: bytes=0-1")
}
