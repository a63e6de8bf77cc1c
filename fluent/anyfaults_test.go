//go:build go1.25

package fluent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
	"pgregory.net/rapid"
)

// connectionFault generates a way in which a connection fails, or none.
var connectionFault = rapid.Custom(func(t *rapid.T) forwardtest.Behaviour {
	b := forwardtest.Behaviour{}
	switch rapid.IntRange(0, 9).Draw(t, "fault") {
	case 0:
		b.Refuse = true
	case 1:
		b.CloseAfter = rapid.IntRange(1, 400).Draw(t, "bytes")
	case 2:
		b.Stall = true
	case 3:
		b.HalfOpen = true
	case 4:
		b.AckDelay = rapid.SampledFrom([]time.Duration{time.Millisecond, 9 * time.Second, 11 * time.Second}).Draw(t, "delay")
	case 5:
		b.AckWrong = true
	case 6:
		b.AckNever = true
	case 7:
		b.AckClose = true
	case 8:
		b.Hello = []byte(rapid.SampledFrom([]string{"\x92\xa4HELO\x80", "\xc1", "\x81\xa3ack\xa4AA=="}).Draw(t, "hello"))
	}
	return b
})

// TestAnyFaults draws options and failing connections. With acknowledgements every event arrives
// once the servers behave, in order if there is one server, and no batch remains held.
func TestAnyFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		servers := rapid.IntRange(1, 3).Draw(rt, "servers")
		scripts := rapid.SliceOfN(rapid.SliceOfN(connectionFault, 0, 5), servers, servers).Draw(rt, "scripts")
		opts := drawOptions(rt)
		rounds := rapid.SliceOfN(rapid.IntRange(0, 12), 1, 5).Draw(rt, "rounds")
		pause := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(rt, "pause")
		restarts := rapid.Bool().Draw(rt, "restarts")
		failed := ""
		synctest.Test(t, func(t *testing.T) {
			failed = underFaults(t, scripts, opts, rounds, pause, restarts)
		})
		if failed != "" {
			rt.Fatal(failed)
		}
	})
}

func drawOptions(rt *rapid.T) []Option {
	opts := []Option{
		WithAckTimeout(10 * time.Second),
		WithWindow(rapid.IntRange(1, 5).Draw(rt, "window")),
		WithKeepalive(rapid.Bool().Draw(rt, "keepalive")),
		WithBreaker(rapid.IntRange(1, 3).Draw(rt, "threshold")),
		WithMode(Mode(rapid.IntRange(0, 1).Draw(rt, "mode"))),
		WithMaxConnAge(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(rt, "age")),
	}
	if rapid.Bool().Draw(rt, "balance") {
		opts = append(opts, WithBalance())
	}
	if rapid.Bool().Draw(rt, "heartbeat") {
		opts = append(opts, WithHeartbeat(ConnectHeartbeat, time.Second))
	}
	return opts
}

func underFaults(t *testing.T, scripts [][]forwardtest.Behaviour, opts []Option, rounds []int, pause time.Duration, restarts bool) (failed string) {
	var names []string
	var rs []*forwardtest.Receiver
	for i, script := range scripts {
		r := forwardtest.Detached(forwardtest.Options{})
		defer r.Close()
		r.Script(script...)
		rs = append(rs, r)
		names = append(names, string(rune('a'+i)))
	}
	s := newFakeSource(t)
	_, stop := s.deliver(names, append(opts, WithDial(byHost(rs...)))...)
	total := 0
	for i, n := range rounds {
		s.put(n)
		total += n
		time.Sleep(pause) // on the bubble's clock
		if restarts {
			r := rs[i%len(rs)]
			r.Stop()
			time.Sleep(pause) // on the bubble's clock
			if err := r.Start(); err != nil {
				return err.Error()
			}
		}
	}
	s.await(total)
	stop()
	synctest.Wait()
	seen := make([]int, 2*total)
	last := -1
	for _, r := range rs {
		for _, e := range r.Events() {
			n := int(e.Record["n"].(int64))
			if seen[n]++; seen[n] == 1 && len(rs) == 1 {
				if n != last+1 {
					return fmt.Sprintf("event %d arrived after %d", n, last)
				}
				last = n
			}
		}
		for _, err := range r.Errors() {
			return fmt.Sprintf("a server reported %v", err)
		}
	}
	for n, count := range seen {
		if count == 0 {
			return fmt.Sprintf("event %d is missing", n)
		}
	}
	return ""
}
