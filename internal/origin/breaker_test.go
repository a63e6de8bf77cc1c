package origin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// errRefused is the error of dials to a faulty server.
var errRefused = errors.New("connection refused")

// refuse makes the next n dials fail.
func (s *faulty) refuse(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialed, s.dials = 0, make([]error, n)
	for i := range s.dials {
		s.dials[i] = errRefused
	}
}

// asked returns the number of connection attempts since refuse.
func (s *faulty) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialed
}

// TestBreakerCycle checks all states with an origin that fails and recovers. As it is the only
// origin, no request is refused.
func TestBreakerCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(200, "{}")}}
		s.refuse(12)
		c := s.client(t, Config{
			Retry:   Retry{Attempts: 1},
			Breaker: Breaker{FailureRate: 0.5, MinRequests: 10, Window: 10 * time.Second, Delay: time.Second, Probes: 2},
		})
		ask := func(n int, state string, kinds ...FaultKind) {
			t.Helper()
			for range n {
				if _, err := c.Do(t.Context(), post("b", true)); len(kinds) > 0 {
					wantFault(t, err, kinds[0], false, 1)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if got := c.State().Breaker; got != state {
				t.Fatalf("the breaker is %s, want %s", got, state)
			}
		}
		ask(9, "closed", Dial)
		ask(1, "open", Dial)
		time.Sleep(800 * time.Millisecond) // in the bubble's time
		ask(1, "open", Dial)
		time.Sleep(800 * time.Millisecond)
		if got := c.State().Breaker; got != "open" {
			t.Errorf("the breaker is %s before its delay after the last failure, want open", got)
		}
		time.Sleep(300 * time.Millisecond)
		if got := c.State().Breaker; got != "half-open" {
			t.Errorf("breaker is %s; want half-open", got)
		}
		ask(1, "open", Dial) // the probe fails
		if n := s.asked(); n != 12 {
			t.Errorf("%d connections were attempted, want one for each request", n)
		}
		ask(1, "open") // the origin has recovered
		ask(1, "closed")
		if n := c.metrics.opened.Value(); n != 2 {
			t.Errorf("opened %d times; want 2", n)
		}
	})
}

// TestBreakerCounts checks which failures open the breaker.
func TestBreakerCounts(t *testing.T) {
	const same, different = "the same request", "different requests"
	f := func(name, want string, cfg Config, requests string, script step) {
		t.Run(name+", "+requests, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &faulty{script: []step{script}}
				if script == nil {
					s.refuse(100)
				}
				cfg.Retry.Attempts, cfg.Breaker = 1, Breaker{MinRequests: 4, Window: time.Hour, Delay: time.Hour}
				c := s.client(t, cfg)
				for i := range 20 {
					body := "b"
					if requests == different {
						body = fmt.Sprint(i)
					}
					if _, err := c.Do(t.Context(), post(body, true)); err != nil && faultOf(t, err).Kind == BreakerOpen {
						t.Fatal("a request was refused")
					}
				}
				if got := c.State().Breaker; got != want {
					t.Errorf("the breaker is %s; want %s", got, want)
				}
			})
		})
	}
	f("no connection", "open", Config{}, same, nil)
	f("no answer in time", "open", Config{}, different, silent)
	f("no answer in time", "closed", Config{}, same, silent)
	f("closed without an answer", "closed", Config{}, different, reset)
	f("invalid answer", "closed", Config{}, different, raw("?\r\n\r\n"))
	f("answer too long", "closed", Config{MaxBody: 3}, different, reply(200, "long"))
	f("failed", "closed", Config{}, different, reply(500, ""))
	f("throttled", "closed", Config{}, different, reply(400, throttled))
	f("refused", "closed", Config{}, different, reply(400, "no"))
	t.Run("callers cancel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &faulty{script: []step{silent}}
			c := s.client(t, Config{Retry: Retry{Attempts: 1}, Breaker: Breaker{MinRequests: 2}})
			for i := range 50 {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(time.Millisecond, cancel)
				c.Do(ctx, post(fmt.Sprint(i), true))
			}
			if c.State().Breaker != "closed" {
				t.Error("the breaker opened")
			}
		})
	})
}

// TestOpenBreakerEndsRetries checks that after the fourth failed attempt has opened the
// breaker, that request and later ones are not retried.
func TestOpenBreakerEndsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{}
		s.refuse(100)
		c := s.client(t, Config{Retry: Retry{Attempts: 3, Base: 1, Cap: 1}, Breaker: Breaker{MinRequests: 4, Delay: time.Hour, Window: time.Hour}})
		for _, attempts := range []int{3, 1, 1} {
			_, err := c.Do(t.Context(), post("b", true))
			wantFault(t, err, Dial, false, attempts)
		}
	})
}

