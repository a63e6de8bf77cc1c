package nginximport

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// upstream is a group of servers, of memcached or of HTTP.
type upstream struct {
	line     int
	name     string
	servers  []server
	method   method
	hashed   string // the text whose hash chooses, for hash and consistentHash
	hashLine int
	points   int // memcached_hash's ketama_points
	scale    int // memcached_hash's weight_scale
}

// method is how an upstream chooses.
type method uint8

const (
	turns          method = iota // or by load: whatever does not look at the request
	memcachedHash                // the module memcached_hash
	hash                         // nginx's own
	hashConsistent               // the same with a ring
	peclHash                     // the module consistent_hash
)

type server struct {
	line     int
	address  string // as it is written
	weight   int
	down     bool
	backup   bool
	maxFails int // -1: not given
}

func (t *translator) upstream(d *nginxconf.Directive) *upstream {
	u := &upstream{line: d.Line, name: d.Arg(0), scale: 1}
	for _, e := range d.Block {
		switch e.Name {
		case "server":
			u.servers = append(u.servers, t.serverLine(e))
		case "memcached_hash":
			u.method, u.hashLine = memcachedHash, e.Line
			t.memcachedHash(u, e)
		case "hash":
			u.method, u.hashed, u.hashLine = hash, e.Arg(0), e.Line
			if e.Arg(1) == "consistent" {
				u.method = hashConsistent
			}
		case "consistent_hash":
			u.method, u.hashed, u.hashLine = peclHash, e.Arg(0), e.Line
		case "ip_hash", "least_conn", "least_time", "random", "fair":
			u.method, u.hashLine = turns, e.Line
		case "keepalive", "keepalive_requests", "keepalive_timeout", "keepalive_time", "zone", "queue", "sticky":
		default:
			t.unknown(nginxconf.Block{e}, "")
		}
	}
	return u
}

func (t *translator) serverLine(d *nginxconf.Directive) server {
	s := server{line: d.Line, address: d.Arg(0), weight: 1, maxFails: -1}
	for _, a := range d.Args[min(1, len(d.Args)):] {
		name, value, _ := strings.Cut(a, "=")
		n, err := strconv.Atoi(value)
		switch {
		case name == "weight" && err == nil && n > 0:
			s.weight = n
		case name == "max_fails" && err == nil && n >= 0:
			s.maxFails = n
		case a == "down":
			s.down = true
		case a == "backup":
			s.backup = true
		case name == "fail_timeout" || name == "max_conns" || name == "slow_start" || name == "resolve":
		default:
			t.note(d.Line, "server %s: %s has no counterpart here", s.address, a)
		}
	}
	return s
}

func (t *translator) memcachedHash(u *upstream, d *nginxconf.Directive) {
	for _, a := range d.Args {
		name, value, _ := strings.Cut(a, "=")
		n, err := strconv.Atoi(value)
		switch {
		case name == "ketama_points" && err == nil && n >= 0:
			u.points = n
		case name == "weight_scale" && err == nil && n > 0:
			u.scale = n
		default:
			t.note(d.Line, "memcached_hash: %s is not understood", a)
		}
	}
}

// hashesKey tells whether an upstream spreads keys so that it matters which are where.
func (u *upstream) spreads() bool { return u.method != turns && len(u.servers) > 1 }

// distribution is what the configuration calls the way in which u spreads keys.
func (u *upstream) distribution() string {
	switch {
	case u.method == memcachedHash && u.points > 0:
		return fmt.Sprintf("{name: cmf-ketama, points: %d}", u.points)
	case u.method == hashConsistent:
		return "{name: cmf-ketama, points: 160}"
	case u.method == peclHash:
		return "pecl-consistent"
	case u.method == hash || u.method == memcachedHash:
		return "crc-buckets"
	}
	return ""
}

// weight is s's share as the configuration has it.
func (u *upstream) weight(s *server) float64 { return float64(s.weight) / float64(u.scale) }

// memcached notes what of u is different with memcached servers, and gives those that are
// asked.
func (t *translator) memcached(u *upstream) []server {
	var list []server
	for i := range u.servers {
		s := &u.servers[i]
		switch {
		case s.backup:
			t.note(s.line, "server %s: there are no backups: keys of a server that is down are misses", s.address)
			continue
		case s.down:
			t.note(s.line, "server %s is down: it stays in the list, or other keys would move, and its keys are misses", s.address)
		}
		list = append(list, *s)
	}
	if u.method == turns && len(list) > 1 {
		t.note(max(u.line, u.hashLine), "upstream %s takes any of its servers for any key. Kasoku has nothing like that: a key is on one server. Only the first is "+
			"asked below; if their data is spread by a client, list all and name its distribution", u.name)
		list = list[:1]
	}
	if u.method == hash || u.method == hashConsistent {
		t.note(u.hashLine, "when a server fails, nginx looks for its keys on others. Kasoku takes them for missing, so that nothing is stored twice")
		t.resolved(u)
	}
	return list
}

// resolved notes names: nginx's hash counts the addresses that they have.
func (t *translator) resolved(u *upstream) {
	for i := range u.servers {
		s := &u.servers[i]
		host, _ := splitAddress(s.address)
		if u.method == hash && net.ParseIP(strings.Trim(host, "[]")) == nil && !strings.HasPrefix(s.address, "unix:") {
			t.note(s.line, "server %s: nginx counts each address of a name as a server; if %s has several, list them", s.address, host)
		}
	}
}

// splitAddress splits off a port; there may be none.
func splitAddress(a string) (host, port string) {
	i := strings.LastIndexByte(a, ':')
	if i < 0 || strings.HasPrefix(a, "unix:") || strings.HasSuffix(a, "]") {
		return a, ""
	}
	return a[:i], a[i+1:]
}
