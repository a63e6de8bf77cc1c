package feed

import (
	"strings"
	"testing"
)

// TestSamePage checks that clients with the same position share one page request, also if the first
// of them disconnects, and that a page without clients is cancelled.
func TestSamePage(t *testing.T) {
	play(t, Config{MaxPages: 1}, func(s *scene) {
		for _, id := range []string{"a", "b", "c"} {
			s.put(id)
		}
		hold := make(chan struct{})
		s.set(func() { s.hold = hold })
		var all []*client
		for range 20 {
			all = append(all, s.connect("feed=longpoll"))
		}
		s.leave(all[0])
		s.set(func() { s.hold = nil })
		close(hold)
		for _, c := range all[1:] {
			s.expect(c, "{\"results\":[\n"+line(1, "a", 1)+",\r\n"+line(2, "b", 1)+",\r\n"+line(3, "c", 1)+"\n],\n\"last_seq\":\"3-1\",\"pending\":0}\n<end>")
		}
		pages := 0
		for _, asked := range s.requests() {
			if strings.Contains(asked, "feed=normal") {
				pages++
			}
		}
		if pages != 1 {
			t.Errorf("%d pages for %d clients", pages, len(all))
		}

		s.set(func() { s.hold = make(chan struct{}) })
		lost := s.connect("feed=longpoll")
		s.leave(lost)
		s.set(func() { s.hold = nil })
		s.expect(s.connect("feed=longpoll&limit=1"), "{\"results\":[\n"+line(1, "a", 1)+"\n],\n\"last_seq\":\"1-1\",\"pending\":2}\n<end>")
	})
}
