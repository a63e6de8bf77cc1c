package config

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/lazyregexp"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/ring"
)

// Ring returns the rules by which the writer's client finds a key's server. Its Find takes
// keys without namespace and escapes, and applies both itself.
func (m *Memcached) Ring() (*ring.Ring, error) { return ring.New(m.RingConfig()) }

// RingConfig returns the configuration of Ring.
func (m *Memcached) RingConfig() ring.Config {
	d := m.Distribution
	if d == nil {
		d = &Distribution{Name: "crc-buckets"} // for one server, where no client hashes
	}
	c := ring.Config{
		Name: d.Name, Points: d.Points, Hash: d.Hash, PointHash: d.PointHash, HashTag: d.HashTag,
		Namespace: m.Namespace, HashNamespace: d.HashNamespace, KeyEscape: m.KeyEscape, Rehash: m.Failover,
	}
	for i := range m.Servers {
		s := &m.Servers[i]
		c.Servers = append(c.Servers, ring.Server{Label: cmp.Or(s.Label, s.Address.String()), Weight: s.Weight})
	}
	return c
}

func (k *checker) memcached(path string, s *Service) {
	m := s.Memcached
	k.memcachedServers(path, s)
	k.ring(path, m)
	k.namespace(path+".namespace", m)
	if m.FirstByteTimeout > m.Timeout {
		k.failf(path+".first_byte_timeout", "%s is above timeout, %s", m.FirstByteTimeout, m.Timeout)
	}
	k.memcachedAuth(path+".auth", m.Protocol, &m.Auth)
	k.serverTLS(path+".server_tls", m)
	k.fallback(path+".fallback", m.Fallback, s.Listen)
	k.reach(path+".backend", &m.Backend.Reach)
	k.passing(path, &m.Passing)
	if len(m.Compress) > 0 {
		k.failf(path+".compress", "has no effect with type memcached: values are given out as they are stored")
	}
	k.locations(path+".locations", s)
	k.backendUnused(path, m)
	k.proxyUnused(path, s, "backend.")
}

func (k *checker) memcachedServers(path string, s *Service) {
	m := s.Memcached
	if _, given := k.places[path+".servers"]; given && m.Servers != nil && len(m.Servers) == 0 {
		k.failf(path+".servers", "none: at least one server is needed")
	}
	for i := range m.Servers {
		at := fmt.Sprintf("%s.servers[%d]", path, i)
		a := m.Servers[i].Address
		_, port, _ := strings.Cut(a.String(), ":")
		switch {
		case a == "": // already reported
		case a == s.Listen || !strings.HasPrefix(a.String(), "unix:") && URL("http://"+a.String()).reaches(s.Listen):
			k.failf(at, "%s is this service's own listener", a)
		case port == "0" || strings.HasPrefix(a.String(), ":"):
			k.failf(at, "%q is nothing to connect to: it needs a host and a port", a)
		}
	}
}

// ringKeys are the keys of the service that a ring's mistakes refer to.
var ringKeys = map[ring.Field]string{
	ring.FieldName: "distribution", ring.FieldPoints: "distribution.points", ring.FieldHash: "distribution.hash",
	ring.FieldPointHash: "distribution.point_hash", ring.FieldHashTag: "distribution.hash_tag",
	ring.FieldKeyEscape: "key_escape", ring.FieldRehash: "failover", ring.FieldServers: "servers",
	ring.FieldLabel: "servers[%d].label", ring.FieldWeight: "servers[%d].weight",
}

// ring builds the ring to find its mistakes.
func (k *checker) ring(path string, m *Memcached) {
	if len(m.Servers) == 0 || slices.ContainsFunc(m.Servers, func(s MemcachedServer) bool { return s.Address == "" }) {
		return // already reported
	}
	switch d := m.Distribution; {
	case d == nil && len(m.Servers) > 1:
		k.failf(path, `lacks "distribution": with several servers it has to be known how their writer spreads keys; there are %s`,
			strings.Join(ring.Names(), ", "))
		return
	case d != nil && d.Name == "":
		return // already reported
	}
	_, err := m.Ring()
	mistake, ok := errors.AsType[*ring.Mistake](err)
	if !ok {
		return
	}
	at := ringKeys[mistake.Field]
	if mistake.Server >= 0 {
		at = fmt.Sprintf(at, mistake.Server)
	}
	text := mistake.Text
	switch mistake.Field {
	case ring.FieldHash:
		text += meant(m.Distribution.Hash, ring.Hashes(m.Distribution.Name))
	case ring.FieldPointHash:
		text += meant(m.Distribution.PointHash, ring.Hashes(m.Distribution.Name))
	case ring.FieldRehash:
		text = "has no effect: clients with the distribution " + mistake.Distribution + " look nowhere else"
	}
	k.failf(path+"."+at, "%s", text)
}

