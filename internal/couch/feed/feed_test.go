package feed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// fakeClient is a client that records the output of its feed.
type fakeClient struct {
	mu      sync.Mutex
	text    strings.Builder
	closed  bool
	cut     bool
	stuck   chan struct{} // writes wait until it is closed, unless it is nil
	onWrite func()        // called with each write, unless it is nil
	gone    <-chan struct{}
}

func (s *fakeClient) begin(Form, http1.Fields) error { return nil }

func (s *fakeClient) Write(p []byte) (int, error) {
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		select {
		case <-stuck:
		case <-s.gone:
			return 0, errors.New("gone")
		}
	}
	s.mu.Lock()
	s.text.Write(p)
	each := s.onWrite
	s.mu.Unlock()
	if each != nil {
		each()
	}
	return len(p), nil
}

func (s *fakeClient) Close() error { s.mu.Lock(); defer s.mu.Unlock(); s.closed = true; return nil }
func (s *fakeClient) Cut()         { s.mu.Lock(); defer s.mu.Unlock(); s.cut = true }

// setOnWrite sets a function to be called with each write.
func (s *fakeClient) setOnWrite(f func()) { s.mu.Lock(); defer s.mu.Unlock(); s.onWrite = f }

func (s *fakeClient) setStuck(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.stuck = make(chan struct{})
	} else if s.stuck != nil {
		close(s.stuck)
		s.stuck = nil
	}
}

// takeOutput returns the output since the last call, and how it ended.
func (s *fakeClient) takeOutput() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	s.text.Reset()
	switch {
	case s.closed:
		text += "<end>"
	case s.cut:
		text += "<cut>"
	}
	return text
}

// client is a client of a feed in a test.
type client struct {
	*fakeClient
	done   chan sessionResult
	cancel context.CancelFunc
	stop   chan struct{}
	denied atomic.Bool // the client has lost its permission
}

// scene has feeds from a node, in a synctest bubble.
type scene struct {
	*testing.T
	*node
	feeds *Feeds
	nodes []int // used for the next clients
}

// play runs a test in a synctest bubble.
func play(t *testing.T, cfg Config, script func(s *scene)) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		cfg.Ask = n.ask
		s := &scene{t, n, New(cfg), []int{1}}
		script(s)
		s.feeds.Close()
		synctest.Wait()
		if got := s.feeds.Stats(); got.Feeds != 0 || got.Clients != 0 {
			t.Errorf("feeds are left: %+v", got)
		}
	})
}

func (s *scene) source(q *Query) *source {
	return &source{node: 1, db: "d b", shared: q.shared, design: q.design, filtered: q.filtered, method: "GET", ownCredentials: true}
}

// connect starts a client with a query.
func (s *scene) connect(query string) *client {
	s.Helper()
	q, ok := ParseQuery(query, "")
	if !ok {
		s.Fatalf("%s is not shared", query)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{fakeClient: &fakeClient{gone: ctx.Done()}, done: make(chan sessionResult, 1), cancel: cancel, stop: make(chan struct{})}
	go func() {
		src := s.source(&q)
		n := &session{feeds: s.feeds, query: &q, out: c.fakeClient, mayRead: func(context.Context) bool { return !c.denied.Load() }, arrived: time.Now()}
		if n.group = s.feeds.join(src); n.group == nil {
			c.done <- passOn
			return
		}
		o := n.run(ctx, c.stop)
		if o == filterChanged {
			s.feeds.retire(n.group)
		}
		s.feeds.leave(n.group)
		c.done <- o
	}()
	synctest.Wait()
	return c
}

// leave disconnects a client that is still connected.
func (s *scene) leave(c *client) {
	s.Helper()
	c.cancel()
	<-c.done
}

// pass waits, on the bubble's clock.
func (s *scene) pass(d time.Duration) {
	time.Sleep(d) // on the bubble's clock
	synctest.Wait()
}

// expect checks the client's output since the last call.
func (s *scene) expect(c *client, want string) {
	s.Helper()
	synctest.Wait()
	if got := c.takeOutput(); got != want {
		s.Errorf("got\n%q; want\n%q", got, want)
	}
}

func line(seq int, id string, rev int) string {
	return fmt.Sprintf(`{"seq":"%d-1","id":%q,"changes":[{"rev":"%d-x"}]}`, seq, id, rev)
}

func TestForms(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		s.put("a")
		lines := s.connect("feed=continuous&since=now&heartbeat=1000")
		events := s.connect("feed=eventsource&since=now&heartbeat=true")
		batch := s.connect("feed=longpoll&since=now&timeout=30000")
		s.expect(lines, "\n")
		s.expect(events, "\n")
		s.expect(batch, "{\"results\":[\n\n")
		s.pass(2500 * time.Millisecond)
		s.expect(lines, "\n\n")
		s.expect(batch, "")
		s.put("b")
		s.expect(lines, line(2, "b", 1)+"\n")
		s.expect(events, "data: "+line(2, "b", 1)+"\nid: \"2-1\"\n\n")
		s.expect(batch, line(2, "b", 1)+"\n],\n\"last_seq\":\"2-1\",\"pending\":0}\n<end>")
		s.pass(59 * time.Second)
		s.expect(events, "")
		s.pass(time.Second)
		s.expect(events, "event: heartbeat\ndata: \n\n")
		s.leave(lines)
		s.leave(events)
		if got := s.requests(); len(got) != 3 || got[1] != "GET /d%20b/_changes?feed=continuous&heartbeat=3333&since=1-1" {
			t.Errorf("the node received %q", got)
		}
	})
}

