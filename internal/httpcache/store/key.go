package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
)

// AppendKey appends the primary key of a URL: scheme://host/path?query. The host is put into
// lower case without the scheme's default port; path and query are kept byte by byte. query
// is without its question mark; nil means that the URL has none, which differs from an empty
// one.
func AppendKey(dst []byte, scheme string, host, path, query []byte) []byte {
	dst = append(append(dst, scheme...), "://"...)
	dst = AppendHost(dst, scheme, host)
	dst = append(dst, path...)
	if query != nil {
		dst = append(append(dst, '?'), query...)
	}
	return dst
}

func AppendHost(dst []byte, scheme string, host []byte) []byte {
	port := ":80"
	if scheme == "https" {
		port = ":443"
	}
	if n := len(host) - len(port); n > 0 && string(host[n:]) == port {
		host = host[:n]
	}
	return ascii.AppendLower(dst, host)
}

var errNotURL = errors.New("want http://host/path or https://host/path")

// ParseURL returns the primary key of a URL as people write it. The part that follows a '#'
// is ignored. A URL that no request can have is an error.
func ParseURL(url string) ([]byte, error) {
	url, _, _ = strings.Cut(url, "#")
	scheme, rest, found := strings.Cut(url, "://")
	if scheme = strings.ToLower(scheme); !found || scheme != "http" && scheme != "https" {
		return nil, fmt.Errorf("%q is no URL: %w", url, errNotURL)
	}
	host, target := SplitHost(rest)
	if host == "" {
		return nil, fmt.Errorf("%q names no host: %w", url, errNotURL)
	}
	if !http1.ValidHost([]byte(host)) {
		return nil, fmt.Errorf("%q: no request has the host %q: %w", url, host, errNotURL)
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	if err := http1.CheckTarget([]byte(target)); err != nil {
		return nil, fmt.Errorf("%q is in no request, or is refused there: %w", url, err)
	}
	return append(AppendHost([]byte(scheme+"://"), scheme, []byte(host)), target...), nil
}

// SplitHost splits the part of a URL behind "://" at the end of the host.
func SplitHost(rest string) (host, target string) {
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}

// TargetOf returns the part of a primary key that begins with the path.
func TargetOf(key []byte) []byte {
	at := bytes.Index(key, []byte("://"))
	if at < 0 {
		return nil
	}
	at += len("://")
	slash := bytes.IndexByte(key[at:], '/')
	if slash < 0 {
		return nil
	}
	return key[at+slash:]
}

// URLTag returns the tag of a URL, by its primary key. Every stored variant depends on it:
// unsafe methods write it, and a hard purge of the URL moves it.
func URLTag(key []byte) cache.Tag { return cache.TagOf(key) }
