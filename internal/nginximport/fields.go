package nginximport

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/kasoku/kasoku/internal/lazyregexp"
	"github.com/kasoku/kasoku/internal/nginxconf"
)

// fields sets the header fields of a location's answers.
func (t *translator) fields(l *location, s scope) {
	l.contentType = "text/plain"
	if d := s.last("default_type"); d != nil {
		if l.contentType = d.Arg(0); !mediaType().MatchString(l.contentType) {
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
		case !fieldName().MatchString(name) || strings.ContainsFunc(value, unicode.IsControl):
			t.note(d.Line, "add_header %q: this is not a header field", name)
		case strings.Contains(value, "$"):
			t.note(d.Line, "add_header %s: a field made of variables has no counterpart", name)
		case strings.EqualFold(name, "Cache-Control"):
			l.cacheControl = value
		case contains("content-type etag date vary age connection content-length content-encoding transfer-encoding set-cookie cache-status x-request-id", strings.ToLower(name)):
			t.note(d.Line, "add_header %s: this field can't be added to answers here", name)
		default:
			l.headers = append(l.headers, [2]string{name, value})
		}
	}
	if d := s.last("memcached_gzip_flag"); d != nil {
		t.note(d.Line, "memcached_gzip_flag: compressed values are recognized by their first bytes, or by the client that wrote them (values), and are sent decoded to clients that do not accept them")
	}
}

var (
	mediaType = lazyregexp.New(`^[A-Za-z0-9!#&^_.+-]+/[A-Za-z0-9!#&^_.+-]+$`)
	fieldName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
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
