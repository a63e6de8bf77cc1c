package embedded

import (
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// ErrNoFork is the error of Fork for a store on disk.
var ErrNoFork = errors.New("only a store in memory can be forked")

// Fork returns another store that begins with the contents of s, without its snapshots. Its
// time depends on the number of tables, and not on that of items. The caller closes it.
func (s *Store) Fork() (*Store, error) {
	s.running.RLock()
	defer s.running.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	db, ok := s.db.(kv.Forker)
	if !ok {
		return nil, ErrNoFork
	}
	return Open(db.Fork(), s.cfg, s.log)
}
