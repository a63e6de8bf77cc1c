package cli

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
)

// stores holds the embedded stores of a node. A store is opened once, even if several
// services use it.
type stores struct {
	log *slog.Logger

	mu   sync.Mutex
	open map[string]*sharedStore // by the directory's absolute path
}

func newStores(log *slog.Logger) *stores {
	return &stores{log: log, open: map[string]*sharedStore{}}
}

// sharedStore is an open store with the number of its handles.
type sharedStore struct {
	*embedded.Store
	cfg   embedded.Config
	users int // guarded by stores.mu
}

// storeHandle is one service's handle of a store. Closing the last handle closes the store.
type storeHandle struct {
	*sharedStore
	close func()
}

func (w *storeHandle) Close() { w.close() }

// connect opens the store in cfg.Dir, or shares it if it is open already; it then keeps its
// settings.
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

// onExpiry makes the store in cfg.Dir call f with each item that it removes itself.
func (s *stores) onExpiry(cfg embedded.Config, f func(table string, item []byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shared := s.find(cfg); shared != nil {
		shared.OnExpiry(f)
	}
}

// find returns the open store in cfg.Dir. The caller holds mu.
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

// differs reports whether the store in cfg.Dir runs with settings other than cfg.
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