// TestEndOfFeed checks how feeds end that their clients don't close.
func TestEndOfFeed(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		quiet := s.connect("feed=continuous&since=now&timeout=5000")
		poll := s.connect("feed=longpoll&since=now&timeout=6000")
		events := s.connect("feed=eventsource&since=now&timeout=6000")
		limit := s.connect("feed=continuous&since=now&limit=2&heartbeat=60000")
		s.pass(4 * time.Second)
		s.put("a")
		s.put("b")
		s.put("c")
		s.pass(4 * time.Second)
		s.expect(quiet, "\n"+line(1, "a", 1)+"\n"+line(2, "b", 1)+"\n"+line(3, "c", 1)+"\n")
		s.expect(limit, "\n"+line(1, "a", 1)+"\n"+line(2, "b", 1)+"\n{\"last_seq\":\"2-1\",\"pending\":1}\n<end>")
		s.pass(2 * time.Second)
		s.expect(quiet, "{\"last_seq\":\"3-1\",\"pending\":0}\n<end>")
		s.expect(events, "\ndata: "+line(1, "a", 1)+"\nid: \"1-1\"\n\ndata: "+line(2, "b", 1)+"\nid: \"2-1\"\n\ndata: "+line(3, "c", 1)+"\nid: \"3-1\"\n\n<end>")
		s.skipOutput(poll)
		idle := s.connect("feed=longpoll&since=now&timeout=1000")
		s.pass(time.Second)
		s.expect(idle, "{\"results\":[\n\n\n],\n\"last_seq\":\"3-1\",\"pending\":0}\n<end>")
		stopped := s.connect("feed=continuous&since=2-1")
		close(stopped.stop)
		s.expect(stopped, line(3, "c", 1)+"\n{\"last_seq\":\"3-1\",\"pending\":0}\n<end>")
	})
}

func (s *scene) skipOutput(c *client) { synctest.Wait(); c.takeOutput() }

