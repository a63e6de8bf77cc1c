package httpcache

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
)

var _ admin.Service = (*Service)(nil)

// Name returns the service's name in the configuration.
func (s *Service) Name() string { return s.name }

// Report returns the service's present state.
func (s *Service) Report() admin.Report {
	u := s.space.Usage()
	r := admin.Report{
		Type:   "http",
		Origin: s.origin(),
		Cache: admin.Usage{
			Entries: u.Entries, Bytes: u.Bytes, Capacity: u.Capacity, Evictions: u.Evictions, EvictedBytes: u.EvictedBytes, Shared: u.Shared,
		},
		Decisions: s.metrics.decisions(),
	}
	for _, m := range s.settings.Load().group.Members() {
		if m.State == "drained" {
			m.Why = "" // it is from before the drain
		}
		r.Members = append(r.Members, admin.Member{Origin: m.Name, State: m.State, Why: m.Why, Weight: m.Weight, InFlight: m.InFlight})
		switch {
		case m.State == "up" && m.Down:
			r.Notes = append(r.Notes, fmt.Sprintf("origin %s could not be connected to a moment ago", m.Name))
		case m.State != "up":
			r.Notes = append(r.Notes, strings.TrimSuffix(fmt.Sprintf("origin %s is %s: %s", m.Name, m.State, m.Why), ": "))
		}
	}
	r.Disk, r.Notes = s.disk(r.Notes)
	return r
}

// disk returns the figures of the disk, and adds its problems to notes.
func (s *Service) disk(notes []string) (*admin.Disk, []string) {
	if !s.store.HasDisk() {
		return nil, notes
	}
	d := s.store.DiskStats()
	if d.Trouble != nil {
		notes = append(notes, fmt.Sprintf("the disk takes nothing for a while: %v", d.Trouble))
	}
	if d.Stuck > 0 {
		notes = append(notes, fmt.Sprintf("%d files on disk should be gone and can't be removed; what was purged may come back after a restart", d.Stuck))
	}
	return &admin.Disk{Files: d.Files, Bytes: uint64(d.Bytes), Capacity: uint64(d.Size), Evictions: d.Evicted, Refused: d.Refused, Damaged: d.Damaged}, notes
}

// origin returns the group as one origin. Its breaker is open if no member may be asked.
func (s *Service) origin() admin.Origin {
	o := admin.Origin{Breaker: "open"}
	var urls []string
	for _, m := range s.settings.Load().group.Members() {
		urls = append(urls, m.URL)
		o.InFlight += m.InFlight
		if m.State != "broken" && m.State != "drained" {
			o.Breaker = "closed"
		}
	}
	o.URL = strings.Join(urls, " ")
	o.Requests = s.metrics.asked.Value()
	o.Attempts = o.Requests
	return o
}

// Ready returns an error while all origins are known to be down.
func (s *Service) Ready() error {
	for _, m := range s.settings.Load().group.Members() {
		if !m.Down {
			return nil
		}
	}
	return errors.New("none of its origins is available")
}
