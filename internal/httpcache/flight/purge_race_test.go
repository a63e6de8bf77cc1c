package flight

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
	"github.com/kasoku/kasoku/internal/purge"
)

// A request after a completed purge gets the version that the origin had when the purge
// began, or a newer one, also beside concurrent fetches, writes and sweeps.
func TestPurgedIsNotServed(t *testing.T) {
	s := open(t, Limits{})
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
				oldest := purged.Load()
				got := ""
				if f := s.Find(get(url)); f.Object != nil {
					got = text(f.Object)
				} else {
					got = fetchAny(t, s, fill)
				}
				if n, err := strconv.ParseInt(got, 10, 64); err != nil || n < oldest {
					t.Errorf("got version %q, %v; want %d or later", got, err, oldest)
					return
				}
				reads.Add(1)
				runtime.Gosched() // otherwise each takes ten milliseconds on one processor
			}
		})
	}
	kinds := []store.Purge{
		{Selector: purge.By(purge.URL, url)},
		{Selector: purge.By(purge.Prefix, "/a")},
		{Selector: purge.By(purge.Pattern, "http://*/a*")},
		{Selector: purge.By(purge.Tag, "t")},
		{},
	}
	for i := range 400 {
		now := version.Add(1)
		switch i % 7 {
		case 5:
			s.Invalidate(context.Background(), get(url).Key)
		case 6:
			s.Purge(context.Background(), store.Purge{Selector: purge.By(purge.Tag, "t")})
			s.Sweep()
		default:
			if err := s.Purge(context.Background(), kinds[i%7]); err != nil {
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

// fetchAny returns the body that a new request for url gets.
func fetchAny(t *testing.T, s *engine, fill FillFunc) string {
	waiter := s.Join(&Request{Query: get(url), Fill: fill})
	defer waiter.Leave()
	out, err := waiter.Wait(context.Background())
	if err == nil && out.Kind == Whole {
		return text(out.Object)
	}
	got, err := readAll(context.Background(), waiter)
	if err != nil {
		t.Error(err)
	}
	return got
}
