package cli

import (
	"errors"
	"io"
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
	at         place
	dir        string // empty for a store in memory
	noSync     bool
	namespaced bool // there is a store for each access key and region
}

// openStore is an open store with its settings.
type openStore struct {
	cfg        storeConfig
	store      *embedded.Store   // nil if it is namespaced
	namespaces *local.Namespaces // nil unless it is
	lock       io.Closer         // of the directory of namespaces; nil without one
}

// origin returns the store as an origin.
func (s *openStore) origin() accel.Origin {
	if s.namespaces != nil {
		return s.namespaces
	}
	return local.Origin{Store: s.store}
}

func (s *openStore) close() error {
	if s.store != nil {
		s.store.Close()
	}
	if s.namespaces != nil {
		s.namespaces.Close()
	}
	if s.lock != nil {
		return s.lock.Close()
	}
	return nil
}

// storeHandle is a store whose Close closes only one handle.
type storeHandle struct {
	accel.Origin
	close func()
}

func (h *storeHandle) Close() { h.close() }

// BypassCache reports whether the store injects faults into requests that a cache could answer.
func (h *storeHandle) BypassCache() bool {
	o, ok := h.Origin.(interface{ BypassCache() bool })
	return ok && o.BypassCache()
}

func newStores(log *slog.Logger) *stores {
	return &stores{log, newShared(func(at place, s *openStore) {
		if err := s.close(); err != nil {
			log.Error("closing a store", "store", string(at), "error", err)
		}
	})}
}

// storeOf returns the configuration of the embedded store of s.
func storeOf(c *config.Config, s *config.Service) (sc storeConfig, err error) {
	d := s.DynamoDB
	sc = storeConfig{
		Config: embedded.Config{Region: d.Region, StreamShards: d.StreamShards, ShardLife: d.StreamShardLife.Std()},
		at:     memoryOf(s.Name), noSync: !d.Sync, namespaced: d.Namespaced(),
	}
	if dir := d.Origin.Dir(); dir != "" {
		sc.at, err = directory(c.Resolve(dir))
		sc.dir = string(sc.at)
	}
	return sc, err
}

// openStore opens a store, or shares it if it is open already; it then keeps its settings.
func (s *stores) openStore(cfg storeConfig) (accel.Origin, error) {
	h, err := s.connect(cfg.at, func() (*openStore, error) { return cfg.open(s.log) })
	if err != nil {
		return nil, err
	}
	if h.resource.cfg.namespaced != cfg.namespaced {
		h.Close()
		return nil, errors.New("its store is open: a change of namespaces needs a restart")
	}
	return &storeHandle{h.resource.origin(), h.Close}, nil
}

// open opens a store.
func (c *storeConfig) open(log *slog.Logger) (open *openStore, err error) {
	if c.namespaced {
		open, err = c.openNamespaces(log)
	} else {
		open, err = c.openShared(log)
	}
	if err != nil {
		return nil, err
	}
	kind := "store"
	if c.namespaced {
		kind = "a store for each access key and region"
	}
	if c.dir == "" {
		log.Info(kind + " open in memory: its tables end with this process")
	} else {
		log.Info(kind+" open", "dir", c.dir, "sync", !c.noSync)
	}
	return open, nil
}

// openShared opens a store of all clients.
func (c *storeConfig) openShared(log *slog.Logger) (*openStore, error) {
	db, err := c.openDB(log)
	if err != nil {
		return nil, err
	}
	store, err := embedded.Open(db, c.Config, log)
	if err != nil {
		return nil, err
	}
	return &openStore{cfg: *c, store: store}, nil
}

// openDB opens the data of a store.
func (c *storeConfig) openDB(log *slog.Logger) (kv.DB, error) {
	if c.dir == "" {
		return memory.New(), nil
	}
	return disk.Open(c.dir, disk.Options{NoSync: c.noSync, Small: c.namespaced, Log: log})
}

// onExpiry makes a store call f with each item that it removes itself.
func (s *stores) onExpiry(cfg storeConfig, f func(table string, item []byte)) {
	s.use(cfg.at, func(open *openStore) {
		if open.store != nil { // nothing of namespaces is cached
			open.store.OnExpiry(f)
		}
	})
}

// differs reports whether a store runs with settings other than cfg.
func (s *stores) differs(cfg storeConfig) (differs bool) {
	s.use(cfg.at, func(store *openStore) { differs = store.cfg != cfg })
	return differs
}
