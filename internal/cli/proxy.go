package cli

import (
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// setStreaming makes a listener stream requests and answers, which bounds the pauses within
// them, but not their total time.
func setStreaming(ec *edge.Config, proxied bool) {
	ec.Streaming, ec.ProxyProtocol = true, proxied
	ec.Limits.RequestTimeout = 0
}

// pendingProxy lists proxy_protocol if its new value needs a restart.
func pendingProxy(path string, was, is bool) []string {
	if was == is {
		return nil
	}
	return []string{path + ".proxy_protocol"}
}

// reachConfig returns the configuration of connections to origins, without their addresses.
func reachConfig(s *config.Service, r *config.Reach) balance.Config {
	e := &r.Ejection
	g := balance.Config{
		Algorithm: r.Balance,
		SlowStart: r.SlowStart.Std(),
		Ejection: balance.Ejection{
			Disabled: !e.Enabled, Consecutive: e.Consecutive, FailureRate: e.Failures, Window: e.Window.Std(), MinRequests: e.Requests,
			Time: e.Time.Std(), MaxTime: e.MaxTime.Std(), MaxShare: e.MaxShare,
		},
		Breaker:   breakerConfig(&s.Breaker),
		Retry:     balance.Retry{Attempts: s.Retry.Attempts, BudgetRatio: s.Retry.Budget, BudgetMin: s.Retry.BudgetMin},
		Transport: origin.TransportConfig{ConnectTimeout: r.ConnectTimeout.Std()},
	}
	if c := r.Health; c != nil {
		g.Check = balance.Check{
			Path: c.Path, Method: c.Method, Host: c.Host, Interval: c.Interval.Std(), Timeout: c.Timeout.Std(),
			Status: c.Status, Body: c.Body, Window: c.Window, Threshold: c.Threshold,
		}
	}
	if r.Hedge != nil {
		g.Hedge = balance.Hedge{Enabled: true, Delay: r.Hedge.After.Std()}
	}
	return g
}

// setPassing sets how requests are passed through.
func setPassing(hc *httpcache.Config, p *config.Passing) {
	f := &p.Forwarded
	hc.Forwarding = httpcache.Forwarding{
		X: f.Fields == "x" || f.Fields == "both", Standard: f.Fields == "standard" || f.Fields == "both",
		Trust: config.Prefixes(f.Trust),
	}
	hc.MaxObject, hc.Codings = int64(p.MaxObject), p.Compress
}
