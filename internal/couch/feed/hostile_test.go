package feed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// TestClientIsNeverCurrent checks that a client for which there is always another row loses its
// permission like others, and is ended like others when Kasoku stops.
func TestClientIsNeverCurrent(t *testing.T) {
	const maxRows = 1000 // rows, if nothing ends the client
	f := func(end func(c *client), want string) {
		t.Helper()
		play(t, Config{}, func(s *scene) {
			c := s.connect("feed=continuous&since=now")
			rows := 0
			c.setOnWrite(func() {
				if rows++; rows == 10 {
					end(c)
				}
				if rows < maxRows {
					s.put("a")
					time.Sleep(100 * time.Millisecond)
				}
			})
			s.put("a")
			s.pass(2 * maxRows * 100 * time.Millisecond)
			if text := c.takeOutput(); !strings.HasSuffix(text, want) || rows > 100 {
				t.Errorf("got %d rows, and in the end %q; want %q", rows, text[max(0, len(text)-100):], want)
			}
			c.cancel()
			<-c.done
		})
	}
	f(func(c *client) { c.denied.Store(true) }, "<cut>")
	f(func(c *client) { close(c.stop) }, "\"pending\":1}\n<end>")
}

// TestCopyRows checks how many rows a client takes from the ring at once, because it may keep them
// for any time.
func TestCopyRows(t *testing.T) {
	f := func(length, want int) {
		t.Helper()
		g := &group{ring: ring{limit: 32 << 20}}
		for i := range 40 {
			g.ring.add(row{text: strings.Repeat("x", length), seq: fmt.Sprint(i)})
		}
		dst := make([]row, 32)
		if got := g.copyRows(4, dst); got != want || dst[0].seq != "4" || dst[want-1].seq != fmt.Sprint(want+3) {
			t.Errorf("got %d rows of %d bytes; want %d", got, length, want)
		}
	}
	f(100, 32)
	f(maxBatchText/32, 32)
	f(maxBatchText/4, 4)
	f(maxBatchText/4+1, 3)
	f(maxBatchText, 1)
	f(4*maxBatchText, 1)
}

// TestDisconnectDuringDesignRequest checks that clients that disconnect during the request for
// their filter's revision don't affect others.
func TestDisconnectDuringDesignRequest(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		const query = "feed=continuous&since=now&filter=f/g"
		first := s.connect(query)
		s.pass(time.Millisecond)
		holdDesign := make(chan struct{})
		s.set(func() { s.holdDesign = holdDesign })
		asks, waits, waiting := s.connect(query), s.connect(query), s.connect(query)
		s.leave(waits)
		s.leave(asks)
		s.set(func() { s.holdDesign = nil })
		close(holdDesign)
		s.pass(time.Millisecond)
		s.put("a")
		s.expect(waiting, "\n"+line(1, "a", 1)+"\n")
		later := s.connect(query)
		if got := s.feeds.Stats(); got.Opened != 1 {
			t.Errorf("got %+v", got)
		}
		s.leave(first)
		s.leave(waiting)
		s.leave(later)
	})
}

// TestFeedLimit checks that retired feeds count towards the limit.
func TestFeedLimit(t *testing.T) {
	play(t, Config{MaxGroups: 2}, func(s *scene) {
		const query = "feed=continuous&since=now&filter=f/g"
		f := func(want sessionResult) {
			s.Helper()
			if o := <-s.connect(query).done; o != want {
				s.Errorf("got the outcome %d; want %d", o, want)
			}
		}
		for _, design := range []string{`"2-d"`, `"3-d"`} {
			c := s.connect(query)
			defer c.cancel()
			s.pass(time.Millisecond)
			s.set(func() { s.design = design })
			f(filterChanged)
		}
		f(passOn)
		if got := s.feeds.Stats(); got.Feeds != 2 || got.Clients != 2 {
			s.Errorf("got %+v", got)
		}
	})
}

// TestRareRows checks that a node may search for minutes for a row that passes a filter, and that
// this doesn't delay clients without a filter.
func TestRareRows(t *testing.T) {
	play(t, Config{MaxPages: 1}, func(s *scene) {
		s.put("a")
		hold := make(chan struct{})
		s.set(func() { s.hold = hold })
		rare := s.connect("feed=continuous&heartbeat=60000&filter=_selector")
		s.set(func() { s.hold = nil })
		quick := s.connect("feed=longpoll")
		s.expect(quick, "{\"results\":[\n"+line(1, "a", 1)+"\n],\n\"last_seq\":\"1-1\",\"pending\":0}\n<end>")
		s.pass(8*time.Minute + time.Second)
		s.expect(rare, strings.Repeat("\n", 8))
		close(hold)
		s.expect(rare, line(1, "a", 1)+"\n")
		s.leave(rare)
	})
}

// TestFeedsCutRepeatedly checks that a node whose feeds are cut as soon as they are open does not
// get requests at a high rate, and that clients get the rows.
func TestFeedsCutRepeatedly(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		s.put("a")
		c := s.connect("feed=continuous&since=now")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for pause.For(ctx, time.Millisecond) {
				s.set(func() { s.rewind = 1 }) // each feed has a row
				s.breakOff()
			}
		}()
		s.requests()
		s.pass(20 * time.Second)
		if n := len(s.requests()); n > 100 {
			t.Errorf("the node received %d requests in 20 s", n)
		}
		cancel()
		<-done
		s.set(func() { s.rewind = 0 })
		s.put("b")
		s.pass(3 * time.Second)
		if text := c.takeOutput(); !strings.HasSuffix(text, line(2, "b", 1)+"\n") {
			t.Errorf("got %q", text)
		}
		s.leave(c)
		synctest.Wait()
	})
}

// TestUnusedFeed checks that an unused feed sends no requests, whatever the node sends.
func TestUnusedFeed(t *testing.T) {
	play(t, Config{Linger: time.Second}, func(s *scene) {
		s.put("a")
		s.leave(s.connect("feed=continuous&since=now"))
		s.set(func() { s.rewind = 1 })
		s.requests()
		s.pass(time.Minute)
		if got := s.requests(); len(got) != 0 {
			t.Errorf("the node received %q", got)
		}
	})
}
