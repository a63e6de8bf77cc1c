package follow

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// followerScene has a follower of a node, in a synctest bubble.
type followerScene struct {
	*testing.T
	node *feedNode
	recorder
	follower *Follower
}

// playFollower runs a test in a synctest bubble, with a follower that has just begun.
func playFollower(t *testing.T, n *feedNode, script func(s *followerScene)) {
	synctest.Test(t, func(t *testing.T) {
		s := &followerScene{T: t, node: n}
		n.changed, n.cut = make(chan struct{}), make(chan struct{})
		s.follower = NewFollower(FollowerConfig{DB: "d b/x", Get: n.get, Watcher: s})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.follower.Run(ctx)
		}()
		s.pass(startTimeResolution + time.Second)
		script(s)
		cancel()
		<-done
	})
}

// pass waits, on the bubble's clock.
func (s *followerScene) pass(d time.Duration) {
	time.Sleep(d) // on the bubble's clock
	synctest.Wait()
}

// expect checks the events since the last call, and the follower's phase.
func (s *followerScene) expect(events string, phase Phase) {
	s.Helper()
	if got := s.take(); got != events {
		s.Errorf("events %q; want %q", got, events)
	}
	if got := s.follower.State(); got.Phase != phase {
		s.Errorf("got the phase %s since %s, %v; want %s", got.Phase, time.Since(got.Since), got.Err, phase)
	}
}

// fresh checks that Heard was called recently.
func (s *followerScene) fresh() {
	s.Helper()
	if quiet := s.silence(); quiet > 400*time.Millisecond {
		s.Errorf("Heard was not called for %s", quiet)
	}
}

func TestFollow(t *testing.T) {
	n := newFeedNode()
	n.put("before", "1-a")
	playFollower(t, n, func(s *followerScene) {
		s.expect("reset: opened", Following)
		s.fresh()
		n.put("a", "1-a")
		n.put("a", "2-a")
		n.write(`{"seq":null,"id":"b","changes":[{"rev":"3-b"}],"deleted":true}`)
		synctest.Wait()
		s.expect("a 1-a; a 2-a; b 3-b deleted", Following)
		s.pass(time.Hour)
		s.expect("", Following)
		s.fresh()
		if got := n.requests(); len(got) != 3 { // identity, feed, and confirmation
			t.Errorf("the node received %q", got)
		}
	})
}

// TestResume checks that a cut feed is resumed at its position, and that all changes in between are
// reported before Heard is called.
func TestResume(t *testing.T) {
	n := newFeedNode()
	playFollower(t, n, func(s *followerScene) {
		n.put("a", "1-a")
		s.pass(time.Second)
		s.expect("reset: opened; a 1-a", Following)
		n.set(true, func() { n.down = true })
		s.pass(time.Minute)
		s.expect("", Connecting)
		if quiet := s.silence(); quiet < time.Minute {
			t.Errorf("Heard was called %s ago for a node that is down", quiet)
		}
		if got := len(n.requests()); got < 12 || got > 120 {
			t.Errorf("the node received %d requests in a minute", got)
		}
		n.put("b", "1-b")
		n.put("c", "1-c")
		n.set(false, func() { n.down = false })
		s.pass(5 * time.Second)
		s.expect("b 1-b; c 1-c", Following)
		s.fresh()
		if st := s.follower.State(); st.Position != `"3-x"` || st.Rows != 3 || st.Resets != 1 || st.Breaks != 1 || st.Err != nil {
			t.Errorf("got the status %+v", st)
		}
	})
}

