package nginximport

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// upstream is a group of servers, either memcached or HTTP.
type upstream struct {
	line     int
	name     string
	servers  []server
	method   method
	hashed   string // the text whose hash selects the server, for hash and consistent_hash
	hashLine int
	points   int // memcached_hash's ketama_points
	scale    int // memcached_hash's weight_scale
}

// method is how an upstream selects a server.
type method uint8

const (
	keyless        method = iota // round robin or by load: any method that ignores the request
	memcachedHash                // the module memcached_hash
	hash                         // nginx's own hash
	hashConsistent               // nginx's own hash with a ring
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
			u.method, u.hashLine = keyless, e.Line
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

// selectsByKey reports whether the key selects the server.
func (u *upstream) selectsByKey() bool { return u.method != keyless && len(u.servers) > 1 }

// distribution returns the configuration's name for the way in which u distributes keys.
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

// weight returns the weight of s in the configuration.
func (u *upstream) weight(s *server) float64 { return float64(s.weight) / float64(u.scale) }

// memcached notes the differences of u with memcached servers, and returns the servers in
// use.
func (t *translator) memcached(u *upstream) []server {
	var list []server
	for i := range u.servers {
		s := &u.servers[i]
		switch {
		case s.backup:
			t.note(s.line, "server %s: there are no backups: keys of a server that is down are misses", s.address)
			continue
		case s.down:
			t.note(s.line, "server %s is down: it is kept in the list, because other keys would move otherwise, and its keys are misses", s.address)
		}
		list = append(list, *s)
	}
	if u.method == keyless && len(list) > 1 {
		t.note(max(u.line, u.hashLine), "upstream %s uses any of its servers for any key. This has no counterpart: a key is on one server. Only the first is "+
			"used below; if a client distributes the data over them, list all and name its distribution", u.name)
		list = list[:1]
	}
	if u.method == hash || u.method == hashConsistent {
		t.note(u.hashLine, "when a server fails, nginx reads its keys from others. Kasoku treats them as misses, so that no value is stored twice")
		t.resolved(u)
	}
	return list
}

// resolved notes host names: nginx's hash counts each of their addresses as a server.
func (t *translator) resolved(u *upstream) {
	for i := range u.servers {
		s := &u.servers[i]
		host, _ := splitAddress(s.address)
		if u.method == hash && net.ParseIP(strings.Trim(host, "[]")) == nil && !strings.HasPrefix(s.address, "unix:") {
			t.note(s.line, "server %s: nginx counts each address of a name as a server; if %s has several, list them", s.address, host)
		}
	}
}

// splitAddress splits off a port, which may be missing.
func splitAddress(a string) (host, port string) {
	i := strings.LastIndexByte(a, ':')
	if i < 0 || strings.HasPrefix(a, "unix:") || strings.HasSuffix(a, "]") {
		return a, ""
	}
	return a[:i], a[i+1:]
}
