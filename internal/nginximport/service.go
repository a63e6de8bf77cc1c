package nginximport

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// service is a service of type memcached: a server of nginx, or as much of it as has the
// same memcached servers and namespace.
type service struct {
	line      int
	name      string
	listen    string
	upstream  *upstream
	servers   []server
	namespace string
	connect   string // nginx's times, or ""
	read      string
	fallback  *fallback // of everything that has no location
	locations []location
}

// location is one of a service's.
type location struct {
	line         int
	paths        []string
	key          string
	decoded      bool
	contentType  string
	headers      [][2]string
	cacheControl string
	jsonp        *call
	fallback     *fallback
}

// server translates a server's locations with memcached_pass. Others are handed on, or
// noted.
func (t *translator) server(line int, s scope) {
	var list []*service
	listen := t.listen(s)
	passed := func(d *nginxconf.Directive) bool { return d.Block.Last("memcached_pass") != nil }
	locations := s.own().Named("location")
	if !slices.ContainsFunc(locations, passed) {
		if !nested(s.own()) {
			t.note(line, "server: no location has memcached_pass; nothing of it is translated")
			return
		}
		t.note(line, "server: memcached_pass stands only inside blocks of its locations; nothing of it is translated")
		t.handedOn(locations, s)
		return
	}
	for _, d := range locations {
		if passed(d) {
			list = t.location(list, d, s)
		}
	}
	rest := t.handedOn(locations, s)
	if len(s) > 1 {
		t.unknown(s.own(), serverKnown)
	}
	for i, v := range list {
		v.line, v.fallback = line, rest
		v.name = t.name(s, v.upstream)
		switch v.listen = t.address(listen); {
		case i == 0 && v.listen != listen:
			t.note(line, "another server of this file has %s already, and whose host is asked for does not choose one here: service %s is at an address of its own", listen, v.name)
		case i > 0:
			t.note(v.locations[0].line, "a service has one set of servers and one namespace, so this location and what is like it is service %s, at an address of its own", v.name)
		}
		t.oneBackend(v)
	}
	t.services = append(t.services, list...)
}

// location adds what d translates to, to the service that has its servers and namespace.
func (t *translator) location(list []*service, d *nginxconf.Directive, server scope) []*service {
	s := server.in(d.Block)
	if i := d.Block.Last("internal"); i != nil {
		t.note(i.Line, "location %s is internal: clients can't ask for it, so it is not translated", d.Arg(len(d.Args)-1))
		return list
	}
	u := t.passed(d.Block.Last("memcached_pass"))
	r, ok := t.route(d)
	if u == nil || !ok {
		return list
	}
	l, namespace, ok := t.answered(d, s, r, u)
	if !ok {
		return list
	}
	l.fallback = t.fallback(s, server)
	t.unknown(d.Block, locationKnown)
	i := slices.IndexFunc(list, func(v *service) bool { return v.upstream == u && v.namespace == namespace })
	if i < 0 {
		i = len(list)
		v := &service{upstream: u, namespace: namespace, servers: t.memcached(u)}
		if c := s.last("memcached_connect_timeout"); c != nil {
			v.connect = c.Arg(0)
		}
		if c := s.last("memcached_read_timeout"); c != nil {
			v.read = c.Arg(0)
		}
		list = append(list, v)
	}
	list[i].add(t, l)
	return list
}

// add takes a location whose paths are not there already. nginx takes the first of several
// expressions that fit, Kasoku the most definite path.
func (v *service) add(t *translator, l location) {
	same := func(a, b string) bool {
		return captures.ReplaceAllString(a, "{$1}") == captures.ReplaceAllString(b, "{$1}")
	}
	var paths []string
	for _, path := range l.paths {
		there := func(o location) bool {
			return slices.ContainsFunc(o.paths, func(p string) bool { return same(p, path) })
		}
		if i := slices.IndexFunc(v.locations, there); i >= 0 {
			t.note(l.line, "%s is there already, of line %d", path, v.locations[i].line)
			continue
		}
		paths = append(paths, path)
	}
	if l.paths = paths; len(paths) > 0 {
		v.locations = append(v.locations, l)
	}
}

var captures = regexp.MustCompile(`\{[^}.]*(\.\.\.)?\}`)

// oneBackend notes fallbacks that are reached in another way than the one that is taken.
func (t *translator) oneBackend(v *service) {
	f := t.fallbackTimes(v)
	for i := range v.locations {
		if o := v.locations[i].fallback; o != nil && (o.host != f.host || o.connect != f.connect || o.read != f.read) {
			t.note(o.line, "a service reaches all its fallbacks in one way (backend), and that of line %d is taken", f.line)
		}
	}
}

