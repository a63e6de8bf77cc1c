package ring

import (
	"fmt"
	"strings"
)

// distribution is a client's way to distribute keys: the settings that it supports, and its
// layout. Config.check applies it.
type distribution struct {
	name string

	hashes          []namedHash // of keys, the default first; a single one can't be chosen
	points          bool        // Config.Points is required
	pointsHint      string
	pointHash       bool
	hashTag         bool
	rehash          bool
	hashesNamespace bool
	weights         weightRule
	weightsHint     string

	// label returns the text that is hashed for a server's label. It is nil if only the
	// order of servers counts.
	label func(string) (string, error)
	lay   func(*Ring, plan) error
}

// weightRule is the weights that a distribution supports.
type weightRule int

const (
	unweighted weightRule = iota
	whole
	decimal
)

// plan is a checked Config for lay.
type plan struct {
	points    int
	pointHash hash
	labels    []string
	weights   []float64
}

func (p plan) total() float64 {
	sum := 0.0
	for _, w := range p.weights {
		sum += w
	}
	return sum
}

// distributions are all distributions, in the order of the documentation.
var distributions = []distribution{
	{
		name: "cmf-ketama", points: true, pointsHint: "ketama_points; without them it is crc-buckets",
		weights: decimal, label: cmfLabel, hashes: oneHash(crcFull), lay: layCMF,
	},
	{
		name: "cmf-ketama-legacy", points: true, pointsHint: "ketama_points; without them it is crc-buckets",
		weights: decimal, label: cmfLabel, hashes: oneHash(crcFull), lay: layCMFLegacy,
	},
	{name: "crc-buckets", weights: decimal, rehash: true, hashes: oneHash(crc15), lay: layBuckets},
	{
		name: "libmemcached-ketama", weights: whole, label: libmemcachedLabel,
		hashes: withDefault("md5", libmemcachedHashes), lay: layWeightedMD5,
	},
	{
		name: "libmemcached-consistent", label: libmemcachedLabel, pointHash: true,
		weightsHint: ": libmemcached turns to libmemcached-ketama with hash one_at_a_time when a server has one",
		hashes:      libmemcachedHashes, lay: layUnweighted,
	},
	{
		name: "libmemcached-ketama-spy", label: spyStyleLabel, pointHash: true,
		hashes: libmemcachedHashes, lay: layUnweighted,
	},
	{
		name: "modula", weightsHint: ": libmemcached ignores them, so leave them out; twemproxy-modula uses them",
		hashes: append(libmemcachedHashes[:len(libmemcachedHashes):len(libmemcachedHashes)], namedHash{"java", javaString}), lay: laySlots,
	},
	{name: "pecl-consistent", weights: whole, label: portedLabel, hashesNamespace: true, hashes: peclConsistentHashes, lay: layPECL},
	{name: "pecl-standard", weights: whole, hashesNamespace: true, hashes: peclStandardHashes, lay: laySlots},
	{
		name: "twemproxy-ketama", weights: whole, label: twemproxyLabel, hashTag: true, hashesNamespace: true,
		hashes: twemproxyHashes, lay: layWeightedMD5,
	},
	{name: "twemproxy-modula", weights: whole, hashTag: true, hashesNamespace: true, hashes: twemproxyHashes, lay: laySlots},
	{name: "spymemcached", weights: whole, label: spymemcachedLabel, hashesNamespace: true, hashes: oneHash(md5Word), lay: laySpymemcached},
	{name: "dalli", weights: whole, label: portedLabel, hashesNamespace: true, hashes: oneHash(crcFull), lay: layDalli},
	{name: "crc32-mod", hashesNamespace: true, hashes: oneHash(crcHead), lay: laySlots},
	{name: "rendezvous-pymemcache", label: verbatim, lay: layRendezvous},
	{name: "ch3", hashesNamespace: true, lay: layCh3},
}

// Names returns the names of the distributions.
func Names() []string {
	names := make([]string, len(distributions))
	for i := range distributions {
		names[i] = distributions[i].name
	}
	return names
}

// Hashes returns the hashes of keys that the named distribution can use, its default first.
// It is empty if there is no choice.
func Hashes(name string) []string {
	d, err := named(name)
	if err != nil || len(d.hashes) < 2 {
		return nil
	}
	return hashNames(d.hashes)
}

func named(name string) (*distribution, error) {
	for i := range distributions {
		if distributions[i].name == name {
			return &distributions[i], nil
		}
	}
	return nil, &Mistake{Distribution: name, Server: -1, Text: fmt.Sprintf("unknown distribution %q; there are %s", name, strings.Join(Names(), ", "))}
}
