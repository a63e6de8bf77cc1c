package auth

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
)

// Verdict is the decision whether an identity may get copies from a database.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // there is no answer yet, or it was neither
	Allowed
	Denied // the node must send its refusal to the client itself
)

func (v Verdict) String() string { return [...]string{"unknown", "allowed", "denied"}[v] }

// Check sends HEAD for a database with the client's credentials to a node and returns the
// status of the answer. writer is true if only the node that takes writes has the answer,
// since a setting was changed there recently. A Check may run on after the client has left,
// so it must not refer to the client's request.
type Check func(ctx context.Context, writer bool) (status int, err error)

// Config is the configuration of a Cache.
type Config struct {
	// Service is the service's name, which separates the decisions of services.
	Service string
	// TTL is how long a decision is cached, and so how long a client may get copies after
	// its permission was revoked without Kasoku's knowledge. Default 2s.
	TTL time.Duration
}

// Cache is a cache of decisions.
type Cache struct {
	cfg   Config
	space *cache.Space
}

// NewCache returns a cache of decisions in a space of its own.
func NewCache(space *cache.Space, cfg Config) *Cache {
	cfg.TTL = cmp.Or(cfg.TTL, 2*time.Second)
	return &Cache{cfg, space}
}

// The kinds of tags.
const (
	tagSecurity = 'S' // a database's members and admins, and whether it exists
	tagUsers    = 'U' // users and the server's settings
	tagIdentity = 'I' // one identity
)

const nameSize = 256

func (g *Cache) tag(kind byte, of []byte) cache.Tag {
	var buf [nameSize]byte
	name := append(buf[:0], "couch gate\x00"...)
	name = append(name, g.cfg.Service...)
	name = append(name, 0, kind, 0)
	return cache.TagOf(append(name, of...))
}

func (g *Cache) tags(id Identity, db []byte) []cache.Tag {
	return []cache.Tag{g.tag(tagSecurity, db), g.tag(tagUsers, nil), g.tag(tagIdentity, id.sum[:])}
}

// appendKey appends the key of a decision. All anonymous requests have the same sum.
func appendKey(dst []byte, id Identity, db []byte) []byte {
	dst = append(dst, id.sum[:]...)
	return append(dst, db...)
}

// Lookup returns the cached decision about a database with an unescaped name. refresh is
// true for one caller when the decision expires soon; that caller should call Refresh.
func (g *Cache) Lookup(id Identity, db []byte, now int64) (v Verdict, refresh bool) {
	var buf [nameSize]byte
	e, found, refresh := g.space.Lookup(appendKey(buf[:0], id, db), now)
	if found != cache.Fresh {
		return Unknown, false
	}
	return Verdict(e.Kind()), refresh
}

// Decide requests a decision from a node. Concurrent calls for the same decision share the
// request.
func (g *Cache) Decide(ctx context.Context, id Identity, db []byte, ask Check) (Verdict, error) {
	answer, err := g.space.Fill(ctx, appendKey(nil, id, db), g.tags(id, db), g.fill(ask))
	if err != nil {
		return Unknown, err
	}
	return Verdict(answer.Entry.Kind()), nil
}

// Refresh requests a decision in the background, while the old one is still valid.
func (g *Cache) Refresh(id Identity, db []byte, ask Check) {
	g.space.Refresh(appendKey(nil, id, db), g.tags(id, db), g.fill(ask))
}

func (g *Cache) fill(ask Check) cache.FillFunc {
	return func(ctx context.Context, st *cache.Stamp) (cache.Filling, error) {
		status, err := ask(ctx, st.Strong)
		if err != nil {
			return cache.Filling{}, fmt.Errorf("check read permission: %w", err)
		}
		v := verdict(status)
		return cache.Filling{Kind: uint8(v), TTL: g.cfg.TTL, Refresh: g.cfg.TTL / 2, NoStore: v == Unknown}, nil
	}
}

func verdict(status int) Verdict {
	switch status {
	case 200:
		return Allowed
	case 401, 403:
		return Denied
	}
	return Unknown
}

// AppendWrites appends the tags that a write moves. Pass them to cache.Begin, together with
// those of package follow.
func (g *Cache) AppendWrites(dst []cache.Tag, r *api.Route, id Identity) []cache.Tag {
	if r.Touch&(api.TouchSecurity|api.TouchDatabase) != 0 {
		dst = append(dst, g.tag(tagSecurity, r.AppendDB(nil)))
	}
	if r.Touch&api.TouchUsers != 0 {
		dst = append(dst, g.tag(tagUsers, nil))
	}
	if r.Touch&api.TouchSession != 0 {
		dst = append(dst, g.tag(tagIdentity, id.sum[:]))
	}
	return dst
}

// AppendScope appends the part of a cache key that separates identities: nothing for
// documents and views, and the identity for renderings, since a function may look at the
// user.
func AppendScope(dst []byte, r *api.Route, id Identity) []byte {
	if r.Kind != api.Rendering || id.Anonymous {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	return append(dst, id.sum[:]...)
}
