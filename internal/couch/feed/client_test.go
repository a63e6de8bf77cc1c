package feed

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
)

// call serves one request to its end, or for a second.
func (s *scene) call(method, query, body string, header ...string) (*edge.Exchange, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r := http1.Request{Method: []byte(method), Path: []byte("/d%20b/_changes"), RawQuery: []byte(query), Fields: http1.FieldsOf(header...)}
	x := edge.Detached(ctx, r, []byte(body), time.Now())
	ok := s.feeds.Serve(x, Client{DB: "d b", Nodes: s.nodes, MayRead: func(context.Context) bool { return true }})
	return x, ok
}

func TestServe(t *testing.T) {
	play(t, Config{OwnCredentials: true}, func(s *scene) {
		s.put("a")
		x, ok := s.call("GET", "feed=longpoll", "", "Accept", "application/json", "Authorization", "Basic x")
		want := "Server: CouchDB/3.5.0\r\nContent-Type: application/json\r\nCache-Control: must-revalidate\r\nCache-Status: kasoku; fwd=miss; collapsed\r\n"
		if got := string(x.Reply.Head()); !ok || x.Reply.Status != 200 || got != want {
			t.Errorf("got %t %d %q", ok, x.Reply.Status, got)
		}
		if got := string(x.Reply.Body); got != "{\"results\":[\n"+line(1, "a", 1)+"\n],\n\"last_seq\":\"1-1\",\"pending\":0}\n" {
			t.Errorf("got %q", got)
		}
		x, ok = s.call("GET", "feed=eventsource", "", "Last-Event-ID", `"1-1"`, "Accept", "text/event-stream")
		if got := string(x.Reply.Head()); !ok || !strings.Contains(got, "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n") || string(x.Reply.Body) != "\n" {
			t.Errorf("got %t %q %q", ok, got, x.Reply.Body)
		}
	})
}

// TestNextNode checks that clients of an unreachable node share the feed of the next node, and that
// a refused client does not get the next node's feed.
func TestNextNode(t *testing.T) {
	play(t, Config{OwnCredentials: true}, func(s *scene) {
		s.put("a")
		s.nodes, s.unreachable = []int{1, 2}, 1
		for range 3 {
			x, ok := s.call("GET", "feed=longpoll", "")
			if want := "{\"results\":[\n" + line(1, "a", 1) + "\n],\n\"last_seq\":\"1-1\",\"pending\":0}\n"; !ok || string(x.Reply.Body) != want {
				t.Errorf("got %t %q", ok, x.Reply.Body)
			}
		}
		if got := s.feeds.Stats(); got.Feeds != 1 || s.maxOpen != 1 {
			t.Errorf("got %+v, %d concurrent feeds", got, s.maxOpen)
		}
		s.nodes = []int{1}
		if _, ok := s.call("GET", "feed=longpoll", ""); ok {
			t.Error("served although no node can be reached")
		}
		s.set(func() { s.unreachable, s.refuse = 0, 403 })
		s.nodes = []int{1, 2}
		s.requests()
		if _, ok := s.call("GET", "feed=longpoll&only=x", ""); ok || len(s.requests()) != 2 {
			t.Error("another node was queried after one had refused")
		}
	})
}

// TestUnshared checks which requests are forwarded to the node instead of sharing a feed.
func TestUnshared(t *testing.T) {
	play(t, Config{OwnCredentials: true}, func(s *scene) {
		f := func(method, query, body string, header ...string) {
			t.Helper()
			if _, ok := s.call(method, query, body, header...); ok || len(s.requests()) > 0 {
				t.Errorf("%s %s is shared", method, query)
			}
		}
		f("HEAD", "feed=continuous", "")
		f("PUT", "feed=continuous", "")
		f("POST", "feed=continuous", strings.Repeat("x", maxBody+1))
		f("POST", "feed=continuous", "{}", "X-HTTP-Method-Override", "GET")
		f("GET", "feed=continuous&filter=f/g", "", "X-Auth-CouchDB-UserName", "bob")
		for _, query := range []string{
			"", "feed=normal", "feed=continuous&feed=longpoll", "FEED=continuous", "feed=continuous;since=now", "feed=continuous&limit=0",
			"feed=continuous&limit=x", "feed=continuous&heartbeat=0", "feed=continuous&heartbeat=false", "feed=continuous&timeout=infinity",
			"feed=continuous&descending=true", "feed=continuous&seq_interval=10", "feed=continuous&since=", "feed=continuous&%zz=1",
			"feed=continuous&since=%zz", "feed=continuous&filter=_other", "feed=continuous&filter=f", "feed=continuous&filter=_view",
			"feed=continuous&since=" + strings.Repeat("1", maxSince+1), "feed=continuous&last-event-id=1",
		} {
			f("GET", query, "")
		}
	})
}

