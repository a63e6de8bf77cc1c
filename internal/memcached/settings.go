package memcached

import (
	"cmp"
	"fmt"

	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/ring"
)

// settings are a configuration in force. They are immutable.
type settings struct {
	cfg       Config
	ring      *ring.Ring
	client    *client.Client
	fallbacks []*httpcache.Service // by the fallback's index
	table     *table
	up        func(server int) bool // of client; nil without failover
	maxValue  int64                 // maximum size of a decompressed value
}

// newSettings returns settings without a client.
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

func (s *settings) setClient(c *client.Client) {
	s.client = c
	if s.cfg.Failover {
		s.up = c.Up
	}
}

// place returns the index of the server with a key, -1 if none that can have it is up.
func (s *settings) place(hashed []byte) int {
	if s.up != nil {
		return s.ring.FindUp(hashed, s.up)
	}
	return s.ring.Find(hashed)
}
