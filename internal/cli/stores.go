package cli

import (
	"log/slog"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
	"github.com/kasoku/kasoku/internal/dynamo/local"
)

// stores holds the embedded stores of a node.
type stores struct {
	log *slog.Logger
	*shared[*openStore]
}

// storeConfig is the configuration of an embedded store.
type storeConfig struct {
	embedded.Config
	at     place
	dir    string // empty for a store in memory
	noSync bool
}

// openStore is an open store with its settings.
type openStore struct {
	*embedded.Store
	cfg storeConfig
}

// storeHandle is a store whose Close closes only one handle.
type storeHandle struct {
	local.Origin
	close func()
}

func (h *storeHandle) Close() { h.close() }

func newStores(log *slog.Logger) *stores {
	return &stores{log, newShared(func(_ place, s *openStore) { s.Close() })}
}

// storeOf returns the configuration of the embedded store of s.
func storeOf(c *config.Config, s *config.Service) (sc storeConfig, err error) {
	d := s.DynamoDB
	sc = storeConfig{
		Config: embedded.Config{Region: d.Region, StreamShards: d.StreamShards, ShardLife: d.StreamShardLife.Std()},
		at:     memoryOf(s.Name), noSync: !d.Sync,
	}
	if dir := d.Origin.Dir(); dir != "" {
		sc.at, err = directory(c.Resolve(dir))
		sc.dir = string(sc.at)
	}
	return sc, err
}

// openStore opens a store, or shares it if it is open already; it then keeps its settings.
func (s *stores) openStore(cfg storeConfig) (accel.Origin, error) {
	h, err := s.connect(cfg.at, func() (*openStore, error) {
		db, err := cfg.openDB(s.log)
		if err != nil {
			return nil, err
		}
		store, err := embedded.Open(db, cfg.Config, s.log)
		if err != nil {
			return nil, err
		}
		if cfg.dir == "" {
			s.log.Info("store open in memory: its tables end with this process")
		} else {
			s.log.Info("store open", "dir", cfg.dir, "sync", !cfg.noSync)
		}
		return &openStore{store, cfg}, nil
	})
	if err != nil {
		return nil, err
	}
	return &storeHandle{local.Origin{Store: h.resource.Store}, h.Close}, nil
}

// openDB opens the data of a store.
func (c *storeConfig) openDB(log *slog.Logger) (kv.DB, error) {
	if c.dir == "" {
		return memory.New(), nil
	}
	return disk.Open(c.dir, disk.Options{NoSync: c.noSync, Log: log})
}

// onExpiry makes a store call f with each item that it removes itself.
func (s *stores) onExpiry(cfg storeConfig, f func(table string, item []byte)) {
	s.use(cfg.at, func(store *openStore) { store.OnExpiry(f) })
}

// differs reports whether a store runs with settings other than cfg.
func (s *stores) differs(cfg storeConfig) (differs bool) {
	s.use(cfg.at, func(store *openStore) { differs = store.cfg != cfg })
	return differs
}
