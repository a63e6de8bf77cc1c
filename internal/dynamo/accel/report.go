package accel

import (
	"errors"
	"fmt"
	"sort"

	"github.com/kasoku/kasoku/internal/admin"
)

var _ admin.Service = (*Service)(nil)

// Name returns the service's name in the configuration.
func (s *Service) Name() string { return s.name }

// Report returns the service's current state.
func (s *Service) Report() admin.Report {
	set := s.settings.Load()
	o, u := set.origin.State(), s.space.Usage()
	return admin.Report{
		Type: "dynamodb",
		Origin: admin.Origin{
			URL: set.cfg.Origin.URL, Breaker: o.Breaker, Limit: o.Limit, InFlight: o.InFlight, Queued: o.Queued,
			Requests: o.Requests, Attempts: o.Attempts, Retries: o.Retries,
		},
		Cache: admin.Usage{
			Entries: u.Entries, Bytes: u.Bytes, Capacity: u.Capacity, Evictions: u.Evictions, EvictedBytes: u.EvictedBytes, Shared: u.Shared,
		},
		Streams:   s.streamReport(),
		Decisions: s.metrics.counts(),
		Notes:     s.notes(),
	}
}

// notes lists the tables that can't be cached as configured.
func (s *Service) notes() (notes []string) {
	for name, t := range *s.tables.byName.Load() {
		switch {
		case t.missing:
		case !t.known:
			notes = append(notes, fmt.Sprintf("table %s could not be described: its requests pass through uncached", name))
		case !t.active:
			notes = append(notes, fmt.Sprintf("table %s is being changed: queries of indexes that are being built pass through", name))
		}
	}
	sort.Strings(notes)
	return notes
}

// Ready returns an error if the service can't work now.
func (s *Service) Ready() error {
	switch state := s.settings.Load().origin.State(); {
	case state.Breaker == "open":
		return errors.New("the circuit breaker of its origin is open")
	case state.Unreachable:
		return errors.New("its origin can't be connected to")
	}
	return nil
}