// TestSince checks where clients' feeds begin, and which requests that needs.
func TestSince(t *testing.T) {
	play(t, Config{PageRows: 2}, func(s *scene) {
		for _, id := range []string{"a", "b", "c", "a", "d"} {
			s.put(id)
		}
		all := s.connect("feed=continuous&heartbeat=60000")
		s.expect(all, line(2, "b", 1)+"\n"+line(3, "c", 1)+"\n"+line(4, "a", 2)+"\n"+line(5, "d", 1)+"\n")
		s.put("e")
		s.put("f")
		s.expect(all, line(6, "e", 1)+"\n"+line(7, "f", 1)+"\n")
		s.requests()
		f := func(since, want string) {
			s.Helper()
			c := s.connect("feed=longpoll&since=" + since)
			s.expect(c, "{\"results\":[\n"+want+"\n],\n\"last_seq\":\"7-1\",\"pending\":0}\n<end>")
		}
		f("6-1", line(7, "f", 1))
		f("%225-1%22", line(6, "e", 1)+",\r\n"+line(7, "f", 1))
		if got := s.requests(); len(got) != 0 {
			t.Errorf("rows in the ring still needed %q", got)
		}
		f("4-1", line(5, "d", 1)+",\r\n"+line(6, "e", 1)+",\r\n"+line(7, "f", 1)) // a page, and the rest from the ring
		f("9-0", line(2, "b", 1)+",\r\n"+line(3, "c", 1)+",\r\n"+line(4, "a", 2)+",\r\n"+line(5, "d", 1)+",\r\n"+line(6, "e", 1)+",\r\n"+line(7, "f", 1))
		if got := s.requests(); len(got) != 3 || !strings.Contains(got[0], "feed=normal&limit=2&since=4-1") {
			t.Errorf("the node received %q", got)
		}
		if c := s.connect("feed=longpoll&since=garbage"); <-c.done != passOn {
			t.Error("a position that the node refuses is not forwarded")
		}
		limit := s.connect("feed=continuous&limit=1")
		s.expect(limit, line(2, "b", 1)+"\n{\"last_seq\":\"2-1\",\"pending\":5}\n<end>")
		s.leave(all)
	})
}

// TestChangesDuringPage checks that changes during a page request are not lost and not repeated.
func TestChangesDuringPage(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		s.put("a")
		first := s.connect("feed=continuous&since=now&heartbeat=60000")
		hold := make(chan struct{})
		s.set(func() { s.hold = hold })
		late := s.connect("feed=continuous&heartbeat=60000")
		s.put("b")
		s.expect(late, "")
		s.set(func() { s.hold = nil })
		close(hold)
		s.put("c")
		s.expect(late, line(1, "a", 1)+"\n"+line(2, "b", 1)+"\n"+line(3, "c", 1)+"\n")
		// The feed lags behind the page.
		s.breakOff()
		s.set(func() { s.down = true })
		s.pass(time.Second)
		s.put("d")
		s.set(func() { s.down = false })
		fresh := s.connect("feed=continuous&heartbeat=60000&since=2-1")
		later := s.connect("feed=continuous&heartbeat=60000&since=0")
		s.expect(fresh, line(3, "c", 1)+"\n")
		s.expect(later, line(1, "a", 1)+"\n"+line(2, "b", 1)+"\n"+line(3, "c", 1)+"\n"+line(4, "d", 1)+"\n")
		s.pass(2 * time.Second)
		s.put("e")
		s.expect(fresh, line(4, "d", 1)+"\n"+line(5, "e", 1)+"\n")
		s.expect(later, line(5, "e", 1)+"\n")
		s.pass(10 * time.Second)
		for _, c := range []*client{first, late, fresh, later} {
			s.leave(c)
		}
	})
}

// TestNodeFeedEnds checks how clients' feeds end when the node's feed ends.
func TestNodeFeedEnds(t *testing.T) {
	f := func(do func(s *scene), want string) {
		t.Helper()
		play(t, Config{}, func(s *scene) {
			s.Helper()
			s.put("a")
			c := s.connect("feed=continuous&since=now&heartbeat=60000")
			do(s)
			s.pass(4 * time.Second)
			s.expect(c, "\n"+want)
			if !strings.HasSuffix(want, ">") {
				s.leave(c)
			}
		})
	}
	end := "{\"last_seq\":\"1-1\",\"pending\":0}\n<end>"
	f(func(s *scene) { s.breakOff(); s.put("b") }, line(2, "b", 1)+"\n")
	f(func(s *scene) { s.set(func() { s.rewind = 1 }); s.breakOff(); s.put("b") }, line(1, "a", 1)+"\n"+line(2, "b", 1)+"\n")
	f(func(s *scene) { s.set(func() { s.down = true }); s.breakOff() }, "<cut>")
	f(func(s *scene) { s.drop(false) }, end)
	f(func(s *scene) { s.drop(true) }, end)
	f(func(s *scene) { s.set(func() { s.create() }); s.breakOff() }, end)
	f(func(s *scene) { s.set(func() { s.replace = true }); s.breakOff() }, end)
	f(func(s *scene) { s.set(func() { s.refuse = 500 }); s.breakOff() }, "<cut>")
	f(func(s *scene) { s.put(strings.Repeat("x", 2<<20)) }, "<cut>")
}

