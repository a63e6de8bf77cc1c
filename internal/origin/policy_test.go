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

// TestBudgetBoundsRetries checks that if a thousand reads fail at one time, the number of
// retries is the saved budget plus the requests' shares.
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
		if got, want := c.State().Retries, uint64(17+99); got != want && got != want+1 {
			t.Errorf("%d retries for 1000 requests, want %d", got, want)
		}
		if c.metrics.spent.Value() == 0 {
			t.Error("no retry was counted as refused")
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

func TestBudgetSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reset}}
		c := s.client(t, Config{Retry: Retry{BudgetRatio: 0.001, BudgetMin: 0.001}})
		_, err := c.Do(t.Context(), post("b", true))
		wantFault(t, err, Reset, true, 1)
		if f := faultOf(t, err); !f.BudgetSpent || !strings.Contains(f.Error(), "retry budget spent") {
			t.Errorf("the fault %v does not report the spent budget", f)
		}
	})
}

func TestBackoffIsBounded(t *testing.T) {
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
		if longest < ceiling*3/4 { // happens in 0.75^1000 of all runs
			t.Errorf("longest of 1000 pauses %d is %s; want nearly %s", n, longest, ceiling)
		}
	}
}

// TestConcurrencyLimit sends more requests than the limit and the queue allow.
func TestConcurrencyLimit(t *testing.T) {
	f := func(name string, cfg Concurrency, requests, overloaded int) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s := &faulty{script: []step{answerAfter(release)}}
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
				time.Sleep(3 * time.Second) // in the bubble's time: longer than MaxWait
				if st := c.State(); st.InFlight != 2 || st.Queued != 0 || st.Limit != 2 {
					t.Errorf("the state is %+v, want 2 in flight, none queued, limit 2", st)
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
	f("queue exceeds MaxWait", Concurrency{Min: 2, Initial: 2, Max: 2, Queue: 1, MaxWait: time.Second}, 4, 2)
}

// TestQueuedRequestsProceed checks that a queued request follows a completed one, and that a
// canceled one is removed from the queue.
func TestQueuedRequestsProceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &faulty{script: []step{answerAfter(release)}}
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

// TestLimitFallsWhenAnswersSlowDown checks the adaptive limiter with an origin that answers
// fast, and then ten times as slowly.
func TestLimitFallsWhenAnswersSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := delayed(20*time.Millisecond, reply(200, "{}"))
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
		s.set(delayed(200*time.Millisecond, reply(200, "{}")))
		load(20 * time.Second)
		if after := c.State().Limit; after >= before {
			t.Errorf("limit %d after answers slowed down, %d before", after, before)
		}
	})
}

// TestPoliciesAllocateLittle checks that the policies allocate only the limiter's permit for a
// request.
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
		c.budget.Deposit()
		p, _ := c.limiter.acquire(context.Background())
		k, _ := c.breaker.acquire(now)
		c.breaker.release(k, healthy, 0, now)
		release(p, false)
		c.metrics.duration.Observe(time.Millisecond)
	})
	if n > 1 {
		t.Errorf("a request allocates %v times, want once for the limiter's permit", n)
	}
}
