package nginximport

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// writer builds the file. Comments on short lines begin in one column.
type writer struct{ strings.Builder }

const commentColumn = 56

func (w *writer) line(comment, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if comment != "" {
		text += strings.Repeat(" ", max(2, commentColumn-len(text))) + "# " + comment
	}
	w.WriteString(text + "\n")
}

func (t *translator) yaml() string {
	if len(t.services) == 0 {
		return ""
	}
	w := &writer{}
	w.line("", "# Translated from %s. In general:", oneLine(t.file))
	w.line("", "# - A server that does not answer is a miss after connect_timeout (100ms) or first_byte_timeout (250ms); nginx waits for 60s.")
	w.line("", "# - Values are sent as they are, or decoded if they begin like gzip, zlib or zstd data. If the client that wrote them is known,")
	w.line("", "#   name it in values; serialized values are then misses.")
	for _, n := range t.notes {
		if n.Line == 0 {
			w.line("", "# - %s", oneLine(n.Text))
		}
	}
	if t.notes != nil && t.notes[len(t.notes)-1].Line > 0 {
		w.line("", "# Directives without an exact counterpart:")
	}
	for _, n := range t.notes {
		if n.Line > 0 {
			w.line("", "# - %s:%d: %s", oneLine(t.file), n.Line, oneLine(n.Text))
		}
	}
	w.line("/metrics, /readyz, /api/v1/report", "admin: {listen: 127.0.0.1:9090}")
	w.line("", "services:")
	for _, v := range t.services {
		t.service(w, v)
	}
	return w.String()
}

func (t *translator) at(line int) string { return fmt.Sprintf("line %d", line) }

func (t *translator) service(w *writer, v *service) {
	w.line(t.at(v.line), "  %s:", v.name)
	w.line("", "    type: memcached")
	w.line("", "    listen: %s", quoted(v.listen))
	w.line(t.at(v.upstream.line), "    servers:")
	for i := range v.servers {
		w.line("", "      - %s", v.upstream.entry(&v.servers[i]))
	}
	if d := v.upstream.distribution(); d != "" && len(v.servers) > 1 {
		w.line(t.at(v.upstream.hashLine), "    distribution: %s", d)
	}
	if v.namespace != "" {
		w.line("", "    namespace: %s", quoted(v.namespace))
	}
	w.line("as nginx sends keys", "    key_escape: %s", v.upstream.escape())
	t.times(w, v)
	t.fallbackLines(w, "    ", v.fallback)
	if f := t.fallbackTimes(v); f != nil {
		t.backend(w, f)
	}
	w.line("", "    locations:")
	for i := range v.locations {
		for _, path := range v.locations[i].paths {
			t.locationLines(w, v, &v.locations[i], path)
		}
	}
}

// entry returns a server as written in the configuration. Rings are computed from the
// address as it is written in nginx's, so if a port is added the original is the label.
func (u *upstream) entry(s *server) string {
	address, label := s.address, ""
	if host, port := splitAddress(address); port == "" && !strings.HasPrefix(address, "unix:") {
		address, label = host+":80", address // nginx's default in an upstream
	}
	if strings.HasPrefix(s.address, "unix:") || label == "" && u.weight(s) == 1 {
		if u.weight(s) == 1 {
			return quoted(address)
		}
	}
	text := "{address: " + quoted(address)
	if label != "" {
		text += ", label: " + quoted(label)
	}
	if w := u.weight(s); w != 1 {
		text += ", weight: " + strconv.FormatFloat(w, 'g', -1, 64)
	}
	return text + "}"
}

// escape returns how an nginx with such an upstream escapes keys: memcached_hash was made
// for versions that use lower-case hexadecimal digits.
func (u *upstream) escape() string {
	if u.method == memcachedHash {
		return "nginx-lower"
	}
	return "nginx-upper"
}

// times writes the service's own times for memcached.
func (t *translator) times(w *writer, v *service) {
	if d, ok := duration(v.connect); ok {
		w.line("memcached_connect_timeout", "    connect_timeout: %s", short(d))
	}
	if d, ok := duration(v.read); ok {
		w.line("memcached_read_timeout", "    first_byte_timeout: %s", short(d))
		w.line("", "    timeout: %s", short(max(d, 500*time.Millisecond)))
	}
	fails := -1
	for i := range v.servers {
		fails = max(fails, v.servers[i].maxFails)
	}
	if fails > 0 {
		w.line("max_fails", "    server_breaker: {failures: %d}", fails)
	}
}

func (t *translator) fallbackLines(w *writer, indent string, f *fallback) {
	if f == nil {
		return
	}
	if o := f.origins; len(o) == 1 && !o[0].drain {
		w.line(t.at(f.line), "%sfallback: %s", indent, quoted(o[0].url))
		return
	}
	w.line(t.at(f.line), "%sfallback:", indent)
	for _, o := range f.origins {
		text := "{url: " + quoted(o.url)
		if o.weight != 1 {
			text += ", weight: " + strconv.Itoa(o.weight)
		}
		if o.drain {
			text += ", drain: true"
		}
		w.line("", "%s  - %s}", indent, text)
	}
}

// backend writes how fallbacks are reached.
func (t *translator) backend(w *writer, f *fallback) {
	var list []string
	if !f.host {
		list = append(list, "host: origin")
	}
	if d, ok := duration(f.connect); ok {
		list = append(list, fmt.Sprintf("connect_timeout: %s", short(d)))
	}
	if d, ok := duration(f.read); ok {
		list = append(list, fmt.Sprintf("first_byte_timeout: %s, stall_timeout: %s", short(d), short(d)))
	}
	if len(list) > 0 {
		w.line("", "    backend: {%s}", strings.Join(list, ", "))
	}
}

func (t *translator) locationLines(w *writer, v *service, l *location, path string) {
	w.line(t.at(l.line), "      - path: %s", quoted(path))
	w.line("", "        key: %s", quoted(l.key))
	if l.decoded {
		w.line("as nginx's $uri", "        key_decode: decoded")
	}
	w.line("", "        content_type: %s", quoted(l.contentType))
	if l.cacheControl != "" {
		w.line("", "        cache_control: %s", quoted(l.cacheControl))
	}
	if len(l.headers) > 0 {
		w.line("", "        headers:")
		for _, h := range l.headers {
			w.line("", "          %s: %s", quoted(h[0]), quoted(h[1]))
		}
	}
	if c := l.jsonp; c != nil {
		types := ""
		if len(c.types) > 0 {
			types = ", types: " + quotedList(c.types)
		}
		w.line("as nginx; dotted is safer", "        jsonp: {param: %s%s, mode: legacy}", quoted(c.param), types)
	}
	switch {
	case l.fallback == nil && v.fallback != nil:
		w.line("", "        fallback: none")
	case !l.fallback.same(v.fallback):
		t.fallbackLines(w, "        ", l.fallback)
	}
}

// oneLine replaces line breaks, so that text can't end its comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// quoted returns text as a YAML string, in JSON's notation.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quotedList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quoted(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
