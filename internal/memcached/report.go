package memcached

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/memcached/client"
)

// Name is the service's name in the configuration.
func (s *Service) Name() string { return s.name }

// Ready returns an error while no server is up and no origin of a fallback is available.
// Otherwise the service can answer some requests.
func (s *Service) Ready() error {
	set := s.settings.Load()
	for i := range set.cfg.Client.Servers {
		if set.client.Up(i) {
			return nil
		}
	}
	for _, e := range set.fallbacks {
		if e.Ready() == nil {
			return nil
		}
	}
	if len(set.fallbacks) > 0 {
		return errors.New("no memcached server is up, and no origin of a fallback is available")
	}
	return errors.New("no memcached server is up, and there is no fallback")
}

// Report returns the service's present state. Its members are memcached's servers, then the
// origins of fallbacks.
func (s *Service) Report() admin.Report {
	set := s.settings.Load()
	u := s.space.Usage()
	r := admin.Report{
		Type: "memcached",
		Cache: admin.Usage{
			Entries: u.Entries, Bytes: u.Bytes, Capacity: u.Capacity, Evictions: u.Evictions, EvictedBytes: u.EvictedBytes, Shared: u.Shared,
		},
		Decisions: s.metrics.decisions(),
		Origin:    admin.Origin{Breaker: "closed"},
	}
	var addresses []string
	for i, t := range set.client.State() {
		addresses = append(addresses, t.Address)
		r.Members = append(r.Members, member(t, set.cfg.Ring.Servers[i].Weight))
		r.Origin.Requests += t.Hits + t.Misses + t.Failed
		r.Origin.Attempts += t.Hits + t.Misses + t.Failed + t.Retries
		r.Origin.Retries += t.Retries
		if !t.Up {
			r.Origin.Breaker = "open"
			r.Notes = append(r.Notes, fmt.Sprintf("memcached server %s is down, and its keys are misses: %s", t.Address, t.Trouble))
		}
	}
	r.Origin.URL = strings.Join(addresses, " ")
	for _, e := range set.fallbacks {
		r.Members = append(r.Members, e.Report().Members...)
	}
	return r
}

// member returns a server's entry for reports.
func member(t client.ServerState, weight float64) admin.Member {
	m := admin.Member{Origin: t.Address, State: "up", Weight: weight}
	if !t.Up {
		m.State, m.Why = "down", t.Trouble
	}
	return m
}
