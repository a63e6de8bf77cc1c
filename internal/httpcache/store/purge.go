package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/purge"
)

// Purge is a request to invalidate stored responses.
type Purge struct {
	Selector purge.Selector
	// Soft marks responses as stale instead: they may be validated, and served where stale
	// responses may.
	Soft bool
}

var (
	errSelector = errors.New("httpcache: a purge needs exactly one of " + purge.List("", ", ") + " and all")
	errKind     = errors.New("httpcache: no purge by")
)

// String describes the purge, for logs.
func (p Purge) String() string {
	if p.Soft {
		return "soft purge of " + p.Selector.String()
	}
	return "purge of " + p.Selector.String()
}

// Purge invalidates the responses that p matches, or marks them as stale. When it has
// returned, no look-up finds older ones, or it finds them stale; no fill that began before
// is stored as new; and no request joins one. An error that is not about p means that
// responses on disk may be back after a restart.
//
// In a cluster all members have made the purge when Purge returns, unless the error wraps
// ErrNotEverywhere.
func (s *Store) Purge(ctx context.Context, p Purge) error {
	if p.Selector.Valid() && p.Selector.Kind == purge.URL && !p.Soft {
		key, err := ParseURL(p.Selector.Text)
		if err != nil {
			return err
		}
		return s.PurgeKey(ctx, key)
	}
	defer s.space.Cache().BeginAnnouncement()()
	err := s.purgeHere(p)
	if err != nil && !errors.Is(err, ErrNotDurable) {
		return err
	}
	return errors.Join(err, s.broadcast(ctx, announcement{Kind: p.Selector.Kind, Text: p.Selector.Text, Soft: p.Soft}))
}

// purgeHere makes a purge on this member alone.
func (s *Store) purgeHere(p Purge) error {
	if !p.Selector.Valid() {
		return errSelector
	}
	switch text := p.Selector.Text; p.Selector.Kind {
	case purge.URL:
		key, err := ParseURL(text)
		if err != nil {
			return err
		}
		s.stats.purges.Add(1)
		if p.Soft {
			s.purges.addURL(key)
		} else {
			s.space.Cache().Apply(cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{URLTag(key)}})
		}
		return s.applyToDisk(key)
	case purge.Prefix, purge.Pattern:
		sc, err := parseScope(text, p.Selector.Kind == purge.Prefix)
		if err != nil {
			return err
		}
		return s.purgeScope(sc, p.Soft)
	case purge.Tag:
		s.purges.addTag(text, p.Soft)
	case purge.All:
		s.purges.addAll(p.Soft)
	default:
		return fmt.Errorf("%w %s", errKind, p.Selector.Kind)
	}
	s.stats.purges.Add(1)
	return s.applyToWholeDisk()
}

// PurgeKey purges one URL by its primary key. An error means that responses on disk may be
// back after a restart, or ErrNotEverywhere.
func (s *Store) PurgeKey(ctx context.Context, key []byte) error {
	s.stats.purges.Add(1)
	err := s.space.Cache().Invalidate(ctx, cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{URLTag(key)}})
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrNotEverywhere, err)
	}
	return errors.Join(s.applyToDisk(key), err)
}

// ErrNotEverywhere means that a purge is in force at this member of the cluster, and may not
// be at others.
var ErrNotEverywhere = errors.New("httpcache: other nodes may not have made the purge")

// purgeScope purges the responses that a scope matches.
func (s *Store) purgeScope(sc scope, soft bool) error {
	if s.purges.addScope(sc, soft) >= sweepAt {
		s.sweepSoon()
	}
	s.stats.purges.Add(1)
	return s.applyToWholeDisk()
}

// scope is the set of responses that a purge matches.
type scope struct {
	site   string // a pattern for scheme://host; empty for any
	target string // for path and query: a prefix or a pattern
	prefix bool
}

// parseScope reads the text of a selector by prefix or by pattern.
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
	return slices.ContainsFunc([]string{"1", ":1", "::1"}, func(star string) bool {
		return http1.ValidHost([]byte(strings.ReplaceAll(host, "*", star)))
	})
}

// subject is a response that is compared with purges.
type subject struct {
	key  []byte // the primary key
	head *Head  // nil before it is known
}

// anyTags are the tags of a response whose head is not known yet.
var anyTags = Tags{all: true}

// tags returns the tags of the response.
func (r subject) tags() *Tags {
	if r.head == nil {
		return &anyTags
	}
	return &r.head.Tags
}

// fits reports whether s contains the response, or may contain it once its head is known.
func (s *scope) fits(r subject) bool {
	target := TargetOf(r.key)
	switch {
	case s.site != "" && !wild(s.site, r.key[:len(r.key)-len(target)]):
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
