package client

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestBreaker checks a server that refuses connections, is marked down, and recovers.
func TestBreaker(t *testing.T) {
	const recovered = hello + "> get a\\r\\n\n< VALUE a 0 3\\r\\none\\r\\nEND\\r\\n"
	scripts := []string{"refuse", "refuse", "refuse", "refuse", "", recovered}
	play(t, "down and up again", Config{Protocol: Text}, scripts, func(t *testing.T, c *Client, s *scripted) {
		for n := 1; n <= 3; n++ {
			if up := c.State()[0].Up; !up {
				t.Errorf("the server is down before failure %d", n)
			}
			if r, _ := get(c, "a"); r != Down || int(s.dials.Load()) != n {
				t.Errorf("failure %d: %s after %d attempts to connect", n, r, int(s.dials.Load()))
			}
		}
		if state := c.State()[0]; state.Up || !strings.Contains(state.Trouble, "refused") {
			t.Errorf("the state is %+v after three failures", state)
		}
		start := time.Now()
		for !c.State()[0].Up {
			if r, _ := get(c, "a"); r != Down {
				t.Errorf("while down: %s", r)
			}
			time.Sleep(10 * time.Millisecond)
		}
		// One probe is refused after 62.5 ms, the next remains unanswered 125 ms later for
		// 250 ms, the third succeeds 250 ms after that.
		if took := time.Since(start); int(s.dials.Load()) != 6 || took < 640*time.Millisecond || took > 750*time.Millisecond {
			t.Errorf("up after %s and %d connections", took, int(s.dials.Load()))
		}
		if r, v := get(c, "a"); r != Hit || v != "one" || int(s.dials.Load()) != 6 {
			t.Errorf("after the recovery: got %s %q, %d connections", r, v, int(s.dials.Load()))
		}
	})
}

// getsInParallel makes n gets at once, and checks that all return want after the given time.
func getsInParallel(t *testing.T, c *Client, n int, want Result, after time.Duration) {
	t.Helper()
	start := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if r, _ := get(c, "a"); r != want || time.Since(start) != after {
				t.Errorf("got %s after %s, want %s after %s", r, time.Since(start), want, after)
			}
		})
	}
	wg.Wait()
}

// TestSharedFailure checks that a refused connection counts as one failure, however many
// calls wait for it.
func TestSharedFailure(t *testing.T) {
	scripts := []string{"refuse 10ms", "refuse 10ms", "refuse 10ms"}
	play(t, "refused", Config{Protocol: Text}, scripts, func(t *testing.T, c *Client, s *scripted) {
		for n := range 3 {
			if !c.State()[0].Up {
				t.Errorf("the server is down after %d failures", n)
			}
			getsInParallel(t, c, 5, Down, 10*time.Millisecond)
			synctest.Wait()
		}
		if c.State()[0].Up {
			t.Error("the server is up after three failures")
		}
	})
}

// TestShortSilence checks a server that is silent for a while: the running calls time out, no
// further call waits, and the server is used again as soon as it answers.
func TestShortSilence(t *testing.T) {
	const a = "> get a\\r\\n\n< VALUE a 0 3\\r\\none\\r\\nEND\\r\\n\n"
	ms := time.Millisecond
	f := func(name string, rest time.Duration, scripts ...string) {
		t.Helper()
		scripts = append([]string{hello + a}, scripts...)
		play(t, name, Config{Protocol: Text}, scripts, func(t *testing.T, c *Client, s *scripted) {
			getsInParallel(t, c, 1, Hit, 0)
			getsInParallel(t, c, 5, Timeout, 250*ms)
			start := time.Now()
			synctest.Wait()
			for !c.State()[0].Up {
				getsInParallel(t, c, 3, Down, 0)
				time.Sleep(700 * time.Microsecond) // never at the time when the server answers
			}
			if took := time.Since(start); took < rest-rest/20 || took > rest+rest/20+ms {
				t.Errorf("up %s after the timeout, want %s", took, rest)
			}
			getsInParallel(t, c, 1, Hit, 0)
			if n := c.servers[0].failures.Load(); n != 0 {
				t.Errorf("%d failures are counted after a reply, want 0", n)
			}
			if n := c.servers[0].metrics.downed.Value(); n != 1 {
				t.Errorf("the server was marked down %d times, want once", n)
			}
		})
	}
	f("just over the timeout", 0, hello+a)
	f("still silent when probed", 100*ms, "> version\\r\\n\nafter 100ms\n< VERSION 1\\r\\n\n"+a)
	f("for a while", 250*ms+31*ms, "", hello+a)
	f("for longer", 2*250*ms+93*ms, "", "", hello+a)
}

