package accel

import (
	"context"
	"fmt"

	"github.com/kasoku/kasoku/internal/cache"
)

// Replace calls replace, which replaces everything in the origin, and drops everything that
// was cached before and all descriptions of tables. A read that begins after Replace has
// returned sees only the new contents, and until then nothing is stored. It also applies a
// change of the origin's BypassCache.
func (s *Service) Replace(ctx context.Context, replace func() error) error {
	cw, err := s.cache.Begin(ctx, []cache.Tag{s.settings.Load().tag}, nil)
	if err != nil {
		return fmt.Errorf("service %s: %w", s.name, err)
	}
	defer cw.Unknown()
	err = replace()
	s.dropTables()
	if _, e := cw.Commit(ctx, cache.Change{Cause: cache.ByPurge}); e != nil {
		return fmt.Errorf("service %s: %w", s.name, e)
	}
	return err
}
