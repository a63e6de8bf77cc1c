package origin

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// complete sets the defaults of cfg, validates it and returns the address of the origin.
func (cfg *Config) complete() (address, error) {
	at, err := parseAddress(cfg.URL)
	if err != nil {
		return address{}, fmt.Errorf("origin %s: %w", cfg.Name, err)
	}
	if at.socket != "" {
		return address{}, fmt.Errorf("origin %s: %q: the scheme must be http or https", cfg.Name, cfg.URL)
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Second)
	cfg.MaxIdleConns = cmp.Or(cfg.MaxIdleConns, 256)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, 25*time.Second)
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 64<<20)
	if cfg.Classify == nil {
		cfg.Classify = ClassifyStatus
	}
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewRegistry()
	}
	cfg.Retry.fill()
	cfg.Breaker.fill()
	cfg.Concurrency.fill()
	return at, cfg.check()
}

func (r *Retry) fill() {
	r.Attempts = cmp.Or(r.Attempts, 3)
	r.BudgetRatio = cmp.Or(r.BudgetRatio, 0.2)
	r.BudgetMin = cmp.Or(r.BudgetMin, 10)
	r.Base = cmp.Or(r.Base, 25*time.Millisecond)
	r.Cap = cmp.Or(r.Cap, time.Second)
}

func (b *Breaker) fill() {
	b.FailureRate = cmp.Or(b.FailureRate, 0.5)
	b.MinRequests = cmp.Or(b.MinRequests, 20)
	b.Window = cmp.Or(b.Window, 10*time.Second)
	b.Delay = cmp.Or(b.Delay, 5*time.Second)
	b.Probes = cmp.Or(b.Probes, 3)
}

func (c *Concurrency) fill() {
	c.Max = cmp.Or(c.Max, 1024)
	c.Min = cmp.Or(c.Min, min(32, c.Max))
	c.Initial = cmp.Or(c.Initial, min(max(128, c.Min), c.Max))
	c.Queue = cmp.Or(c.Queue, 2)
	c.MaxWait = cmp.Or(c.MaxWait, time.Second)
}

// check returns an error if a setting is out of range.
func (cfg *Config) check() error {
	r, b, c := &cfg.Retry, &cfg.Breaker, &cfg.Concurrency
	f := func(ok bool, what string) error {
		if ok {
			return nil
		}
		return fmt.Errorf("origin %s: %s", cfg.Name, what)
	}
	for _, err := range [...]error{
		f(cfg.Timeout > 0 && cfg.IdleTimeout > 0, "timeouts must be above zero"),
		f(cfg.MaxIdleConns > 0 && cfg.MaxBody > 0, "the limits of idle connections and of the body must be above zero"),
		f(r.Attempts > 0, "retry: attempts must be at least 1"),
		f(r.BudgetRatio >= 0 && r.BudgetMin >= 0, "retry: the budget must not be negative"),
		f(r.Base > 0 && r.Cap >= r.Base, "retry: 0 < base <= cap must hold"),
		f(b.FailureRate > 0 && b.FailureRate <= 1, "breaker: the failure rate must be above 0 and at most 1"),
		f(b.MinRequests > 0 && b.Probes > 0, "breaker: the numbers of requests and probes must be above zero"),
		f(b.Window > 0 && b.Delay > 0, "breaker: window and delay must be above zero"),
		f(0 < c.Min && c.Min <= c.Initial && c.Initial <= c.Max, "concurrency: 0 < min <= initial <= max must hold"),
		f(c.MaxWait > 0, "concurrency: the wait must be above zero"),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// ClassifyStatus is the Classify for plain HTTP: 429 is Throttled, other 4xx Refused, 5xx
// Failed. 503 is not special: it may be from a proxy that had forwarded the request.
func ClassifyStatus(status int, _ http1.Fields, _ []byte) Class {
	switch {
	case status == http.StatusTooManyRequests:
		return Throttled
	case status >= 500:
		return Failed
	case status >= 400:
		return Refused
	}
	return Good
}
