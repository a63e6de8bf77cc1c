package memcached

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/purge"
)

// Purge drops copies in this process: all, or the copies of a key or of a URL. The value
// of a key or a URL is also deleted from memcached. All other values there are the
// application's and are not changed.
func (s *Service) Purge(ctx context.Context, r admin.PurgeRequest) (admin.PurgeResult, error) {
	set := s.settings.Load()
	kind, byKey := r.Selector.Kind, r.Key != nil
	switch {
	case r.Table != "" || r.Partition != nil || r.Soft || kind != purge.All && (kind != purge.URL || byKey):
		return admin.PurgeResult{}, fmt.Errorf("%w: service %s is purged as a whole, by a key, or by a URL", admin.ErrInput, s.name)
	case byKey:
		var bare string
		if err := json.Unmarshal(r.Key, &bare); err != nil {
			return admin.PurgeResult{}, fmt.Errorf("%w: a key is a text without the namespace: %w", admin.ErrInput, err)
		}
		return s.purgeKey(ctx, set, []byte(bare))
	case kind == purge.URL:
		bare, err := set.keyOf(r.Selector.Text)
		if err != nil {
			return admin.PurgeResult{}, err
		}
		return s.purgeKey(ctx, set, bare)
	}
	if err := s.forget(ctx, s.tags.all); err != nil {
		return admin.PurgeResult{}, err
	}
	return admin.PurgeResult{Dropped: "all copies in this process; values in memcached are kept", Tags: 1}, nil
}

// purgeKey deletes the value of a bare key. It is deleted from memcached first, so that a
// value fetched before is not kept as a copy.
func (s *Service) purgeKey(ctx context.Context, set *settings, bare []byte) (admin.PurgeResult, error) {
	wire, hashed, trouble := set.cfg.Rules.Wire(nil, bare)
	if trouble != key.OK {
		return admin.PurgeResult{}, fmt.Errorf("%w: %q can be no key: %s", admin.ErrInput, bare, keyReasons[trouble].Info().Help)
	}
	server := set.place(hashed)
	became := client.StoreDown
	if server >= 0 {
		g := client.NewCall()
		became = set.client.Delete(g, server, wire)
		g.Release()
	}
	if err := s.forget(ctx, s.tags.key(wire)); err != nil {
		return admin.PurgeResult{}, err
	}
	what := fmt.Sprintf("key %s", wire)
	switch became {
	case client.Stored, client.NotFound:
		return admin.PurgeResult{Dropped: fmt.Sprintf("%s, also from %s", what, set.cfg.Client.Servers[server].Address), Tags: 1}, nil
	}
	return admin.PurgeResult{}, fmt.Errorf("%s: dropped here, but maybe not from memcached: %s", what, became)
}

// keyOf returns the bare key of a URL.
func (s *settings) keyOf(url string) ([]byte, error) {
	q, l, err := s.parse(url)
	if err != nil {
		return nil, err
	}
	bare, ok := l.template.Append(nil, q)
	if !ok {
		return nil, fmt.Errorf("%w: %s lacks a part of the key %s, or has it twice", admin.ErrInput, url, l.Key)
	}
	return bare, nil
}

// parse returns the parts of a URL, which may be a path alone, for a template, and the
// location.
func (s *settings) parse(url string) (*key.Request, *location, error) {
	host, target := "", url
	if _, rest, ok := strings.Cut(url, "://"); ok {
		host, target, _ = strings.Cut(rest, "/")
		target = "/" + target
	}
	target, _, _ = strings.Cut(target, "#")
	path, query, found := strings.Cut(target, "?")
	q := &key.Request{Path: []byte(path), Host: []byte(host)}
	l := s.table.find(q.Path, &q.Captures)
	if l == nil {
		return nil, nil, fmt.Errorf("%w: no location has the path %q", admin.ErrInput, path)
	}
	if q.Decode = l.Decode; found {
		_, q.Query = new(jsonp.Session).Strip(l.JSONP, nil, []byte(query))
	}
	return q, l, nil
}
