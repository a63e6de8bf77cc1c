package httpcache

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

var _ admin.Drainer = (*Service)(nil)

// drains are the members that an administrator has requested to drain. They survive a new
// configuration. mu is also held while a configuration is put in force, so that both agree
// on the drained members.
type drains struct {
	mu        sync.Mutex
	requested map[string]bool // by the member's name
}

// nameOf returns the name of a member, which is its URL by default.
func nameOf(m *balance.Member) string { return cmp.Or(m.Name, m.URL) }

// isDrained reports whether the configuration or an administrator drains m. mu is held.
func (d *drains) isDrained(m *balance.Member, cfg *Config) bool {
	return cfg.Drained[m.URL] || d.requested[nameOf(m)]
}

// apply drains the members that are drained by cfg or by an administrator, and undrains the
// others. It forgets requests about members that are no longer in cfg. mu is held.
func (d *drains) apply(g *balance.Group, cfg *Config) {
	kept := map[string]bool{}
	for i := range cfg.Group.Members {
		m := &cfg.Group.Members[i]
		if d.requested[nameOf(m)] {
			kept[nameOf(m)] = true
		}
		if d.isDrained(m, cfg) {
			g.Drain(nameOf(m))
		} else {
			g.Undrain(nameOf(m))
		}
	}
	d.requested = kept
}

// Drain implements admin.Drainer.
func (s *Service) Drain(_ context.Context, r admin.DrainRequest) (admin.DrainResult, error) {
	s.drains.mu.Lock()
	defer s.drains.mu.Unlock()
	set := s.settings.Load()
	m, others, err := s.drains.member(&set.cfg, r.Origin)
	switch {
	case err != nil:
	case r.Undo && set.cfg.Drained[m.URL]:
		err = fmt.Errorf("%w: %s is drained by the configuration: take its key drain away and reload", admin.ErrInput, nameOf(m))
	case !r.Undo && others == 0:
		err = fmt.Errorf("%w: all other origins are drained already", admin.ErrInput)
	}
	if err != nil {
		return admin.DrainResult{}, err
	}
	s.drains.requested[nameOf(m)] = !r.Undo
	s.drains.apply(set.group, &set.cfg)
	for _, state := range set.group.Members() {
		if state.Name == nameOf(m) {
			return admin.DrainResult{Origin: state.Name, State: state.State, InFlight: state.InFlight}, nil
		}
	}
	panic("httpcache: a group without one of its members")
}

// member returns the member of that name, and the number of others that are not drained. mu
// is held.
func (d *drains) member(cfg *Config, name string) (found *balance.Member, others int, err error) {
	var names []string
	for i := range cfg.Group.Members {
		m := &cfg.Group.Members[i]
		names = append(names, nameOf(m))
		switch want := strings.TrimSuffix(name, "/"); {
		case want == nameOf(m) || want == m.URL:
			found = m
		case !d.isDrained(m, cfg):
			others++
		}
	}
	if found == nil {
		err = fmt.Errorf("%w: there is no origin %q; there are: %s", admin.ErrInput, name, strings.Join(names, ", "))
	}
	return found, others, err
}
