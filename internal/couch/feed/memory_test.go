package feed

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"unsafe"
)

// TestManyClients checks that 2,000 clients need one feed of the node, that each gets every row in
// order, and that an idle client needs little memory: its struct, a timer, and the test's
// own data, but no buffer.
func TestManyClients(t *testing.T) {
	if n := unsafe.Sizeof(session{}); n > 512 {
		t.Errorf("the struct of a client has %d bytes", n)
	}
	const (
		clients = 2000
		each    = 8 << 10 // a buffer would be more than twice as much
	)
	play(t, Config{}, func(s *scene) {
		s.put("before")
		first := s.connect("feed=continuous&heartbeat=60000&since=now")
		before := inUse()
		all := make([]*client, clients)
		for i := range all {
			all[i] = s.connect([...]string{"feed=continuous&heartbeat=60000&since=1-1", "feed=eventsource&heartbeat=true&since=now"}[i%2])
		}
		if got := (inUse() - before) / clients; got > each {
			t.Errorf("an idle client uses %d bytes; want at most %d", got, each)
		}
		var lines, events strings.Builder
		for i := range 50 {
			id := fmt.Sprint("d", i)
			s.put(id)
			if i%7 == 0 {
				synctest.Wait()
			}
			fmt.Fprintf(&lines, "%s\n", line(i+2, id, 1))
			fmt.Fprintf(&events, "data: %s\nid: \"%d-1\"\n\n", line(i+2, id, 1), i+2)
		}
		for i, c := range all {
			s.expect(c, "\n"+[...]string{lines.String(), events.String()}[i%2])
			s.leave(c)
		}
		s.leave(first)
		s.set(func() {
			if got := s.feeds.Stats(); got.Opened != 1 || s.maxOpen != 1 || got.Pages != 0 {
				t.Errorf("got %+v, %d concurrent feeds", got, s.maxOpen)
			}
		})
	})
}

// inUse returns the memory of the heap and of stacks in use.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