// TestRefused checks that clients whose feed can't be shared are forwarded to the node, or to
// another one if that is unreachable.
func TestRefused(t *testing.T) {
	f := func(want sessionResult, spoil func(s *scene)) {
		t.Helper()
		play(t, Config{MaxGroups: 1}, func(s *scene) {
			spoil(s)
			c := s.connect("feed=continuous&since=now&only=x")
			select {
			case o := <-c.done:
				if o != want || c.fakeClient.takeOutput() != "" {
					t.Errorf("got the outcome %d after %q; want %d", o, c.fakeClient.takeOutput(), want)
				}
			default:
				t.Error("the client has no outcome")
				s.leave(c)
			}
		})
	}
	f(passOn, func(s *scene) { s.set(func() { s.refuse = 404 }) })
	f(passOn, func(s *scene) { s.set(func() { s.born = 0 }) })
	f(nextNode, func(s *scene) { s.set(func() { s.down = true }) })
	f(passOn, func(s *scene) { s.set(func() { s.replace = true }) })
	f(passOn, func(s *scene) { c := s.connect("feed=continuous"); s.Cleanup(c.cancel) })
}

// TestSlowClient checks that a client that does not read doesn't delay others, and misses
// nothing when it reads again.
func TestSlowClient(t *testing.T) {
	play(t, Config{RingBytes: 1000, PageRows: 7}, func(s *scene) {
		slow, quick := s.connect("feed=continuous&since=now"), s.connect("feed=continuous&since=now")
		slow.setStuck(true)
		var want strings.Builder
		want.WriteString("\n")
		for i := range 100 {
			id := fmt.Sprint("d", i)
			s.put(id)
			synctest.Wait()
			want.WriteString(line(i+1, id, 1) + "\n")
		}
		s.expect(quick, want.String())
		slow.setStuck(false)
		s.expect(slow, want.String())
		s.leave(slow)
		s.leave(quick)
	})
}

// TestPermissionIsLost checks that a client that loses its permission is cut.
func TestPermissionIsLost(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		a, b := s.connect("feed=continuous&since=now"), s.connect("feed=continuous&since=now")
		a.denied.Store(true)
		s.pass(2900 * time.Millisecond)
		s.expect(a, "\n")
		s.pass(200 * time.Millisecond)
		s.put("x")
		s.expect(a, "<cut>")
		s.expect(b, "\n"+line(1, "x", 1)+"\n")
		s.leave(b)
	})
}

// TestDesign checks that clients that connect after a change of the filter get the new one.
func TestDesign(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		f := func(outcomes ...sessionResult) {
			s.Helper()
			for _, want := range outcomes {
				c := s.connect("feed=continuous&since=now&filter=f/g")
				select {
				case o := <-c.done:
					if o != want {
						s.Errorf("got the outcome %d; want %d", o, want)
					}
				default:
					if want != served {
						s.Errorf("the feed is still served; want the outcome %d", want)
					}
					s.Cleanup(c.cancel)
				}
			}
		}
		f(served, served, served)
		s.pass(time.Millisecond)
		s.set(func() { s.design = `"2-d"` })
		f(filterChanged, served, served)
		if got := s.feeds.Stats(); got.Opened != 2 || got.Clients != 5 {
			s.Errorf("got %+v", got)
		}
	})
}

// openFeeds returns the number of feeds open at the node.
func (s *scene) openFeeds() (n int) {
	s.set(func() { n = s.open["|"] })
	return n
}

// TestLinger checks how long a feed is kept open without clients.
func TestLinger(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		for range 5 {
			s.leave(s.connect("feed=longpoll&since=now"))
			s.pass(14 * time.Second)
		}
		if got := s.feeds.Stats(); got.Opened != 1 || got.Feeds != 1 {
			s.Errorf("got %+v", got)
		}
		s.pass(2 * time.Second)
		if got := s.feeds.Stats(); got.Feeds != 0 || s.openFeeds() != 0 {
			s.Errorf("got %+v, %d open at the node", got, s.openFeeds())
		}
	})
}