// passed is the upstream that a memcached_pass names, or one made of its address.
func (t *translator) passed(d *nginxconf.Directive) *upstream {
	name := d.Arg(0)
	if strings.Contains(name, "$") {
		t.note(d.Line, "memcached_pass %s: an address made of variables has no counterpart", name)
		return nil
	}
	u := t.upstreams[name]
	if u == nil {
		u = &upstream{line: d.Line, name: name, scale: 1, servers: []server{{line: d.Line, address: name, weight: 1, maxFails: -1}}}
		t.upstreams[name] = u
	}
	if !slices.ContainsFunc(u.servers, func(s server) bool { return !s.backup }) {
		t.note(u.line, "upstream %s has no servers", name)
		return nil
	}
	return u
}

// answered is how a location's answers are made.
func (t *translator) answered(d *nginxconf.Directive, s scope, r route, u *upstream) (l location, namespace string, ok bool) {
	vars := s.variables()
	k := keys{translator: t, line: d.Line, vars: vars, captured: r.captured, serverName: t.serverName(s), scheme: "http"}
	text := setting(s, vars, "memcached_key")
	if text == nil {
		t.note(d.Line, "location %s: $memcached_key is not set", d.Arg(len(d.Args)-1))
		return l, "", false
	}
	k.line = text.Line
	key, ok := k.template(text.Args[len(text.Args)-1], 0)
	if !ok {
		return l, "", false
	}
	if n := setting(s, vars, "memcached_namespace"); n != nil {
		k.line = n.Line
		if namespace, ok = k.template(n.Args[len(n.Args)-1], 0); !ok || strings.Contains(namespace, "${") {
			t.note(n.Line, "a namespace made of what requests have has no counterpart; it could be a part of the key, if that is not spread over servers")
			return l, "", false
		}
	}
	key, namespace = t.hashed(u, &k, key, namespace)
	if d.Block.Last("rewrite") != nil && k.decoded {
		t.note(d.Block.Last("rewrite").Line, "rewrite: the key is made of the path as it is before")
	}
	if k.decoded && k.raw {
		t.note(text.Line, "the key has arguments, which nginx leaves as they came, and a path or parts of it, which it decodes; here all is as it came (key_decode)")
	}
	if k.args {
		t.note(0, "An argument that is not there: nginx takes it for empty text, here such a request is a miss. ${arg.NAME:-} does as nginx.")
	}
	l = location{line: d.Line, paths: r.paths, key: key, decoded: k.decoded && !k.raw}
	t.fields(&l, s)
	l.jsonp = t.jsonp(s, l.contentType)
	return l, namespace, true
}

// setting is the directive that gives one of the module's variables its value: set, or a
// directive of the variable's name.
func setting(s scope, vars map[string]*nginxconf.Directive, name string) *nginxconf.Directive {
	d := vars[name]
	if d == nil {
		d = s.last(name)
	}
	if d == nil || len(d.Args) == 0 {
		return nil
	}
	return d
}

// hashed compares what chooses a server with the key. Where the key begins with text that is
// not hashed, that is what a client calls its namespace.
func (t *translator) hashed(u *upstream, k *keys, key, namespace string) (string, string) {
	if u.hashed == "" || !u.spreads() {
		return key, namespace
	}
	line := k.line
	k.line = u.hashLine
	text := u.hashed
	if name, _ := variableName(strings.TrimPrefix(text, "$")); name == "memcached_key" {
		return key, namespace
	}
	by, ok := k.template(text, 0)
	k.line = line
	before, found := strings.CutSuffix(key, by)
	switch {
	case ok && by == key:
	case ok && by != "" && found && namespace == "" && !strings.Contains(before, "$"):
		return by, before
	default:
		t.note(u.hashLine, "hash %s: nginx chooses the server by something else than the key (line %d). Kasoku goes by the key, and does not find what is stored so", text, line)
	}
	return key, namespace
}

// handedOn finds who answers everything else, and notes other locations.
func (t *translator) handedOn(locations []*nginxconf.Directive, s scope) *fallback {
	var rest *fallback
	for _, d := range locations {
		path := d.Arg(len(d.Args) - 1)
		switch {
		case d.Block.Last("memcached_pass") != nil || strings.HasPrefix(path, "@"):
		case path == "/" && len(d.Args) == 1 && d.Block.Last("proxy_pass") != nil:
			rest = t.proxied(d, s.in(d.Block), "/")
		case nested(d.Block):
			t.inside(d)
		default:
			t.note(d.Line, "location %s is not about memcached and is not translated: its paths are answered by a location below that fits, or else by the service's fallback", strings.Join(d.Args, " "))
		}
	}
	return rest
}

// nested tells whether there is a memcached_pass in a block.
func nested(b nginxconf.Block) bool {
	return b.Last("memcached_pass") != nil || slices.ContainsFunc(b, func(d *nginxconf.Directive) bool { return nested(d.Block) })
}

// fallbackTimes are those of the service's first fallback: there is one set of them.
func (t *translator) fallbackTimes(v *service) *fallback {
	if v.fallback != nil {
		return v.fallback
	}
	for i := range v.locations {
		if f := v.locations[i].fallback; f != nil {
			return f
		}
	}
	return nil
}
