package cli

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
)

// stores are the embedded stores of a node, each open once however many
// services stand before it.
type stores struct {
	log *slog.Logger

	mu   sync.Mutex
	open map[string]*sharedStore // by the directory's absolute path
}

func newStores(log *slog.Logger) *stores {
	return &stores{log: log, open: map[string]*sharedStore{}}
}

// sharedStore is a store and how many ways to it there are.
type sharedStore struct {
	*embedded.Store
	cfg   embedded.Config
	users int // guarded by stores.mu
}

// storeHandle is one service's way to a store. Close gives it up; the last to do so
// closes the store.
type storeHandle struct {
	*sharedStore
	close func()
}

func (w *storeHandle) Close() { w.close() }

// connect opens the store in cfg.Dir, or shares the one that is open: that
// keeps the settings that it was opened with.
func (s *stores) connect(cfg embedded.Config) (accel.Origin, error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the store's directory %s: %w", cfg.Dir, err)
	}
	cfg.Dir = dir
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := s.open[dir]
	if shared == nil {
		store, err := embedded.Open(cfg, s.log)
		if err != nil {
			return nil, err
		}
		shared = &sharedStore{Store: store, cfg: cfg}
		s.open[dir] = shared
		s.log.Info("store open", "dir", dir, "sync", !cfg.NoSync)
	}
	shared.users++
	return &storeHandle{shared, sync.OnceFunc(func() { s.release(shared) })}, nil
}

// onExpiry has the store in cfg.Dir call f with what it removes by itself.
func (s *stores) onExpiry(cfg embedded.Config, f func(table string, item []byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shared := s.find(cfg); shared != nil {
		shared.OnExpiry(f)
	}
}

// find returns the open store in cfg.Dir; mu is held.
func (s *stores) find(cfg embedded.Config) *sharedStore {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil
	}
	return s.open[dir]
}

func (s *stores) release(shared *sharedStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	delete(s.open, shared.cfg.Dir)
	shared.Store.Close()
}

// differs tells whether the store in cfg.Dir runs with other settings than cfg.
func (s *stores) differs(cfg embedded.Config) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := s.find(cfg)
	if shared == nil {
		return false
	}
	cfg.Dir = shared.cfg.Dir
	return shared.cfg != cfg
}
