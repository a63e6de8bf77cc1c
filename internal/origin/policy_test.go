package origin

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestBudgetBoundsRetries lets a thousand reads fail at one moment: the retries
// are what was saved plus the requests' shares, exactly.
func TestBudgetBoundsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(500, failed)}}
		c := s.client(t, Config{
			Retry:   Retry{Attempts: 5, BudgetRatio: 0.1, BudgetMin: 7, Base: time.Nanosecond, Cap: time.Nanosecond},
			Breaker: Breaker{Disabled: true},
		})
		for range 1000 {
			if resp, err := c.Do(t.Context(), post("b", true)); err != nil || resp.Class != Failed {
				t.Fatalf("got %+v, %v", resp, err)
			}
		}
		// The bucket was full with 7+0.1*100; the first deposit finds no room.
		if got, most := c.State().Retries, uint64(17+99); got != most && got != most+1 {
			t.Errorf("%d retries for 1000 requests; want %d", got, most)
		}
		if c.metrics.spent.Value() == 0 {
			t.Error("no refused retry was counted")
		}
		before := c.State().Retries
		time.Sleep(time.Second) // in the bubble's time
		for range 20 {
			c.Do(t.Context(), post("b", true))
		}
		if got := c.State().Retries - before; got < 7 || got > 10 {
			t.Errorf("%d retries a second later; want 7 for the second and 2 for the requests", got)
		}
	})
}

func TestBudgetSpentIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reset}}
		c := s.client(t, Config{Retry: Retry{BudgetRatio: 0.001, BudgetMin: 0.001}})
		_, err := c.Do(t.Context(), post("b", true))
		wantFault(t, err, Reset, true, 1)
		if f := faultOf(t, err); !f.BudgetSpent || !strings.Contains(f.Error(), "retry budget spent") {
			t.Errorf("fault %v does not say that the budget is spent", f)
		}
	})
}

func TestBackoffStaysInBounds(t *testing.T) {
	r := Retry{Base: 10 * time.Millisecond, Cap: 55 * time.Millisecond}
	for n, ceiling := range map[int]time.Duration{1: 10, 2: 20, 3: 40, 4: 55, 5: 55, 40: 55, 70: 55} {
		ceiling *= time.Millisecond
		longest := time.Duration(0)
		for range 1000 {
			d := r.backoff(n)
			if d < 0 || d >= ceiling {
				t.Fatalf("pause %d is %s; want less than %s", n, d, ceiling)
			}
			longest = max(longest, d)
		}
		if longest < ceiling*3/4 { // 0.75^1000 of all runs
			t.Errorf("longest of 1000 pauses %d is %s; want nearly %s", n, longest, ceiling)
		}
	}
}

// TestBreakerCycle goes through all states with an origin that fails and recovers.
func TestBreakerCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(500, failed)}}
		c := s.client(t, Config{
			Retry:   Retry{Attempts: 1},
			Breaker: Breaker{FailureRate: 0.5, MinRequests: 10, Window: 10 * time.Second, Delay: time.Second, Probes: 2},
		})
		ask := func() error { _, err := c.Do(t.Context(), post("b", true)); return err }
		state := func(want string) {
			t.Helper()
			if got := c.State().Breaker; got != want {
				t.Fatalf("breaker is %s; want %s", got, want)
			}
		}
		for range 9 {
			ask()
		}
		state("closed")
		ask()
		state("open")
		wantFault(t, ask(), BreakerOpen, false, 0)
		if s.count() != 10 {
			t.Fatalf("the origin was asked %d times; want 10", s.count())
		}
		time.Sleep(1100 * time.Millisecond) // in the bubble's time
		state("half-open")
		if err := ask(); err != nil { // the probe, which fails
			t.Fatal(err)
		}
		state("open")
		s.set(reply(200, "{}"))
		time.Sleep(1100 * time.Millisecond)
		ask()
		state("half-open")
		ask()
		state("closed")
		if n := c.metrics.opened.Value(); n != 2 {
			t.Errorf("opened %d times; want 2", n)
		}
	})
}

// TestBreakerKeepsClosed shows what is not the origin's failure.
func TestBreakerKeepsClosed(t *testing.T) {
	f := func(name string, do func(c *Client), script ...step) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &faulty{script: script}
				c := s.client(t, Config{Retry: Retry{Attempts: 1}, Breaker: Breaker{MinRequests: 2}})
				for range 50 {
					do(c)
				}
				if c.State().Breaker != "closed" {
					t.Error("the breaker opened")
				}
			})
		})
	}
	ask := func(c *Client) { c.Do(context.Background(), post("b", true)) }
	f("throttled", ask, reply(400, throttled))
	f("refused", ask, reply(400, "no"))
	f("callers go away", func(c *Client) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Millisecond, cancel)
		c.Do(ctx, post("b", true))
	}, silent)
}

