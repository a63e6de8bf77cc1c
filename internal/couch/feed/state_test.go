package feed

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestStates checks the states of shared feeds, also of a retired one.
func TestStates(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		f := func(want ...State) {
			s.Helper()
			synctest.Wait()
			if got := s.feeds.States(); !slices.Equal(got, want) {
				s.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
		f()
		s.put("a")
		all := []*client{s.connect("feed=continuous&since=now"), s.connect("feed=eventsource&since=now"), s.connect("feed=continuous&since=now&filter=f/g")}
		s.put("bb")
		size := len(line(2, "bb", 1)) + rowOverhead
		shared := State{DB: "d b", Node: 1, Phase: "open", Clients: 2, Rows: 1, Bytes: size}
		filtered := State{DB: "d b", Query: "filter=f/g", Node: 1, Phase: "open", Clients: 1, Rows: 1, Bytes: size}
		f(shared, filtered)
		s.set(func() { s.design = `"2-d"` })
		s.pass(time.Millisecond)
		if o := <-s.connect("feed=continuous&since=now&filter=f/g").done; o != filterChanged {
			t.Errorf("got the outcome %d", o)
		}
		f(shared, filtered)
		s.set(func() { s.down = true })
		s.breakOff()
		s.pass(time.Second)
		shared.Phase, filtered.Phase = "resuming", "resuming"
		f(shared, filtered)
		s.set(func() { s.down, s.holdInfo = false, make(chan struct{}) })
		all = append(all, s.connect("feed=continuous&since=now&limit=3&only=x"))
		f(shared, filtered, State{DB: "d b", Query: "only=x", Node: 1, Phase: "opening", Clients: 1})
		for _, c := range all {
			s.leave(c)
		}
	})
}
