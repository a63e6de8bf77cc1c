package cli

import (
	"log/slog"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
)

// stores holds the embedded stores of a node.
type stores struct {
	log *slog.Logger
	*sharedDirs[*openStore]
}

// openStore is an open store with its settings.
type openStore struct {
	*embedded.Store
	cfg embedded.Config
}

// storeHandle is a store whose Close closes only one handle.
type storeHandle struct {
	*embedded.Store
	close func()
}

func (h *storeHandle) Close() { h.close() }

func newStores(log *slog.Logger) *stores {
	return &stores{log, newSharedDirs(func(_ string, s *openStore) { s.Close() })}
}

// openStore opens the store in cfg.Dir, or shares it if it is open already; it then keeps
// its settings.
func (s *stores) openStore(cfg embedded.Config) (accel.Origin, error) {
	h, err := s.connect(cfg.Dir, func(path string) (*openStore, error) {
		cfg.Dir = path
		store, err := embedded.Open(cfg, s.log)
		if err != nil {
			return nil, err
		}
		s.log.Info("store open", "dir", path, "sync", !cfg.NoSync)
		return &openStore{store, cfg}, nil
	})
	if err != nil {
		return nil, err
	}
	return &storeHandle{h.resource.Store, h.Close}, nil
}

// onExpiry makes the store in cfg.Dir call f with each item that it removes itself.
func (s *stores) onExpiry(cfg embedded.Config, f func(table string, item []byte)) {
	s.use(cfg.Dir, func(store *openStore) { store.OnExpiry(f) })
}

// differs reports whether the store in cfg.Dir runs with settings other than cfg.
func (s *stores) differs(cfg embedded.Config) (differs bool) {
	s.use(cfg.Dir, func(store *openStore) {
		cfg.Dir = store.cfg.Dir
		differs = store.cfg != cfg
	})
	return differs
}