func TestFollowRecreation(t *testing.T) {
	t.Run("seen", func(t *testing.T) {
		n := newFeedNode()
		playFollower(t, n, func(s *followerScene) {
			s.expect("reset: opened", Following)
			n.set(true, func() { n.born, n.rows = "", nil })
			s.pass(time.Second)
			s.expect("reset: deleted", Absent)
			n.requests()
			s.pass(time.Minute)
			s.expect("", Absent)
			if got := len(n.requests()); got < 12 || got > 120 {
				t.Errorf("the node received %d requests in a minute", got)
			}
			n.set(false, func() { n.born = `"2"` })
			n.put("a", "1-a")
			s.pass(5 * time.Second)
			n.put("b", "1-b")
			synctest.Wait()
			s.expect("reset: opened; b 1-b", Following)
		})
	})
	t.Run("while unreachable", func(t *testing.T) {
		n := newFeedNode()
		playFollower(t, n, func(s *followerScene) {
			n.put("a", "1-a")
			s.pass(time.Second)
			s.expect("reset: opened; a 1-a", Following)
			n.set(true, func() { n.born = `"2"` })
			s.pass(time.Second)
			s.expect("reset: recreated", Following)
		})
	})
	t.Run("just before the feed is open", func(t *testing.T) {
		n := newFeedNode()
		playFollower(t, n, func(s *followerScene) {
			n.put("a", "1-a")
			s.pass(time.Second)
			s.expect("reset: opened; a 1-a", Following)
			n.set(true, func() {
				n.onFeedRequest = func() { n.born, n.rows = `"2"`, nil }
			})
			s.pass(5 * time.Second)
			s.expect("reset: recreated", Following)
			n.put("b", "1-b")
			synctest.Wait()
			s.expect("b 1-b", Following)
		})
	})
	t.Run("within a second", func(t *testing.T) {
		n := newFeedNode()
		playFollower(t, n, func(s *followerScene) {
			n.set(true, func() { n.born, n.rows = `"2"`, nil })
			s.pass(time.Second)
			s.expect("reset: opened; reset: recreated", Following)
			n.put("a", "1-a")
			synctest.Wait()
			s.expect("a 1-a", Following)
			n.set(true, func() { n.rows = nil })
			n.put("b", "1-b") // its sequence number equals the former database's
			s.pass(time.Second)
			s.expect("reset: recreated", Following)
		})
	})
	t.Run("the feed ends", func(t *testing.T) {
		n := newFeedNode()
		playFollower(t, n, func(s *followerScene) {
			n.put("a", "1-a")
			s.pass(time.Minute)
			s.expect("reset: opened; a 1-a", Following)
			n.set(true, func() { n.endsInOrder = true })
			synctest.Wait()
			n.set(false, func() { n.endsInOrder = false })
			s.pass(time.Second)
			s.expect("reset: recreated", Following)
		})
	})
	t.Run("the sequence decreases", func(t *testing.T) {
		n := newFeedNode()
		playFollower(t, n, func(s *followerScene) {
			n.put("a", "1-a")
			n.put("b", "1-b")
			s.pass(time.Minute)
			s.expect("reset: opened; a 1-a; b 1-b", Following)
			n.set(true, func() { n.rows = n.rows[:1] })
			s.pass(time.Second)
			s.expect("reset: recreated", Following)
		})
	})
	t.Run("the sequence decreases within the feed", func(t *testing.T) {
		n := newFeedNode()
		playFollower(t, n, func(s *followerScene) {
			n.put("a", "1-a")
			n.put("b", "1-b")
			s.pass(time.Minute)
			s.expect("reset: opened; a 1-a; b 1-b", Following)
			n.write(`{"seq":"1-x","id":"c","changes":[{"rev":"1-c"}]}`)
			synctest.Wait()
			if got := s.take(); got != "reset: recreated" {
				t.Errorf("got the events %q", got)
			}
			s.pass(time.Second)
			s.expect("reset: recreated", Following)
		})
	})
	t.Run("without a time", func(t *testing.T) {
		n := newFeedNode()
		n.born = `"0"`
		playFollower(t, n, func(s *followerScene) {
			s.expect("reset: opened", Following)
			n.set(true, nil)
			s.pass(time.Second)
			s.expect("", Following)
			n.set(true, func() { n.born = "" })
			synctest.Wait()
			n.set(false, func() { n.born = `"0"` })
			s.pass(5 * time.Second)
			if got := s.take(); !strings.HasPrefix(got, "reset: ") {
				t.Errorf("got the events %q", got)
			}
		})
	})
}

