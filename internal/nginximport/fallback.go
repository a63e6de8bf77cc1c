package nginximport

import (
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// fallback is a group of HTTP servers that answer requests that miss in memcached.
type fallback struct {
	line    int
	origins []origin
	host    bool   // they receive the client's own Host
	connect string // a time as nginx writes it, or ""
	read    string
}

type origin struct {
	url    string
	weight int
	drain  bool
}

func (f *fallback) same(o *fallback) bool {
	return f == o || f != nil && o != nil && slices.Equal(f.origins, o.origins)
}

// missStatus is the status with which nginx answers a miss.
const missStatus = "404"

// fallback returns where a location sends its misses, or nil if they are answered with 404.
func (t *translator) fallback(s scope, server scope) *fallback {
	codes := map[string]bool{}
	var target string
	var line int
	for _, d := range s.all("error_page") {
		if len(d.Args) < 2 {
			continue
		}
		to := d.Args[len(d.Args)-1]
		answered := false
		for _, c := range d.Args[:len(d.Args)-1] {
			answered = answered || strings.HasPrefix(c, "=")
			codes[c] = true
		}
		if strings.HasPrefix(to, "@") && !answered {
			t.note(d.Line, "error_page without =: nginx keeps the status %s; here the fallback's own is sent", d.Arg(0))
		}
		if target != "" && to != target {
			t.note(d.Line, "error_page: only one fallback is possible, and %s is taken", target)
			continue
		}
		target, line = to, d.Line
	}
	if target == "" {
		return nil
	}
	f := t.target(target, line, server)
	if f == nil {
		return nil // already noted
	}
	switch {
	case !codes[missStatus]:
		t.note(line, "error_page: nginx answers a miss with 404, and sends requests to %s only when a server fails; here a server's failure is a miss, and both are sent there", target)
	case !codes["502"] || !codes["504"]:
		t.note(line, "error_page: nginx answers with 502 or 504 when a server fails; here that is a miss, which is sent to %s", target)
	}
	if !codes["405"] {
		t.note(line, "error_page: nginx refuses methods other than GET and HEAD with 405; here they are sent to %s", target)
	}
	return f
}

// target returns the servers behind the target of an error_page.
func (t *translator) target(target string, line int, server scope) *fallback {
	if !strings.HasPrefix(target, "@") {
		t.note(line, "error_page: %s is another path, but a request keeps its path when it is sent to a fallback; only @names have a counterpart", target)
		return nil
	}
	for _, d := range server.own().Named("location") {
		if d.Arg(0) == target {
			return t.proxyFallback(d, server.in(d.Block), "")
		}
	}
	t.note(line, "error_page: there is no location %s in this server", target)
	return nil
}

const proxyKnown = "internal proxy_pass proxy_set_header proxy_connect_timeout proxy_read_timeout proxy_next_upstream proxy_next_upstream_tries proxy_next_upstream_timeout set "

// proxyFallback reads a location with proxy_pass. path is the part that nginx replaces by a URI in
// proxy_pass: if both are equal nothing is replaced.
func (t *translator) proxyFallback(d *nginxconf.Directive, s scope, path string) *fallback {
	pass := s.own().Last("proxy_pass")
	if pass == nil {
		t.note(d.Line, "location %s: a fallback is an HTTP server (proxy_pass); this location has no counterpart", d.Arg(len(d.Args)-1))
		return nil
	}
	f := &fallback{line: pass.Line}
	if !t.origins(f, pass, path) {
		return nil
	}
	for _, h := range s.all("proxy_set_header") {
		switch name := strings.ToLower(h.Arg(0)); {
		case name == "host" && contains("$host $http_host ${host} $host:$server_port", h.Arg(1)):
			f.host = true
		case contains("x-forwarded-for x-forwarded-proto x-forwarded-host x-real-ip forwarded connection upgrade host accept-encoding", name):
			if name == "x-real-ip" {
				t.note(h.Line, "X-Real-IP: the fallback finds the client in X-Forwarded-For")
			}
		default:
			t.note(h.Line, "proxy_set_header %s has no counterpart here", h.Arg(0))
		}
	}
	if c := s.last("proxy_connect_timeout"); c != nil {
		f.connect = c.Arg(0)
	}
	if r := s.last("proxy_read_timeout"); r != nil {
		f.read = r.Arg(0)
	}
	t.unknown(s.own(), proxyKnown+inherited)
	return f
}

// origins adds the servers of a proxy_pass to f.
func (t *translator) origins(f *fallback, pass *nginxconf.Directive, path string) bool {
	scheme, rest, ok := strings.Cut(pass.Arg(0), "://")
	if !ok || scheme != "http" && scheme != "https" {
		t.note(pass.Line, "proxy_pass %s: not the address of an HTTP server", pass.Arg(0))
		return false
	}
	for _, same := range []string{"$request_uri", "$uri$is_args$args"} {
		rest = strings.TrimSuffix(rest, same)
	}
	if socket, ok := strings.CutPrefix(rest, "unix:"); ok {
		socket, uri, _ := strings.Cut(socket, ":")
		f.origins = []origin{{url: "unix://" + socket, weight: 1}}
		return t.sameURI(pass, uri, path)
	}
	host, uri := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, uri = rest[:i], rest[i:]
	}
	if strings.Contains(host, "$") {
		t.note(pass.Line, "proxy_pass %s: an address made of variables has no counterpart", pass.Arg(0))
		return false
	}
	if !t.sameURI(pass, uri, path) {
		return false
	}
	u := t.upstreams[host]
	if u == nil {
		f.origins = []origin{{url: scheme + "://" + host, weight: 1}}
		return true
	}
	return t.addMembers(f, u, scheme)
}

func (t *translator) sameURI(pass *nginxconf.Directive, uri, path string) bool {
	if uri == "" || uri == path {
		return true
	}
	t.note(pass.Line, "proxy_pass %s: a request keeps its path when it is sent to a fallback", pass.Arg(0))
	return false
}

func (t *translator) addMembers(f *fallback, u *upstream, scheme string) bool {
	for i := range u.servers {
		s := &u.servers[i]
		o := origin{url: scheme + "://" + s.address, weight: s.weight, drain: s.down}
		if socket, ok := strings.CutPrefix(s.address, "unix:"); ok {
			o.url = "unix://" + socket
		}
		if s.backup {
			t.note(s.line, "server %s: there are no backups; it is left out", s.address)
			continue
		}
		f.origins = append(f.origins, o)
	}
	if len(f.origins) == 0 || !slices.ContainsFunc(f.origins, func(o origin) bool { return !o.drain }) {
		t.note(u.line, "upstream %s has no server that could answer", u.name)
		return false
	}
	return true
}
