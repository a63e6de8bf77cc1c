package httpcache

import (
	"context"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// Whoever asks after a purge was answered sees what the origin had when the purge
// began, or newer, whatever else goes on.
func TestNobodySeesWhatWasPurged(t *testing.T) {
	s := open(t, FlightLimits{})
	var version, purged, reads atomic.Int64
	fill := func(context.Context, *Flight) (*Answer, error) {
		body := strconv.FormatInt(version.Load(), 10)
		a := shared(get(url), "Cache-Tag", "t")
		a.Body, a.Length = io.NopCloser(strings.NewReader(body)), int64(len(body))
		return a, nil
	}
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				least := purged.Load()
				got := ""
				if f := s.Find(get(url)); f.Object != nil {
					got = text(f.Object)
				} else {
					got = fetchAny(t, s, fill)
				}
				if n, err := strconv.ParseInt(got, 10, 64); err != nil || n < least {
					t.Errorf("got %q after the purge of what came before %d", got, least)
					return
				}
				reads.Add(1)
				runtime.Gosched() // else each takes ten milliseconds where all share a processor
			}
		})
	}
	kinds := []store.Purge{{URL: url}, {Prefix: "/a"}, {Pattern: "http://*/a*"}, {Tag: "t"}, {All: true}}
	for i := range 400 {
		now := version.Add(1)
		switch i % 7 {
		case 5:
			s.Invalidate(get(url).Key)
		case 6:
			s.Purge(store.Purge{Tag: "t"})
			s.Sweep()
		default:
			if err := s.Purge(kinds[i%7]); err != nil {
				t.Error(err)
			}
		}
		purged.Store(now)
		for until := reads.Load() + 2; reads.Load() < until && !t.Failed(); {
			runtime.Gosched()
		}
	}
	close(over)
	readers.Wait()
}

func fetchAny(t *testing.T, s *engine, fill FillFunc) string {
	ticket := s.Fly(&Ask{Query: get(url), Fill: fill})
	defer ticket.Leave()
	out, err := ticket.Wait(context.Background())
	if err == nil && out.Way == Whole {
		return text(out.Object)
	}
	got, err := readAll(context.Background(), ticket)
	if err != nil {
		t.Error(err)
	}
	return got
}

// A purge by a tag that comes while the origin is asked finds what is made of the
// response that had the tag, also if the answer has taken the tag away.
func TestPurgeOfTagThatAnUpdateTakes(t *testing.T) {
	const part = "HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nETag: \"1\"\nContent-Range: bytes 0-1/5\nContent-Length: 2\nSurrogate-Key: old\n\nhe"
	f := func(name, first, second, line string, fields ...string) {
		t.Run(name, func(t *testing.T) {
			came, gate := make(chan struct{}), make(chan struct{})
			s := newSite(t, func(a *asked) {
				switch a.n {
				case 1:
					a.say(first)
				case 2:
					came <- struct{}{}
					<-gate
					a.say(second)
				default:
					a.ok("newer")
				}
			})
			s.ask("GET /a", fields...)
			c := s.visit()
			c.send(line + " /a HTTP/1.1\nHost: site")
			<-came
			if err := s.store.Purge(store.Purge{Tag: "old"}); err != nil {
				t.Fatal(err)
			}
			close(gate)
			c.rest(c.head(), line)
			if g := s.ask("GET /a"); g.body != "newer" {
				t.Errorf("what was purged is there: %s", g)
			}
		})
	}
	const tagged = "Surrogate-Key: new\nCache-Control: max-age=60\nETag: \"1\"\n"
	f("304", stale+"Surrogate-Key: old\n\nhello", "HTTP/1.1 304 Not Modified\n"+tagged+"\n", "GET")
	f("HEAD", stale+"Surrogate-Key: old\n\nhello", "HTTP/1.1 200 OK\n"+tagged+"\n", "HEAD")
	f("rest", part, "HTTP/1.1 206 Partial Content\nContent-Range: bytes 2-4/5\nContent-Length: 3\n"+tagged+"\nllo", "GET", "Range: bytes=0-1")
}
