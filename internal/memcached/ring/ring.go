package ring

import "errors"

// Ring finds the server of a key. It is immutable, so any number of goroutines may use it
// without a lock.
type Ring struct {
	name    string
	servers int
	text    text
	hash    hash
	rehash  bool

	// method selects which of the following fields are set and used.
	method    method
	continuum continuum
	slots     []uint16
	nodes     []node
}

// method is a way to find the server of a hash.
type method uint8

const (
	upward     method = iota // the first point that is not below the hash
	downward                 // the last point that is not above the hash
	slotted                  // the slot at the hash's remainder
	rendezvous               // the greatest hash of all servers
	ch3                      // a walk along the bits of a hash
)

// New returns the ring of c. Its errors are of type *Mistake.
func New(c Config) (*Ring, error) {
	d, err := named(c.Name)
	if err != nil {
		return nil, err
	}
	r, err := build(&c, d)
	if m, ok := errors.AsType[*Mistake](err); ok {
		m.Distribution = c.Name
	}
	return r, err
}

func build(c *Config, d *distribution) (*Ring, error) {
	if err := c.check(d); err != nil {
		return nil, err
	}
	r := &Ring{name: c.Name, servers: len(c.Servers), rehash: c.Rehash}
	var err error
	if r.hash, err = hashByName(d.hashes, c.Hash, "hash", FieldHash); err != nil {
		return nil, err
	}
	if r.text, err = newText(c.namespace(d), c.KeyEscape, c.HashTag); err != nil {
		return nil, err
	}
	p := plan{points: c.Points, pointHash: r.hash}
	if c.PointHash != "" {
		if p.pointHash, err = hashByName(d.hashes, c.PointHash, "point hash", FieldPointHash); err != nil {
			return nil, err
		}
	}
	if p.labels, err = c.labels(d); err != nil {
		return nil, err
	}
	for _, s := range c.Servers {
		p.weights = append(p.weights, s.Weight)
	}
	if err := d.lay(r, p); err != nil {
		return nil, err
	}
	return r, nil
}

// Find returns the index in Config.Servers of the server that holds key. It allocates only
// if key with its escapes is longer than memcached allows.
func (r *Ring) Find(key []byte) int {
	if r.servers == 1 {
		return 0 // clients do not hash for one server
	}
	if r.text.bare {
		return r.locate(key).Server
	}
	var room [textRoom]byte
	return r.locate(r.text.of(key, room[:0])).Server
}

// Place describes how the server of a key was found.
type Place struct {
	// Hash is the hash of the key; for rendezvous-pymemcache that of the winning server's
	// label together with the key, for ch3 the first 64 bits.
	Hash uint64
	// Point is the value of the point that the key belongs to. With slots (including
	// pecl-consistent's buckets) it is the slot's index, for rendezvous-pymemcache the
	// score, for ch3 the server.
	Point uint64
	// Server is the index in Config.Servers.
	Server int
}

// Explain finds key's server as Find does, and returns the details.
func (r *Ring) Explain(key []byte) Place {
	var room [textRoom]byte
	return r.locate(r.text.of(key, room[:0]))
}

// Servers returns the number of servers.
func (r *Ring) Servers() int { return r.servers }

// Name returns the distribution's name.
func (r *Ring) Name() string { return r.name }

// locate returns the place of a text to hash. It calls no function values and no interfaces,
// because text and its buffer would then be allocated on the heap.
func (r *Ring) locate(text []byte) Place {
	switch r.method {
	case rendezvous:
		return r.highest(text)
	case ch3:
		return r.walk(text)
	}
	h := r.hash.sum(text)
	switch r.method {
	case slotted:
		slot := h % uint32(len(r.slots))
		return Place{uint64(h), uint64(slot), int(r.slots[slot])}
	case downward:
		return r.continuum.place(h, r.continuum.down(h))
	default:
		return r.continuum.place(h, r.continuum.up(h))
	}
}