// Rules returns the transformations of keys on their way to a server.
func (m *Memcached) Rules() key.Rules {
	escape, _ := key.ParseEscape(m.KeyEscape) // the schema refuses others
	return key.Rules{Namespace: m.Namespace, Escape: escape, HashLong: m.LongKeys == "hash"}
}

func (k *checker) namespace(path string, m *Memcached) {
	rules := m.Rules()
	switch rules.Check() {
	case key.BadByte:
		k.failf(path, "%q has a space or a control character, which memcached takes in no key", m.Namespace)
	case key.TooLong:
		k.failf(path, "it has %d bytes, which leaves no bytes for keys: memcached accepts %d together", len(m.Namespace), key.MaxLength)
	}
}

func (k *checker) memcachedAuth(path, protocol string, a *MemcachedAuth) {
	var ok bool
	a.password, ok = k.credentials(path, a.Username, a.PasswordEnv, a.PasswordFile)
	ends, what := func(r rune) bool { return r <= ' ' || r == 0x7f }, "a space or a control character"
	if protocol == "binary" {
		ends, what = func(r rune) bool { return r == 0 }, "a NUL"
	}
	if ok && strings.ContainsFunc(a.Username, ends) {
		k.failf(path+".username", "%q has %s, which ends the name", a.Username, what)
	}
	if ok && strings.ContainsFunc(a.password, ends) {
		k.failf(path, "the password has %s, which ends it", what)
	}
}

func (k *checker) serverTLS(path string, m *Memcached) {
	t := m.ServerTLS
	if t == nil {
		return
	}
	if !slices.ContainsFunc(m.Servers, func(s MemcachedServer) bool { return s.TLS }) {
		k.failf(path, `has no effect: no server has "tls: true"`)
	}
	t.files = k.digest(t.CA, t.Cert, t.Key)
	k.clientTLS(path, t.CA, t.Cert, t.Key)
}

// digest returns a hash of the content of files. An unreadable file was reported before.
func (k *checker) digest(files ...string) (sum [sha256.Size]byte) {
	all := sha256.New()
	for _, file := range files {
		var data []byte
		if file != "" {
			data, _ = os.ReadFile(k.config.Resolve(file))
		}
		one := sha256.Sum256(data)
		all.Write(one[:])
	}
	all.Sum(sum[:0])
	return sum
}

func (k *checker) fallback(path string, list []HTTPOrigin, listen Address) {
	for i := range list {
		k.httpOrigin(fmt.Sprintf("%s[%d]", path, i), list, i, listen)
	}
	if len(list) > 0 && !slices.ContainsFunc(list, func(o HTTPOrigin) bool { return !o.Drain }) {
		k.failf(path, "all are drained: no request could be answered; use none")
	}
}

// backendUnused reports settings for fallbacks that don't exist.
func (k *checker) backendUnused(path string, m *Memcached) {
	has := func(l Location) bool { return len(l.Fallback) > 0 }
	if len(m.Fallback) == 0 && !slices.ContainsFunc(m.Locations, has) && !reflect.DeepEqual(m.Backend, defaultOf[Backend]()) {
		k.failf(path+".backend", "has no effect without a fallback")
	}
}

func (k *checker) locations(path string, s *Service) {
	list := s.Memcached.Locations
	if _, given := k.places[path]; given && list != nil && len(list) == 0 {
		k.failf(path, "none: no path would be answered")
	}
	shapes := make([]string, len(list))
	for i := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		var p *key.Path
		p, shapes[i] = k.path(at+".path", list[i].Path)
		if j := slices.Index(shapes[:i], shapes[i]); j >= 0 && shapes[i] != "" {
			k.failf(at+".path", "%s is locations[%d] already", list[i].Path, j)
		}
		k.template(at+".key", list[i].Key, p, s.UnderscoresInHeaders)
		k.location(at, s, &list[i])
	}
}

func (k *checker) location(path string, s *Service, l *Location) {
	k.fallback(path+".fallback", l.Fallback, s.Listen)
	if !validValue(l.ContentType) || !strings.Contains(l.ContentType, "/") {
		k.failf(path+".content_type", "%q is no content type; write for instance application/json", l.ContentType)
	}
	if !validValue(l.CacheControl) {
		k.failf(path+".cache_control", "%q has a character that no field may have", l.CacheControl)
	}
	k.headers(path+".headers", l)
	k.jsonp(path+".jsonp", l.JSONP)
	k.unwrapped(path, l)
	backed := len(l.Fallback) > 0 || l.Fallback == nil && len(s.Memcached.Fallback) > 0
	usual := defaultOf[Location]()
	unused := func(key string, changed bool) {
		if changed && !backed {
			k.failf(path+"."+key, "has no effect without a fallback")
		}
	}
	unused("store", l.Store != nil)
	unused("negative_ttl", l.NegativeTTL != usual.NegativeTTL)
	unused("public", l.Public)
	if l.Store != nil {
		k.memcachedStore(path+".store", s.Memcached, l.Store)
	}
}