// TestBreakerOpensOnTransportFaults is the counterpart.
func TestBreakerOpensOnTransportFaults(t *testing.T) {
	for name, script := range map[string]step{"reset": reset, "silent": silent, "garbage": raw("?\r\n\r\n"), "failed": reply(500, "")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &faulty{script: []step{script}}
				c := s.client(t, Config{Retry: Retry{Attempts: 3, Base: 1, Cap: 1}, Breaker: Breaker{MinRequests: 4, Delay: time.Hour, Window: time.Hour}})
				// The second request's first attempt is the fourth failure: its retry
				// meets an open breaker, and the outcome so far stands.
				for range 2 {
					resp, err := c.Do(t.Context(), post("b", true))
					if resp == nil && faultOf(t, err).Kind == BreakerOpen {
						t.Errorf("the outcome is %v rather than what the origin did", err)
					}
				}
				if s.count() != 4 || c.State().Breaker != "open" {
					t.Errorf("asked %d times, breaker %s; want 4, open", s.count(), c.State().Breaker)
				}
			})
		})
	}
}

// TestBreakerTellsItsMoves checks that each change of state is told once, and
// with the breaker free to be asked.
func TestBreakerTellsItsMoves(t *testing.T) {
	var b *breaker
	var moves []string
	cfg := Breaker{FailureRate: 1, MinRequests: 1, Window: time.Second, Delay: time.Second, Probes: 1}
	b = newBreaker(cfg, newMetrics(newRegistry(), "t").opened, func(from, to string) {
		moves = append(moves, from+" to "+to)
		b.blocks(time.Unix(1000, 0))
	})
	now := time.Unix(1000, 0)
	for _, v := range []verdict{healthy, broken, broken, healthy, healthy} {
		p, ok := b.acquire(now)
		if !ok {
			t.Fatal("not admitted")
		}
		b.release(p, v, now)
		now = now.Add(2 * time.Second)
	}
	const want = "closed to open, open to half-open, half-open to open, open to half-open, half-open to closed"
	if got := strings.Join(moves, ", "); got != want {
		t.Errorf("moves: %s; want %s", got, want)
	}
}

// TestBreakerProbes checks the bookkeeping of half-open directly.
func TestBreakerProbes(t *testing.T) {
	newOpen := func() (*breaker, time.Time, ticket) {
		m := newMetrics(newRegistry(), "t")
		b := newBreaker(Breaker{FailureRate: 1, MinRequests: 1, Window: time.Second, Delay: time.Second, Probes: 2}, m.opened, nil)
		now := time.Unix(1000, 0)
		late, _ := b.acquire(now)
		last, _ := b.acquire(now)
		b.release(last, broken, now)
		return b, now.Add(2 * time.Second), late
	}
	t.Run("no more than asked for", func(t *testing.T) {
		b, now, _ := newOpen()
		for i, want := range []bool{true, true, false} {
			if _, ok := b.acquire(now); ok != want {
				t.Errorf("probe %d admitted: %t", i, ok)
			}
		}
	})
	t.Run("one without result gives its place back", func(t *testing.T) {
		b, now, _ := newOpen()
		for range 10 {
			p, ok := b.acquire(now)
			if !ok {
				t.Fatal("no place is left")
			}
			b.release(p, inconclusive, now)
		}
		if b.at(now) != halfOpen {
			t.Errorf("breaker is %s", b.at(now))
		}
	})
	t.Run("late results do not count", func(t *testing.T) {
		b, now, late := newOpen()
		first, _ := b.acquire(now)
		b.release(late, broken, now)
		if b.at(now) != halfOpen {
			t.Fatal("a result from before the outage reopened the breaker")
		}
		second, _ := b.acquire(now)
		b.release(first, healthy, now)
		b.release(late, healthy, now)
		if b.at(now) != halfOpen {
			t.Fatal("a result from before the outage closed the breaker")
		}
		b.release(second, healthy, now)
		if b.at(now) != closed {
			t.Errorf("breaker is %s after both probes succeeded", b.at(now))
		}
	})
	t.Run("old failures are forgotten", func(t *testing.T) {
		b := newBreaker(Breaker{FailureRate: 0.5, MinRequests: 4, Window: time.Second, Delay: time.Second, Probes: 1}, newMetrics(newRegistry(), "t").opened, nil)
		now := time.Unix(1000, 0)
		for range 20 {
			p, _ := b.acquire(now)
			b.release(p, broken, now)
			now = now.Add(400 * time.Millisecond)
		}
		if b.at(now) != closed {
			t.Error("opened though no second saw four failures")
		}
	})
}

