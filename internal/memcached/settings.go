package memcached

import (
	"cmp"
	"fmt"

	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/ring"
)

// settings are a configuration in force. They never change.
type settings struct {
	cfg      Config
	ring     *ring.Ring
	client   *client.Client
	backs    []*httpcache.Service // by the number of the fallback
	table    *table
	up       func(server int) bool // of client; nil without failover
	maxValue int64                 // that a value may be when it is decompressed
}

// newSettings makes all of settings but the client.
func newSettings(cfg Config) (*settings, error) {
	s := &settings{cfg: cfg, maxValue: cmp.Or(cfg.Client.MaxValue, defaultMaxValue)}
	err := cfg.check()
	if err != nil {
		return nil, err
	}
	if s.ring, err = ring.New(cfg.Ring); err != nil {
		return nil, fmt.Errorf("distribution %w", err)
	}
	if s.table, err = newTable(cfg.Locations, cfg.credentials); err != nil {
		return nil, err
	}
	return s, nil
}

// defaultMaxValue is the default of client.Config.MaxValue.
const defaultMaxValue = 8 << 20

// setClient takes the client that asks.
func (s *settings) setClient(c *client.Client) {
	s.client = c
	if s.cfg.Failover {
		s.up = c.Up
	}
}

// place is the server that has a key, -1 if none that is up can have it.
func (s *settings) place(hashed []byte) int {
	if s.up != nil {
		return s.ring.FindUp(hashed, s.up)
	}
	return s.ring.Find(hashed)
}
