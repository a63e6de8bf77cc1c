package cli

import (
	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/ring"
)

// locator tells where a service of type memcached has its keys. It does not change once it
// is made.
type locator struct {
	rules   key.Rules
	ring    *ring.Ring
	servers []string // as the configuration has them, by the ring's index
}

func newLocator(m *config.Memcached) (*locator, error) {
	r, err := m.Ring()
	if err != nil {
		return nil, err
	}
	l := &locator{rules: m.Rules(), ring: r}
	for i := range m.Servers {
		l.servers = append(l.servers, m.Servers[i].Address.String())
	}
	return l, nil
}

// find tells where a key is, as the application calls it.
func (l *locator) find(bare string) (admin.RingPlace, key.Trouble) {
	wire, hashed, trouble := l.rules.Wire(nil, []byte(bare))
	if trouble != key.OK {
		return admin.RingPlace{Key: bare, Trouble: trouble.String()}, trouble
	}
	p := l.ring.Explain(hashed)
	spot := &admin.RingSpot{Hash: p.Hash, Point: p.Point, Server: l.servers[p.Server], Sent: string(wire)}
	return admin.RingPlace{Key: bare, RingSpot: spot}, key.OK
}