// TestWaitForBlockedWrite checks a call that waits to be written to a connection whose server
// has stopped reading: it waits no longer than the call that is being written.
func TestWaitForBlockedWrite(t *testing.T) {
	play(t, "deaf", Config{Protocol: Text, Connections: 1}, []string{hello + "after 1s", "hang"}, func(t *testing.T, c *Client, _ *scripted) {
		var wg sync.WaitGroup
		const timeout = 250 * time.Millisecond
		wg.Go(func() { getsInParallel(t, c, 1, Timeout, timeout) })
		synctest.Wait()
		start := time.Now()
		r, _ := get(c, "a")
		// Its own time is over when the connection ends, so it may return either.
		if took := time.Since(start); r != Down && r != Timeout || took != timeout {
			t.Errorf("got %s after %s, want down or timeout after %s", r, took, timeout)
		}
		wg.Wait()
	})
}

// TestSilentServer checks that a server that accepts connections and never answers is probed
// less and less often.
func TestSilentServer(t *testing.T) {
	scripts := strings.Split(strings.Repeat(hello+"|", 50), "|")
	play(t, "10 seconds", Config{Protocol: Text}, scripts, func(t *testing.T, c *Client, _ *scripted) {
		waited := 0
		for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(time.Millisecond) {
			switch r, _ := get(c, "a"); r {
			case Timeout:
				waited++
			case Down:
			default:
				t.Errorf("got %s", r)
			}
		}
		// The first five take 1.7 s, then one is made every 750 ms.
		if waited < 12 || waited > 20 {
			t.Errorf("%d gets timed out, want 12 to 20", waited)
		}
	})
}

// outage is a network on which connections can't be made before a time.
type outage struct {
	*scripted
	until time.Time
}

func (o outage) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if time.Now().Before(o.until) {
		o.dials.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return o.scripted.DialContext(ctx, network, address)
}

// TestTimeToRecover checks how soon a server is marked up after an outage, and how often it is
// probed during it.
func TestTimeToRecover(t *testing.T) {
	f := func(down time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{t: t, scripts: slices.Repeat([]string{hello}, 20_000)}
			o := outage{s, time.Now().Add(down)}
			c, err := New(Config{Protocol: Text, Servers: []Server{{Address: "server:11211"}}, dial: o})
			if err != nil {
				t.Fatal(err)
			}
			getsInParallel(t, c, 5, Down, 100*time.Millisecond)
			time.Sleep(time.Until(o.until))
			if n := s.dials.Load(); c.State()[0].Up || time.Duration(n) > 6+down/(500*time.Millisecond) {
				t.Errorf("an outage of %s: %+v after %d attempts to connect", down, c.State()[0], n)
			}
			for !c.State()[0].Up {
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(o.until); took > 700*time.Millisecond {
				t.Errorf("an outage of %s: up after %s, want at most 700ms", down, took)
			}
			c.Close()
			s.wg.Wait()
		})
	}
	for _, down := range []time.Duration{150 * time.Millisecond, 300 * time.Millisecond, time.Second, 7 * time.Second, time.Minute, time.Hour} {
		f(down)
	}
}
