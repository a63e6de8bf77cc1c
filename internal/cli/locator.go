package cli

import (
	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/ring"
)

// locator finds the server of a key for a service of type memcached. It is immutable.
type locator struct {
	rules   key.Rules
	ring    *ring.Ring
	servers []string // as configured, by the ring's index
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

// find returns the server of a key, given as the application writes it.
func (l *locator) find(bare string) (admin.RingPlace, key.Trouble) {
	wire, hashed, trouble := l.rules.Wire(nil, []byte(bare))
	if trouble != key.OK {
		return admin.RingPlace{Key: bare, Trouble: trouble.String()}, trouble
	}
	p := l.ring.Explain(hashed)
	spot := &admin.RingSpot{Hash: p.Hash, Point: p.Point, Server: l.servers[p.Server], Sent: string(wire)}
	return admin.RingPlace{Key: bare, RingSpot: spot}, key.OK
}
