package nginximport

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

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
		if t.note(line, "server: no location has memcached_pass; nothing of it is translated"); nested(s.own()) {
			t.handedOn(locations, s)
		}
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

// fields finds what the answers say besides the value.
func (t *translator) fields(l *location, s scope) {
	l.contentType = "text/plain"
	if d := s.last("default_type"); d != nil {
		if l.contentType = d.Arg(0); !mediaType.MatchString(l.contentType) {
			t.note(d.Line, "default_type: %q is no content type", l.contentType)
			l.contentType = "application/octet-stream"
		}
	}
	if path := l.paths[0]; strings.Contains(path[strings.LastIndexByte(path, '/'):], ".") {
		t.note(l.line, "nginx chooses the Content-Type by the ending of the path (types); here all of %s has %s", path, l.contentType)
	}
	const charsetTypes = "text/html text/xml text/plain text/vnd.wap.wml application/javascript application/rss+xml"
	if d := s.last("charset"); d != nil && d.Arg(0) != "off" && contains(charsetTypes, l.contentType) {
		l.contentType += "; charset=" + d.Arg(0)
	}
	if d := s.last("expires"); d != nil {
		t.expires(l, d)
	}
	for _, d := range s.all("add_header") {
		name, value := d.Arg(0), d.Arg(1)
		switch {
		case !fieldName.MatchString(name) || strings.ContainsFunc(value, unicode.IsControl):
			t.note(d.Line, "add_header %q: this is no field", name)
		case strings.Contains(value, "$"):
			t.note(d.Line, "add_header %s: a field made of variables has no counterpart", name)
		case strings.EqualFold(name, "Cache-Control"):
			l.cacheControl = value
		case contains("content-type etag date vary age connection content-length content-encoding transfer-encoding set-cookie cache-status x-request-id", strings.ToLower(name)):
			t.note(d.Line, "add_header %s: this field can't be given to answers here", name)
		default:
			l.headers = append(l.headers, [2]string{name, value})
		}
	}
	if d := s.last("memcached_gzip_flag"); d != nil {
		t.note(d.Line, "memcached_gzip_flag: what is compressed is known by its first bytes, or by the client that wrote it (values), and sent decoded to who does not take it")
	}
}

var (
	mediaType = regexp.MustCompile(`^[A-Za-z0-9!#&^_.+-]+/[A-Za-z0-9!#&^_.+-]+$`)
	fieldName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

func (t *translator) expires(l *location, d *nginxconf.Directive) {
	switch v := d.Arg(0); {
	case v == "off":
	case v == "epoch" || strings.HasPrefix(v, "-"):
		l.cacheControl = "no-cache"
	case v == "max":
		l.cacheControl = "max-age=315360000"
	default:
		time, ok := duration(v)
		if !ok || len(d.Args) > 1 {
			t.note(d.Line, "expires %s has no counterpart; see cache_control", strings.Join(d.Args, " "))
			return
		}
		l.cacheControl = "max-age=" + strconv.Itoa(int(time.Seconds()))
	}
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
			t.note(d.Line, "location %s: memcached_pass in a block of its own (if, another location) is not translated", strings.Join(d.Args, " "))
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

// guess is where to listen when a file does not say it.
const guess = "127.0.0.1:10080"

// listen is the first address that a server listens on.
func (t *translator) listen(s scope) string {
	list := s.own().Named("listen")
	if len(list) == 0 {
		if len(s) == 1 {
			return guess
		}
		return ":80"
	}
	var at string
	for _, d := range list {
		a := listenAddress(d.Arg(0))
		switch {
		case at == "":
			at = a
		case a != at:
			t.note(d.Line, "listen %s: a service has one address; make a second service, or let something forward", d.Arg(0))
		}
		if slices.Contains(d.Args, "ssl") {
			t.note(d.Line, "listen ... ssl: give the service its certificate with tls: {cert: ..., key: ...}; it is not taken over")
		}
		if slices.Contains(d.Args, "proxy_protocol") {
			t.note(d.Line, "listen ... proxy_protocol: say proxy_protocol: true")
		}
	}
	return at
}

func listenAddress(a string) string {
	if strings.HasPrefix(a, "unix:") {
		return a
	}
	if _, err := strconv.Atoi(a); err == nil {
		return ":" + a
	}
	host, port := splitAddress(a)
	if port == "" {
		port = "80"
	}
	if host == "*" || host == "0.0.0.0" || host == "[::]" {
		return ":" + port
	}
	return host + ":" + port
}

// address is the one that was asked for or, if it is taken, the next one on this machine.
func (t *translator) address(asked string) string {
	for port := 10081; t.listening[asked]; port++ {
		asked = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	t.listening[asked] = true
	return asked
}

func (t *translator) serverName(s scope) string {
	d := s.own().Last("server_name")
	if d == nil && len(s) > 1 {
		d = s[len(s)-2].Last("server_name")
	}
	if d == nil {
		return ""
	}
	return d.Arg(0)
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// name is a name for a service: its servers' or that of the server, as far as those can be
// one.
func (t *translator) name(s scope, u *upstream) string {
	name := strings.Trim(notInNames.ReplaceAllString(u.name, "-"), "-")
	if _, port := splitAddress(u.name); port != "" || name == "" || strings.HasPrefix(u.name, "unix:") {
		name = strings.Trim(notInNames.ReplaceAllString(t.serverName(s), "-"), "-")
	}
	if name == "" || name == "_" {
		name = "memcached"
	}
	name = name[:min(len(name), 50)]
	unique := name
	for i := 2; t.named[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	t.named[unique] = true
	return unique
}
