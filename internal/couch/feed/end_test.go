package feed

import (
	"testing"
	"time"
)

// TestOwnPosition checks that a client whose feed ends before the first row gets its start
// position, in the node's format.
func TestOwnPosition(t *testing.T) {
	f := func(numbers bool, since, last string, end func(s *scene, all []*client)) {
		t.Helper()
		play(t, Config{}, func(s *scene) {
			s.Helper()
			s.set(func() { s.hold, s.numbers = make(chan struct{}), numbers })
			s.put("a")
			s.put("b")
			lines, batch, events := s.connect("feed=continuous&since="+since), s.connect("feed=longpoll&since="+since), s.connect("feed=eventsource&since="+since)
			end(s, []*client{lines, batch, events})
			s.expect(lines, "{\"last_seq\":"+last+",\"pending\":0}\n<end>")
			s.expect(batch, "{\"results\":[\n\n],\n\"last_seq\":"+last+",\"pending\":0}\n<end>")
			s.expect(events, "<end>")
		})
	}
	stop := func(_ *scene, all []*client) {
		for _, c := range all {
			close(c.stop)
		}
	}
	drop := func(s *scene, _ []*client) { s.drop(false) }
	for _, end := range []func(*scene, []*client){stop, drop} {
		f(false, "0", `"0"`, end)
		f(false, "0-9", `"0-9"`, end)
		f(true, "0", "0", end)
		f(true, "1", "1", end)
	}
}

// TestStopBeforeAnswer checks that nothing is sent before the node has answered, because the
// format of its positions is not known.
func TestStopBeforeAnswer(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		s.set(func() { s.holdInfo = make(chan struct{}) })
		c := s.connect("feed=continuous&since=0&heartbeat=1000")
		s.pass(5 * time.Second)
		s.expect(c, "")
		close(c.stop)
		if o := <-c.done; o != unavailable || c.fakeClient.takeOutput() != "" {
			t.Errorf("got the outcome %d after %q", o, c.fakeClient.takeOutput())
		}
	})
}

// TestNodeFailsBeforeFirstRow checks that a client without any row continues on another node when
// its node fails, and that others are cut.
func TestNodeFailsBeforeFirstRow(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		s.put("a")
		first := s.connect("feed=continuous&since=now")
		s.set(func() { s.hold = make(chan struct{}) })
		late := s.connect("feed=longpoll&since=0")
		s.set(func() { s.down = true })
		s.breakOff()
		if o := <-late.done; o != nextNode || late.takeOutput() != "" {
			t.Errorf("got the outcome %d after %q", o, late.takeOutput())
		}
		s.expect(first, "\n<cut>")
	})
}
