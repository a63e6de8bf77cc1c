package nginximport

import (
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/lazyregexp"
	"github.com/kasoku/kasoku/internal/nginxconf"
)

// service is a service of type memcached: a server of nginx, or the part of it whose
// locations have the same memcached servers and namespace.
type service struct {
	line      int
	name      string
	listen    string
	upstream  *upstream
	servers   []server
	namespace string
	connect   string // a time as nginx writes it, or ""
	read      string
	fallback  *fallback // of all paths without a location
	locations []location
}

// location is one location of a service.
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

// server translates a server's locations with memcached_pass. Other locations become the
// fallback, or are noted.
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
		t.note(line, "server: memcached_pass is only inside blocks of its locations; nothing of it is translated")
		t.mainFallback(locations, s)
		return
	}
	for _, d := range locations {
		if passed(d) {
			list = t.location(list, d, s)
		}
	}
	rest := t.mainFallback(locations, s)
	if len(s) > 1 {
		t.unknown(s.own(), serverKnown)
	}
	for i, v := range list {
		v.line, v.fallback = line, rest
		v.name = t.name(s, v.upstream)
		switch v.listen = t.address(listen); {
		case i == 0 && v.listen != listen:
			t.note(line, "another server of this file has %s already, and the request's host does not select a server here: service %s is at an address of its own", listen, v.name)
		case i > 0:
			t.note(v.locations[0].line, "a service has one set of servers and one namespace, so this location and others like it are service %s, at an address of its own", v.name)
		}
		t.noteOtherBackends(v)
	}
	t.services = append(t.services, list...)
}

// location translates d and adds it to the service with its servers and namespace.
func (t *translator) location(list []*service, d *nginxconf.Directive, server scope) []*service {
	s := server.in(d.Block)
	if i := d.Block.Last("internal"); i != nil {
		t.note(i.Line, "location %s is internal: clients can't request it, so it is not translated", d.Arg(len(d.Args)-1))
		return list
	}
	u := t.passUpstream(d.Block.Last("memcached_pass"))
	r, ok := t.route(d)
	if u == nil || !ok {
		return list
	}
	l, namespace, ok := t.keyAndAnswer(d, s, r, u)
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

// add adds a location whose paths v does not have yet. nginx uses the first of several
// expressions that match, Kasoku the most specific path.
func (v *service) add(t *translator, l location) {
	same := func(a, b string) bool {
		return captures().ReplaceAllString(a, "{$1}") == captures().ReplaceAllString(b, "{$1}")
	}
	var paths []string
	for _, path := range l.paths {
		there := func(o location) bool {
			return slices.ContainsFunc(o.paths, func(p string) bool { return same(p, path) })
		}
		if i := slices.IndexFunc(v.locations, there); i >= 0 {
			t.note(l.line, "%s is already translated, from line %d", path, v.locations[i].line)
			continue
		}
		paths = append(paths, path)
	}
	if l.paths = paths; len(paths) > 0 {
		v.locations = append(v.locations, l)
	}
}

var captures = lazyregexp.New(`\{[^}.]*(\.\.\.)?\}`)

// noteOtherBackends notes fallbacks whose settings differ from those that are used.
func (t *translator) noteOtherBackends(v *service) {
	f := t.fallbackTimes(v)
	for i := range v.locations {
		if o := v.locations[i].fallback; o != nil && (o.host != f.host || o.connect != f.connect || o.read != f.read) {
			t.note(o.line, "a service has one backend section for all fallbacks, and that of line %d is taken", f.line)
		}
	}
}

// passUpstream returns the upstream that a memcached_pass names, or one made from its address.
func (t *translator) passUpstream(d *nginxconf.Directive) *upstream {
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

// keyAndAnswer returns how requests for a location are answered.
func (t *translator) keyAndAnswer(d *nginxconf.Directive, s scope, r route, u *upstream) (l location, namespace string, ok bool) {
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
			t.note(n.Line, "a namespace made of variables has no counterpart; it can be part of the key if keys are not distributed over servers")
			return l, "", false
		}
	}
	key, namespace = t.hashed(u, &k, key, namespace)
	if d.Block.Last("rewrite") != nil && k.decoded {
		t.note(d.Block.Last("rewrite").Line, "rewrite: the key is made of the path before it")
	}
	if k.decoded && k.raw {
		t.note(text.Line, "the key has arguments, which nginx keeps as received, and a path or parts of it, which it decodes; here both are kept as received (key_decode)")
	}
	if k.args {
		t.note(0, "A missing argument: nginx treats it as empty text; here such a request is a miss. ${arg.NAME:-} behaves as in nginx.")
	}
	l = location{line: d.Line, paths: r.paths, key: key, decoded: k.decoded && !k.raw}
	t.fields(&l, s)
	l.jsonp = t.jsonp(s, l.contentType)
	return l, namespace, true
}

// setting returns the directive that sets one of the module's variables: set, or a directive
// with the variable's name.
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

// hashed compares the hashed text with the key. If the key has a prefix that is not hashed,
// clients of memcached call that prefix the namespace.
func (t *translator) hashed(u *upstream, k *keys, key, namespace string) (string, string) {
	if u.hashed == "" || !u.selectsByKey() {
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
		t.note(u.hashLine, "hash %s: nginx selects the server by another text than the key (line %d). Kasoku selects it by the key, and does not find values stored that way", text, line)
	}
	return key, namespace
}

// mainFallback returns the fallback for all other paths, and notes other locations.
func (t *translator) mainFallback(locations []*nginxconf.Directive, s scope) *fallback {
	var rest *fallback
	for _, d := range locations {
		path := d.Arg(len(d.Args) - 1)
		switch {
		case d.Block.Last("memcached_pass") != nil || strings.HasPrefix(path, "@"):
		case path == "/" && len(d.Args) == 1 && d.Block.Last("proxy_pass") != nil:
			rest = t.proxyFallback(d, s.in(d.Block), "/")
		case nested(d.Block):
			t.inside(d)
		default:
			t.note(d.Line, "location %s is not about memcached and is not translated: its paths are answered by a location below that matches, or else by the service's fallback", strings.Join(d.Args, " "))
		}
	}
	return rest
}

// nested reports whether there is a memcached_pass anywhere in a block.
func nested(b nginxconf.Block) bool {
	return b.Last("memcached_pass") != nil || slices.ContainsFunc(b, func(d *nginxconf.Directive) bool { return nested(d.Block) })
}

// fallbackTimes returns the first fallback of v, whose times apply to all: a service has one
// set of them.
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