// TestIdentity checks which clients share a feed, and with which credentials it is read.
func TestIdentity(t *testing.T) {
	f := func(own bool, query string, feeds int, authors string, callers ...[]string) {
		t.Helper()
		play(t, Config{OwnCredentials: own}, func(s *scene) {
			for _, header := range callers {
				if _, ok := s.call("GET", query, "", header...); !ok {
					t.Errorf("%q is not shared", header)
				}
			}
			synctest.Wait()
			if got := strings.Join(s.authors, ","); s.feeds.Stats().Opened != uint64(feeds) || got != authors {
				t.Errorf("%t %s: got %+v, read with the credentials %q", own, query, s.feeds.Stats(), got)
			}
		})
	}
	ann, bob := []string{"Authorization", "ann"}, []string{"Authorization", "bob"}
	f(true, "feed=continuous&since=now", 1, ",,", ann, bob, nil)
	f(false, "feed=continuous&since=now", 3, "ann,ann,ann,bob,bob,bob,,,", ann, bob, nil, ann)
	f(true, "feed=continuous&since=now&filter=_view&view=f/g", 1, ",,,,", ann, bob)
	f(true, "feed=continuous&since=now&filter=f/g", 2, "ann,ann,ann,ann,bob,bob,bob,bob,ann", ann, bob, ann)
	f(true, "feed=continuous&since=now&filter=f/g", 2, "ann,ann,ann,ann,ann,ann,ann,ann", ann, append([]string{"User-Agent", "x"}, ann...))
	f(true, "feed=continuous&since=now", 2, ",,,,,", []string{"Origin", "http://a"}, []string{"Origin", "http://b"})
	f(true, "feed=continuous&since=now", 1, ",,", []string{"User-Agent", "a"}, []string{"User-Agent", "b", "Cookie", "c=d"})
	f(true, "&b=2&feed=continuous&heartbeat=5&&a=1&since=now", 1, ",,", nil)
}

// TestPost checks that feeds with different bodies differ, and that bodies reach the node.
func TestPost(t *testing.T) {
	play(t, Config{OwnCredentials: true}, func(s *scene) {
		for _, body := range []string{`{"doc_ids":["a"]}`, `{"doc_ids":["b"]}`, `{"doc_ids":["a"]}`} {
			if _, ok := s.call("POST", "feed=continuous&filter=_doc_ids&since=0", body, "Content-Type", "application/json"); !ok {
				t.Errorf("%s is not shared", body)
			}
		}
		if got := s.feeds.Stats(); got.Opened != 2 || got.Pages != 3 {
			t.Errorf("got %+v", got)
		}
		for _, text := range s.requests() {
			if strings.Contains(text, "_changes") != strings.HasPrefix(text, "POST ") {
				t.Errorf("got %q", text)
			}
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	for _, text := range []string{"feed=continuous&since=now", "feed=live&limit=3&heartbeat=true", "feed=longpoll&filter=a/b&timeout=1", "feed=eventsource&filter=_view&view=a/b&x=%26"} {
		f.Add(text, `"1-x"`)
	}
	f.Fuzz(func(t *testing.T, text, last string) {
		q, ok := ParseQuery(text, last)
		if !ok {
			return
		}
		// The shared parameters are a query with the same meaning.
		again, ok := ParseQuery(q.shared+"&feed=continuous&heartbeat=1000", "")
		if !ok || again.shared != q.shared || again.design != q.design || again.filterSeesRequest != q.filterSeesRequest || again.Limit != 0 || again.Since != "0" {
			t.Errorf("%q: %+v was parsed again as %+v", text, q, again)
		}
		if q.Since == "" || q.Limit < 0 || q.Heartbeat < 0 || q.Heartbeat > maxPause || q.Timeout > maxPause || q.design == "" && q.filterSeesRequest {
			t.Errorf("%q: got %+v", text, q)
		}
	})
}