// unwrapped reports JSONP settings that never apply to a value.
func (k *checker) unwrapped(path string, l *Location) {
	if l.JSONP == nil {
		return
	}
	cfg := l.JSONP.Filter()
	f, err := jsonp.New(cfg)
	if err != nil || f.Wraps([]byte(l.ContentType)) {
		return // already reported, or valid
	}
	only := ""
	if cfg.Mode != jsonp.Legacy {
		only = "JSON and "
	}
	k.failf(path+".jsonp", "has no effect on values: they are sent as %s, and wrapped is only %swhat types has; see content_type", l.ContentType, only)
}

func (k *checker) memcachedStore(path string, m *Memcached, t *MemcachedStore) {
	for _, d := range []struct {
		key  string
		time Duration
	}{{"ttl", t.TTL}, {"stale", t.Stale}} {
		if d.time.Std()%time.Second != 0 {
			k.failf(path+"."+d.key, "%s: memcached counts in whole seconds", d.time)
		}
	}
	const longest = 30 * 24 * time.Hour // memcached interprets more as a date
	switch {
	case t.Stale > 0 && (m.Protocol == "text" || m.Protocol == "binary"):
		k.failf(path+".stale", `has no effect with "protocol: %s"`, m.Protocol)
	case t.Stale.Std() > longest-t.TTL.Std() && t.TTL.Std() <= longest:
		k.failf(path+".stale", "%s and ttl, %s, are more than 30 days together", t.Stale, t.TTL)
	}
	if t.MaxSize > m.MaxValue {
		k.failf(path+".max_size", "%s is above max_value, %s: longer values could not be read back", t.MaxSize, m.MaxValue)
	}
}

// otherKeys are fields of answers that have a key of their own, or that Kasoku sets.
var otherKeys = map[string]string{
	"content-type": "see content_type", "cache-control": "see cache_control", "etag": "see etag",
	"cache-status": "Kasoku sets it", "x-request-id": "Kasoku sets it", "content-length": "Kasoku sets it",
	"content-encoding": "it is the value's own", "transfer-encoding": "Kasoku sets it", "connection": "Kasoku sets it",
	"date": "Kasoku sets it", "vary": "Kasoku sets it", "age": "it is the cache's", "upgrade": "Kasoku sets it",
	"keep-alive": "Kasoku sets it", "trailer": "Kasoku sets it", "set-cookie": "answers are the same for all clients",
}

func (k *checker) headers(path string, l *Location) {
	for i := range l.Headers {
		h := &l.Headers[i]
		at := join(path, h.Name)
		same := func(o Header) bool { return strings.EqualFold(o.Name, h.Name) }
		switch instead := otherKeys[strings.ToLower(h.Name)]; {
		case !fieldName().MatchString(h.Name):
			k.failf(at, "%q is no name of a header field", h.Name)
		case instead != "":
			k.failf(at, "%s can't be given here: %s", h.Name, instead)
		case slices.ContainsFunc(l.Headers[:i], same):
			k.failf(at, "%s is there already", h.Name)
		case !validValue(h.Value):
			k.failf(at, "%q has a character that no field may have", h.Value)
		}
	}
}

// validValue reports whether text can be a field's value.
func validValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

var captured = lazyregexp.New(`\{[^}.]*(\.\.\.)?\}`)

// path parses a location's path. It reports mistakes and returns nil then. shape is the path
// with equal names in all its braces, so that two locations for the same requests have the
// same shape.
func (k *checker) path(at, text string) (p *key.Path, shape string) {
	if text == "" {
		return nil, "" // already reported
	}
	p, err := key.ParsePath(text)
	if err != nil {
		k.failf(at, "%v", err)
		return nil, ""
	}
	return p, captured().ReplaceAllString(text, "{$1}")
}

// template parses a location's key. Without a path, captures can't be checked and are not
// reported.
func (k *checker) template(at, text string, p *key.Path, underscores bool) {
	if p == nil || text == "" {
		return
	}
	t, err := key.Parse(text, p)
	if e, ok := errors.AsType[*key.Error](err); ok {
		k.failf(at, "%v%s", e, sourceMeant(e))
		return
	}
	for _, name := range t.Headers() {
		if strings.EqualFold(name, "proxy") || strings.Contains(name, "_") && !underscores {
			k.failf(at, "the header field %s is dropped from requests; see underscores_in_headers", name)
		}
	}
}

// sourceMeant suggests a correction for a mistake at the beginning of a source.
func sourceMeant(e *key.Error) string {
	before, rest := e.Text[:e.At], e.Text[e.At:]
	if !strings.HasSuffix(before, "${") {
		return ""
	}
	spec, _, _ := strings.Cut(rest, "}")
	kind, _, _ := strings.Cut(spec, ".")
	var kinds []string
	for _, s := range key.Sources() {
		kind, _, _ := strings.Cut(s, ".")
		kinds = append(kinds, kind)
	}
	return meant(kind, kinds)
}