// TestConcurrencyLimit fills the places, then the queue.
func TestConcurrencyLimit(t *testing.T) {
	f := func(name string, cfg Concurrency, requests, overloaded int) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s := &faulty{script: []step{parked(release)}}
				c := s.client(t, Config{Concurrency: cfg, Retry: Retry{Attempts: 1}})
				var wg sync.WaitGroup
				var mu sync.Mutex
				var refused []error
				for range requests {
					wg.Go(func() {
						if _, err := c.Do(t.Context(), post("b", false)); err != nil {
							mu.Lock()
							defer mu.Unlock()
							refused = append(refused, err)
						}
					})
					synctest.Wait()
				}
				time.Sleep(3 * time.Second) // in the bubble's time: beyond the queue's patience
				if st := c.State(); st.InFlight != 2 || st.Queued != 0 || st.Limit != 2 {
					t.Errorf("state %+v; want 2 under way, none queued, limit 2", st)
				}
				close(release)
				wg.Wait()
				if len(refused) != overloaded || s.count() != requests-overloaded {
					t.Errorf("%d refused, %d executed; want %d, %d", len(refused), s.count(), overloaded, requests-overloaded)
				}
				for _, err := range refused {
					wantFault(t, err, Overload, false, 0)
				}
			})
		})
	}
	f("no queue", Concurrency{Min: 2, Initial: 2, Max: 2, Queue: -1}, 5, 3)
	f("queue runs out of patience", Concurrency{Min: 2, Initial: 2, Max: 2, Queue: 1, MaxWait: time.Second}, 4, 2)
}

// TestQueuedRequestsProceed checks that a place passed on is used, and that a
// caller that gives up in the queue leaves it.
func TestQueuedRequestsProceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &faulty{script: []step{parked(release)}}
		c := s.client(t, Config{Concurrency: Concurrency{Min: 1, Initial: 1, Max: 1, Queue: 4, MaxWait: time.Minute}, Timeout: time.Minute})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := c.Do(t.Context(), post("b", false)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Do(ctx, post("b", false))
		wantFault(t, err, Timeout, false, 0)
		if q := c.State().Queued; q != 2 {
			t.Errorf("%d queued; want 2", q)
		}
		close(release)
		wg.Wait()
		if s.count() != 3 {
			t.Errorf("%d executed; want 3", s.count())
		}
	})
}

// TestLimitFallsWhenAnswersSlowDown drives the adaptive limiter through load that
// the origin takes, and then answers ten times as slowly.
func TestLimitFallsWhenAnswersSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := lag(20*time.Millisecond, reply(200, "{}"))
		s := &faulty{script: []step{fast}}
		c := s.client(t, Config{Concurrency: Concurrency{Min: 4, Initial: 64, Max: 512}})
		load := func(d time.Duration) {
			var wg sync.WaitGroup
			end := time.Now().Add(d)
			for range 12 {
				wg.Go(func() {
					for time.Now().Before(end) {
						c.Do(t.Context(), post("b", true))
					}
				})
			}
			wg.Wait()
		}
		load(10 * time.Second)
		before := c.State().Limit
		if before < 64 {
			t.Errorf("limit %d after healthy load; want no less than the initial 64", before)
		}
		s.set(lag(200*time.Millisecond, reply(200, "{}")))
		load(20 * time.Second)
		if after := c.State().Limit; after >= before {
			t.Errorf("limit %d after answers slowed down, %d before", after, before)
		}
	})
}

// TestPoliciesAllocateLittle keeps the policies' share of a request to the
// limiter's one permit.
func TestPoliciesAllocateLittle(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	c, err := New(Config{URL: "http://origin.test"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	n := testing.AllocsPerRun(1000, func() {
		c.budget.deposit()
		p, _ := c.limiter.acquire(context.Background())
		k, _ := c.breaker.acquire(now)
		c.breaker.release(k, healthy, now)
		release(p, false)
		c.metrics.duration.Observe(time.Millisecond)
	})
	if n > 1 {
		t.Errorf("%v allocations a request; want the limiter's permit only", n)
	}
}
