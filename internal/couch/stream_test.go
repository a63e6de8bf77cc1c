package couch

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// follower reads a live feed.
type follower struct {
	resp  *http.Response
	lines *bufio.Scanner
}

// feed opens a feed.
func (s *site) feed(path string, fields ...string) *follower {
	s.t.Helper()
	r, err := http.NewRequest("GET", "http://"+s.addr+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	resp, err := s.client.Do(r.WithContext(ctx))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return &follower{resp, bufio.NewScanner(resp.Body)}
}

// next returns the next line that is not empty, and "" at the end.
func (f *follower) next() string {
	for f.lines.Scan() {
		if f.lines.Text() != "" {
			return f.lines.Text()
		}
	}
	return ""
}

// cacheStatus returns Cache-Status without the name of the cache.
func (f *follower) cacheStatus() string {
	return strings.TrimPrefix(f.resp.Header.Get("Cache-Status"), "kasoku; ")
}

// TestSharedFeed checks that clients of one feed get the same rows from one feed of the node, and
// that a client without permission gets the node's own answer.
func TestSharedFeed(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.User, c.Password, c.VisibleTTL = "kasoku", "x", time.Millisecond })
	a := s.nodes[0]
	a.set(func() { a.allowed = map[string]bool{"ann": true, "bob": true} })
	var all []*follower
	for i := range 20 {
		all = append(all, s.feed("/db/_changes?feed=continuous&since=0&heartbeat=1000", "Authorization", []string{"ann", "bob"}[i%2]))
	}
	for i := range 3 {
		id := fmt.Sprint("d", i)
		rev := a.store(id, "{}")
		for _, f := range all {
			if got, want := f.next(), fmt.Sprintf(`{"seq":"%d-x","id":%q,"changes":[{"rev":%q}]}`, i+1, id, rev); got != want || f.cacheStatus() != "fwd=miss; collapsed" {
				t.Fatalf("got %q (%s); want %q", got, f.cacheStatus(), want)
			}
		}
	}
	if got := s.settings.Load().fleet.feeds.Stats(); got.Opened != 1 || got.Clients != 20 {
		t.Errorf("got %+v", got)
	}
	eve := s.feed("/db/_changes?feed=continuous&since=0&heartbeat=1000", "Authorization", "eve")
	if got := s.settings.Load().fleet.feeds.Stats(); eve.cacheStatus() == all[0].cacheStatus() || got.Clients != 20 {
		t.Errorf("eve got %q, %+v", eve.cacheStatus(), got)
	}
	// Bob loses his permission; ann does not.
	a.set(func() { delete(a.allowed, "bob") })
	if got := all[1].next(); got != "" {
		t.Errorf("bob still got %q", got)
	}
	a.store("after", "{}")
	if got := all[0].next(); !strings.Contains(got, `"id":"after"`) {
		t.Errorf("ann got %q", got)
	}
}

// TestFeedsOfNextNode checks that clients share a feed of the next node if the first one is
// unreachable, before a health check has detected that.
func TestFeedsOfNextNode(t *testing.T) {
	s := newSite(t, 2)
	b := s.nodes[1]
	s.nodes[0].server.Close()
	var all []*follower
	for range 20 {
		f := s.feed("/db/_changes?feed=continuous&since=now&heartbeat=1000")
		if f.cacheStatus() != "fwd=miss; collapsed" {
			t.Fatalf("got %d %s", f.resp.StatusCode, f.cacheStatus())
		}
		all = append(all, f)
	}
	rev := b.store("d", "{}")
	for _, f := range all {
		if got, want := f.next(), fmt.Sprintf(`{"seq":"1-x","id":"d","changes":[{"rev":%q}]}`, rev); got != want {
			t.Fatalf("got %q; want %q", got, want)
		}
	}
	if got := s.settings.Load().fleet.feeds.Stats(); got.Feeds != 1 || got.Clients != 20 {
		t.Errorf("got %+v", got)
	}
}
