package policy

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// URI is a request's effective URI.
type URI struct {
	Scheme string // in lower case
	Host   string // in lower case, without the scheme's default port
	Target string // path and query, as sent
}

// Invalidates reports whether the answer to the request invalidates the stored responses of
// its URI and of InvalidationTargets: a non-error answer to an unsafe method (RFC 9111,
// section 4.4).
func Invalidates(q *Request, status int) bool { return q.Unsafe() && status >= 200 && status < 400 }

// InvalidationTargets returns the other targets of the same origin that the answer to an
// unsafe request invalidates: the targets of Location and Content-Location.
func InvalidationTargets(u URI, h http1.Fields) (targets []string) {
	for _, name := range [...]string{"location", "content-location"} {
		for i := range h {
			if !ascii.EqualFold(h[i].Name, name) {
				continue
			}
			if t, ok := u.resolve(h[i].Value); ok && t != u.Target {
				targets = append(targets, t)
			}
		}
	}
	return targets
}

// resolve returns the target of a reference, if it is on u's origin.
func (u URI) resolve(reference []byte) (target string, ok bool) {
	if t, ok := u.resolvePlain(reference); ok {
		return t, true
	}
	base, err := url.Parse(u.Scheme + "://" + u.Host + u.Target)
	if err != nil {
		return "", false
	}
	ref, err := url.Parse(string(reference))
	if err != nil {
		return "", false
	}
	full := base.ResolveReference(ref)
	if full.Opaque != "" || full.Scheme != u.Scheme || hostOf(full) != u.Host {
		return "", false
	}
	return full.RequestURI(), true
}

// resolvePlain is resolve for a reference that begins with a slash, optionally after u's own
// scheme and host, and has no dot segment and no escape. It keeps all bytes, because targets
// are compared bytewise: url.Parse would escape bytes that clients may have sent unescaped.
func (u URI) resolvePlain(reference []byte) (target string, ok bool) {
	target, _, _ = strings.Cut(string(reference), "#")
	if site := u.Scheme + "://" + u.Host; len(target) > len(site) && strings.EqualFold(target[:len(site)], site) {
		target = target[len(site):]
	}
	path, _, _ := strings.Cut(target, "?")
	return target, strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && !strings.Contains(path, "/.") && !strings.Contains(target, "%")
}

// hostOf returns a URL's host in the form of URI.Host.
func hostOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}

// PostStorable reports whether the answer to a POST may be stored to answer GETs of its URI:
// a 200 with explicit freshness whose Content-Location is the URI itself (RFC 9110, section
// 9.3.3). Stored responses must be invalidated before.
func PostStorable(q *Request, r *Response, u URI, h http1.Fields, o *Options) (bool, Reason) {
	if q.Method != POST || q.Traits.Has(HasOverride) || r.Status != 200 || !r.Explicit() {
		return false, Elsewhere
	}
	location := h.Get("content-location")
	if location == nil {
		return false, Elsewhere
	}
	if t, ok := u.resolve(location); !ok || t != u.Target {
		return false, Elsewhere
	}
	return storable(q, r, o)
}

// Groups returns the names in a Cache-Groups or Cache-Group-Invalidation field, which are
// lists of strings (RFC 9875); none if the field is malformed.
func Groups(h http1.Fields, field string) (groups []string) {
	text := combined(h, field)
	if len(text) == 0 {
		return nil
	}
	if list, ok := readStrings(bytes.TrimLeft(text, " ")); ok {
		return list
	}
	return nil
}
