package memcached

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

var _ admin.Drainer = (*Service)(nil)

// Drain implements admin.Drainer for the origins of fallbacks: it drains an origin in all
// fallbacks that have it. Memcached's servers can't be drained, because no other server has
// their keys.
func (s *Service) Drain(ctx context.Context, r admin.DrainRequest) (admin.DrainResult, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	var result admin.DrainResult
	engines := s.settings.Load().fallbacksWith(r.Origin)
	if len(engines) == 0 {
		return result, fmt.Errorf("%w: service %s has no fallback %s; memcached's own servers can't be drained", admin.ErrInput, s.name, r.Origin)
	}
	for i, e := range engines {
		one, err := e.Drain(ctx, r)
		if err != nil {
			back := r
			back.Undo = !r.Undo
			for _, e := range engines[:i] {
				_, _ = e.Drain(ctx, back) // restores the state before, unless it was drained already
			}
			return admin.DrainResult{}, err
		}
		one.InFlight += result.InFlight
		result = one
	}
	return result, nil
}

// fallbacksWith returns the engines that have an origin of that name.
func (s *settings) fallbacksWith(origin string) (engines []*httpcache.Service) {
	origin = strings.TrimSuffix(origin, "/")
	for _, e := range s.fallbacks {
		if slices.ContainsFunc(e.Members(), func(m balance.MemberState) bool { return m.Name == origin || m.URL == origin }) {
			engines = append(engines, e)
		}
	}
	return engines
}