// TestNotFreshBeforeFeed checks that Heard is not called before the feed is open: a database that
// replaced the identified one within the same second could not be distinguished from it.
func TestNotFreshBeforeFeed(t *testing.T) {
	n := newFeedNode()
	n.put("a", "1-a")
	n.hold = true
	playFollower(t, n, func(s *followerScene) {
		s.expect("reset: opened", Connecting)
		if quiet := s.silence(); quiet < time.Hour {
			t.Errorf("Heard was called %s ago", quiet)
		}
	})
}

// TestSilent checks that a silent connection is closed, and that Heard is not called meanwhile.
func TestSilent(t *testing.T) {
	n := newFeedNode()
	playFollower(t, n, func(s *followerScene) {
		s.expect("reset: opened", Following)
		n.set(false, func() { n.noHeartbeats = true })
		s.pass(9 * time.Second)
		if quiet := s.silence(); quiet < 8*time.Second {
			t.Errorf("Heard was called %s ago for a silent node", quiet)
		}
		s.pass(12 * time.Second)
		n.set(false, func() { n.noHeartbeats = false })
		s.pass(time.Second)
		s.expect("", Following)
		s.fresh()
		if st := s.follower.State(); st.Breaks == 0 || st.Resets != 1 {
			t.Errorf("got the status %+v", st)
		}
	})
}

// TestPoll checks that long polls are used while continuous feeds don't work, and no longer.
func TestPoll(t *testing.T) {
	f := func(spoil func(n *feedNode), mend func(n *feedNode)) {
		t.Helper()
		n := newFeedNode()
		spoil(n)
		playFollower(t, n, func(s *followerScene) {
			s.pass(30 * time.Second)
			s.expect("reset: opened", Polling)
			s.fresh()
			n.put("a", "1-a")
			synctest.Wait()
			s.expect("a 1-a", Polling)
			n.set(false, func() { mend(n) })
			s.pass(90 * time.Second)
			s.expect("", Following)
			s.fresh()
			n.put("b", "1-b")
			synctest.Wait()
			s.expect("b 1-b", Following)
		})
	}
	f(func(n *feedNode) { n.hold = true }, func(n *feedNode) { n.hold = false })
	f(func(n *feedNode) { n.refuse = 500 }, func(n *feedNode) { n.refuse = 0 })
}

func TestForgetsPosition(t *testing.T) {
	f := func(spoil func(n *feedNode), want string) {
		t.Helper()
		n := newFeedNode()
		playFollower(t, n, func(s *followerScene) {
			s.expect("reset: opened", Following)
			spoil(n)
			s.pass(5 * time.Second)
			s.expect(want, Following)
			n.put("a", "1-a")
			synctest.Wait()
			s.expect("a 1-a", Following)
		})
	}
	f(func(n *feedNode) { n.set(true, func() { n.malformed = true }) }, "reset: position refused")
	f(func(n *feedNode) { n.write("<html>%d</html>") }, "reset: feed garbled")
	f(func(n *feedNode) { n.write(`{"seq":"%d-x","id":"a"}`) }, "reset: feed garbled")
	f(func(n *feedNode) { n.write(`{"seq":"%d-x","id":"` + strings.Repeat("a", api.MaxChange) + `"}`) }, "reset: feed garbled")
}

// TestFeedsThatEndAtOnce checks that a node that ends each feed at once does not get requests at a
// high rate.
func TestFeedsThatEndAtOnce(t *testing.T) {
	n := newFeedNode()
	n.endsAtOnce = true
	playFollower(t, n, func(s *followerScene) {
		n.requests()
		s.pass(time.Minute)
		if got := len(n.requests()); got > 4*60*1000/300 {
			t.Errorf("the node received %d requests in a minute", got)
		}
		if got := s.take(); !strings.HasPrefix(got, "reset: opened") {
			t.Errorf("got the events %q", got)
		}
	})
}