// TestConnectsWithOpenBreaker checks dials that hang. While the breaker is open only as many
// requests as there are probes wait for a connection, and the others fail at once. After a
// connection was made, all requests may connect.
func TestConnectsWithOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(200, "{}")}}
		c := s.client(t, Config{Timeout: time.Second, Retry: Retry{Attempts: 1}, Breaker: Breaker{MinRequests: 4, Delay: time.Hour, Probes: 2}})
		recovered := make(chan struct{})
		c.pool.dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-recovered:
				return s.dial(ctx, network, address)
			}
		}
		var mu sync.Mutex
		kinds := map[FaultKind]int{}
		answered := 0
		all := func(n int) *sync.WaitGroup {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					_, err := c.Do(t.Context(), post("b", true))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						answered++
					} else {
						kinds[faultOf(t, err).Kind]++
					}
				})
			}
			return &wg
		}
		all(10).Wait()
		if c.State().Breaker != "open" || kinds[Timeout] != 10 {
			t.Fatalf("the breaker is %s, the faults are %v; want open, 10 timeouts", c.State().Breaker, kinds)
		}
		begin := time.Now()
		waiting := all(10)
		synctest.Wait()
		if kinds[BreakerOpen] != 8 || time.Now() != begin {
			t.Fatalf("the faults are %v, want 8 requests refused at once", kinds)
		}
		close(recovered)
		waiting.Wait()
		all(10).Wait()
		if answered != 12 || c.State().Breaker != "closed" {
			t.Errorf("%d answered, breaker %s; want 12, closed", answered, c.State().Breaker)
		}
	})
}

// newTestBreaker returns a breaker without a client.
func newTestBreaker(cfg Breaker) *breaker {
	return newBreaker(cfg, newMetrics(newRegistry(), "t").opened, nil)
}

// TestBreakerOnChange checks that each change of state is reported once, and that the
// breaker can be used during the report.
func TestBreakerOnChange(t *testing.T) {
	var changes []string
	b := newTestBreaker(Breaker{FailureRate: 1, MinRequests: 1, Window: time.Second, Delay: time.Second, Probes: 1})
	b.onChange = func(from, to string) {
		changes = append(changes, from+" to "+to)
		b.stateAt(time.Unix(1000, 0))
	}
	now := time.Unix(1000, 0)
	for _, v := range []verdict{healthy, unreachable, unreachable, healthy, healthy} {
		p, ok := b.acquire(now)
		if !ok {
			t.Fatal("the request was not admitted")
		}
		b.release(p, v, 0, now)
		now = now.Add(2 * time.Second)
	}
	const want = "closed to open, open to half-open, half-open to open, open to half-open, half-open to closed"
	if got := strings.Join(changes, ", "); got != want {
		t.Errorf("got the changes %s, want %s", got, want)
	}
}

// TestBreakerProbes checks the accounting of probes in the state half-open.
func TestBreakerProbes(t *testing.T) {
	newOpen := func() (*breaker, time.Time, Permit) {
		b := newTestBreaker(Breaker{FailureRate: 1, MinRequests: 1, Window: time.Second, Delay: time.Second, Probes: 2})
		now := time.Unix(1000, 0)
		late, _ := b.acquire(now)
		last, _ := b.acquire(now)
		b.release(last, unreachable, 0, now)
		return b, now.Add(2 * time.Second), late
	}
	t.Run("no more than configured", func(t *testing.T) {
		b, now, _ := newOpen()
		for i, want := range []bool{true, true, false} {
			if _, ok := b.acquire(now); ok != want {
				t.Errorf("probe %d: admitted %t, want %t", i, ok, want)
			}
		}
	})
	t.Run("an inconclusive probe frees its place", func(t *testing.T) {
		b, now, _ := newOpen()
		for range 10 {
			p, ok := b.acquire(now)
			if !ok {
				t.Fatal("no probe was admitted")
			}
			b.release(p, inconclusive, 0, now)
		}
		if b.stateAt(now) != halfOpen {
			t.Errorf("the breaker is %s, want half-open", b.stateAt(now))
		}
	})
	t.Run("requests without another origin take no place", func(t *testing.T) {
		b, now, _ := newOpen()
		var forced []Permit
		for range 10 {
			forced = append(forced, b.force(now))
		}
		for _, p := range forced {
			b.release(p, inconclusive, 0, now)
		}
		if b.probes != 0 {
			t.Errorf("%d probes are counted, want 0", b.probes)
		}
		p := b.force(now)
		b.release(p, unreachable, 0, now)
		if b.stateAt(now) != open {
			t.Errorf("the breaker is %s after a failure, want open", b.stateAt(now))
		}
		for range 2 {
			b.release(b.force(now), healthy, 0, now)
		}
		if b.stateAt(now) != closed {
			t.Errorf("the breaker is %s after two successes, want closed", b.stateAt(now))
		}
	})
	t.Run("late results do not count", func(t *testing.T) {
		b, now, late := newOpen()
		first, _ := b.acquire(now)
		b.release(late, unreachable, 0, now)
		if b.stateAt(now) != halfOpen {
			t.Fatal("a result from before the outage reopened the breaker")
		}
		second, _ := b.acquire(now)
		b.release(first, healthy, 0, now)
		b.release(late, healthy, 0, now)
		if b.stateAt(now) != halfOpen {
			t.Fatal("a result from before the outage closed the breaker")
		}
		b.release(second, healthy, 0, now)
		if b.stateAt(now) != closed {
			t.Errorf("the breaker is %s after both probes succeeded, want closed", b.stateAt(now))
		}
	})
	t.Run("old failures are forgotten", func(t *testing.T) {
		b := newTestBreaker(Breaker{FailureRate: 0.5, MinRequests: 4, Window: time.Second, Delay: time.Second, Probes: 1})
		now := time.Unix(1000, 0)
		for i := range 20 {
			p, _ := b.acquire(now)
			b.release(p, []verdict{unreachable, unanswered}[i%2], uint64(i), now)
			now = now.Add(400 * time.Millisecond)
		}
		if b.stateAt(now) != closed {
			t.Error("the breaker opened although no window had four failures")
		}
	})
}
