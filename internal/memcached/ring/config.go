package ring

import (
	"math"
	"slices"
	"strings"
)

// Limits of New, so that a typing error in a configuration is refused instead of allocating
// gigabytes.
const (
	// MaxServers is the maximum number of servers of a ring.
	MaxServers = 4096
	// MaxPoints is the maximum number of points of all servers together.
	MaxPoints = 1 << 20
	// MaxSlots is the maximum number of slots, which is the sum of the weights if servers
	// are repeated by weight.
	MaxSlots = 1 << 16
)

// Config describes how the writer of the data distributes keys. Fields that a distribution
// does not use keep their zero value; any other value is an error.
type Config struct {
	// Name is the distribution, one of Names.
	Name string

	// Points is the number of points for each unit of weight. Only the cmf distributions use
	// and need it: it is ketama_points of Cache::Memcached::Fast and memcached_hash, and 160
	// for nginx's own "hash ... consistent".
	Points int

	// Hash is the client's name of the hash of keys. Empty is the client's default. Hashes
	// returns the names of a distribution.
	Hash string

	// PointHash is the hash of the points if it differs from Hash: only for libmemcached's
	// unweighted rings, which keep the points made with the hash that was set at the time.
	PointHash string

	// HashTag is an opening and a closing character, for example "{}": of a key that has
	// both, with a text between them, only that text is hashed. Only for twemproxy's
	// distributions.
	HashTag string

	// Namespace is the prefix that the client sends with each key. HashNamespace is whether
	// it is hashed with the key; nil is the default of the distribution's clients: those of
	// cmf-ketama, crc-buckets, libmemcached and pymemcache hash the bare key.
	Namespace     string
	HashNamespace *bool

	// KeyEscape is applied to a key (not to the namespace) before it is hashed: "none" or
	// empty, "nginx-lower" or "nginx-upper".
	KeyEscape string

	// Rehash makes FindUp try further servers when a server is down, as Cache::Memcached
	// does unless no_rehash is set: only for crc-buckets.
	Rehash bool

	// Servers are in the writer's order, which matters if slots are used.
	Servers []Server
}

// Server is one of the servers that keys are distributed over.
type Server struct {
	// Label is the server's address, or name, exactly as in the writer's configuration. It
	// may differ from the address that is connected to.
	Label string
	// Weight is 1 unless the writer configures another, and above 0. Few distributions
	// support fractions, and some support no weights.
	Weight float64
}

// check refuses settings that d does not support.
func (c *Config) check(d *distribution) error {
	switch {
	case len(c.Servers) == 0:
		return wrong(FieldServers, "there are no servers")
	case len(c.Servers) > MaxServers:
		return wrong(FieldServers, "there are %d servers, and may be %d", len(c.Servers), MaxServers)
	case d.points && c.Points <= 0:
		return wrong(FieldPoints, "it needs points, the number that the writer has (%s)", d.pointsHint)
	case !d.points && c.Points != 0:
		return wrong(FieldPoints, "it takes no points")
	case !d.pointHash && c.PointHash != "":
		return wrong(FieldPointHash, "it takes no point hash")
	case !d.hashTag && c.HashTag != "":
		return wrong(FieldHashTag, "it takes no hash tag")
	case c.HashTag != "" && len(c.HashTag) != 2:
		return wrong(FieldHashTag, "hash tag %q: it is two characters, the opening and the closing one", c.HashTag)
	case !d.rehash && c.Rehash:
		return wrong(FieldRehash, "it does not rehash")
	}
	return c.checkWeights(d)
}

func (c *Config) checkWeights(d *distribution) error {
	for i, s := range c.Servers {
		if math.IsNaN(s.Weight) || s.Weight <= 0 || s.Weight > MaxPoints {
			return wrongServer(i, FieldWeight, "%s has weight %v: it is above 0 and at most %d", s.Label, s.Weight, MaxPoints)
		}
		switch {
		case d.weights == unweighted && s.Weight != 1:
			return wrongServer(i, FieldWeight, "%s has weight %v: it takes no weights%s", s.Label, s.Weight, d.weightsHint)
		case d.weights == whole && s.Weight != math.Trunc(s.Weight):
			return wrongServer(i, FieldWeight, "%s has weight %v: it takes whole weights only", s.Label, s.Weight)
		}
	}
	return nil
}

// labels returns the text for each server on the ring.
func (c *Config) labels(d *distribution) ([]string, error) {
	if d.label == nil {
		return nil, nil
	}
	labels := make([]string, len(c.Servers))
	first := make(map[string]int, len(c.Servers))
	for i, s := range c.Servers {
		if s.Label == "" {
			return nil, wrongServer(i, FieldLabel, "it has no label")
		}
		label, err := d.label(s.Label)
		if err != nil {
			return nil, wrongServer(i, FieldLabel, "%v", err)
		}
		if j, twice := first[label]; twice {
			return nil, wrongServer(i, FieldLabel, "%s is the same on the ring as %s, server %d", s.Label, c.Servers[j].Label, j+1)
		}
		first[label] = i
		labels[i] = label
	}
	return labels, nil
}

// namespace returns the text that is hashed before each key.
func (c *Config) namespace(d *distribution) string {
	hashed := d.hashesNamespace
	if c.HashNamespace != nil {
		hashed = *c.HashNamespace
	}
	if !hashed {
		return ""
	}
	return c.Namespace
}

// hashByName returns the hash with a name; an empty name is the first.
func hashByName(hashes []namedHash, name, what string, f Field) (hash, error) {
	switch {
	case name == "" && len(hashes) > 0:
		return hashes[0].hash, nil
	case name == "":
		return 0, nil
	case len(hashes) < 2:
		return 0, wrong(f, "it takes no %s", what)
	}
	i := slices.IndexFunc(hashes, func(h namedHash) bool { return h.name == name })
	if i < 0 {
		return 0, wrong(f, "unknown %s %q; there are %s", what, name, strings.Join(hashNames(hashes), ", "))
	}
	return hashes[i].hash, nil
}

func hashNames(hashes []namedHash) []string {
	names := make([]string, len(hashes))
	for i, h := range hashes {
		names[i] = h.name
	}
	return names
}
