package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
)

// Purge is a request to invalidate stored responses. Exactly one of URL, Prefix, Pattern,
// Tag and All is set.
type Purge struct {
	// URL is one URL with all its variants: http://host/path?query.
	URL string
	// Prefix is the beginning of URLs: http://host/path, or /path on any host.
	Prefix string
	// Pattern matches whole URLs, with * for any bytes, for example http://host/img/*.png,
	// or /img/*?size=* on any host. A star in the host matches no slash.
	Pattern string
	// Tag is a tag of the response, from Surrogate-Key or Cache-Tag.
	Tag string
	// All matches everything.
	All bool
	// Soft marks responses as stale instead: they may be validated, and served where stale
	// responses may.
	Soft bool
}

var errPurgeWhat = errors.New("httpcache: a purge needs exactly one of URL, prefix, pattern, tag and all")

// String describes the purge, for logs.
func (p Purge) String() string {
	words := "purge"
	if p.Soft {
		words = "soft purge"
	}
	switch {
	case p.URL != "":
		return words + " of URL " + p.URL
	case p.Prefix != "":
		return words + " of prefix " + p.Prefix
	case p.Pattern != "":
		return words + " of pattern " + p.Pattern
	case p.Tag != "":
		return words + " of tag " + p.Tag
	}
	return words + " of all"
}

func (p Purge) valid() error {
	n := 0
	for _, given := range []bool{p.URL != "", p.Prefix != "", p.Pattern != "", p.Tag != "", p.All} {
		if given {
			n++
		}
	}
	if n != 1 {
		return errPurgeWhat
	}
	return nil
}

// scope is the set of keys that a purge matches.
type scope struct {
	site   string // a pattern for scheme://host; empty for any
	target string // for path and query: a prefix or a pattern
	prefix bool
}

// parseScope reads a Prefix or Pattern.
func parseScope(text string, prefix bool) (scope, error) {
	if strings.HasPrefix(text, "/") {
		return scope{target: text, prefix: prefix}, nil
	}
	scheme, rest, found := strings.Cut(text, "://")
	if scheme = strings.ToLower(scheme); !found || scheme != "http" && scheme != "https" && scheme != "*" {
		return scope{}, fmt.Errorf("%q is neither a path nor a URL: want /path, %w", text, errNotURL)
	}
	host, target := SplitHost(rest)
	if host == "" {
		return scope{}, fmt.Errorf("%q names no host: %w", text, errNotURL)
	}
	if !hostPattern(host) {
		return scope{}, fmt.Errorf("%q: no request has the host %q: %w", text, host, errNotURL)
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	site := AppendHost([]byte(scheme+"://"), scheme, []byte(host))
	return scope{site: string(site), target: target, prefix: prefix}, nil
}

// hostPattern reports whether the stars in host can be replaced so that it is a valid host.
func hostPattern(host string) bool {
	for _, star := range []string{"1", ":1", "::1"} {
		if http1.ValidHost([]byte(strings.ReplaceAll(host, "*", star))) {
			return true
		}
	}
	return false
}

// fits reports whether s contains the primary key.
func (s *scope) fits(key []byte) bool {
	target := TargetOf(key)
	switch {
	case s.site != "" && !wild(s.site, key[:len(key)-len(target)]):
		return false
	case s.prefix:
		return len(target) >= len(s.target) && string(target[:len(s.target)]) == s.target
	}
	return wild(s.target, target)
}

// wild reports whether pattern matches text, where * matches any bytes. After a star, the
// first match is as good as any later one, so the time is at most the product of both
// lengths.
func wild(pattern string, text []byte) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return string(text) == pattern
	}
	if len(text) < len(head) || string(text[:len(head)]) != head {
		return false
	}
	text = text[len(head):]
	for {
		head, rest, star = strings.Cut(rest, "*")
		if !star {
			return bytes.HasSuffix(text, []byte(head))
		}
		at := bytes.Index(text, []byte(head))
		if at < 0 {
			return false
		}
		text = text[at+len(head):]
	}
}
