package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
)

// Verdict is whether an identity may be given copies from a database.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // nobody has asked, or the answer told nothing
	Allowed
	Denied // the node is to tell the client so itself
)

func (v Verdict) String() string { return [...]string{"unknown", "allowed", "denied"}[v] }

// Check sends HEAD for a database with the client's credentials to a node and
// returns the status of the answer. writer is true if only the node that takes
// writes can tell, since a setting was changed there lately. It may go on after
// the client has left, so it must not touch what belongs to its request.
type Check func(ctx context.Context, writer bool) (status int, err error)

// Config says how long decisions are kept.
type Config struct {
	// Service tells the decisions of one service from those of others.
	Service string
	// TTL is how long a decision is kept: for as long may a copy be given to
	// somebody who was shut out past Kasoku. Default 2s.
	TTL time.Duration
}

// Cache keeps decisions.
type Cache struct {
	cfg   Config
	space *cache.Space
}

// NewCache makes a gate that keeps its decisions in a space of its own.
func NewCache(space *cache.Space, cfg Config) *Cache {
	if cfg.TTL == 0 {
		cfg.TTL = 2 * time.Second
	}
	return &Cache{cfg, space}
}

// What a tag stands for.
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

func (g *Cache) tags(who Identity, db []byte) []cache.Tag {
	return []cache.Tag{g.tag(tagSecurity, db), g.tag(tagUsers, nil), g.tag(tagIdentity, who.sum[:])}
}

// appendKey appends the key of a decision. Anonymous requests share one sum.
func appendKey(dst []byte, who Identity, db []byte) []byte {
	dst = append(dst, who.sum[:]...)
	return append(dst, db...)
}

// Lookup returns the decision about a database, by its name without escapes, if one
// is kept. refresh is true for the one look that should call Refresh, since the
// decision ends soon.
func (g *Cache) Lookup(who Identity, db []byte, now int64) (v Verdict, refresh bool) {
	var buf [nameSize]byte
	e, found, refresh := g.space.Lookup(appendKey(buf[:0], who, db), now)
	if found != cache.Fresh {
		return Unknown, false
	}
	return Verdict(e.Kind()), refresh
}

// Decide asks a node, once for all who wait for the same decision.
func (g *Cache) Decide(ctx context.Context, who Identity, db []byte, ask Check) (Verdict, error) {
	answer, err := g.space.Fill(ctx, appendKey(nil, who, db), g.tags(who, db), g.fill(ask))
	if err != nil {
		return Unknown, err
	}
	return Verdict(answer.Entry.Kind()), nil
}

// Refresh asks a node in the background, while the old decision still holds.
func (g *Cache) Refresh(who Identity, db []byte, ask Check) {
	g.space.Refresh(appendKey(nil, who, db), g.tags(who, db), g.fill(ask))
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

// AppendWrites appends the tags that a write by who moves. They are given to
// cache.Begin, together with those of package coherence.
func (g *Cache) AppendWrites(dst []cache.Tag, r *api.Route, who Identity) []cache.Tag {
	if r.Touch&(api.TouchSecurity|api.TouchDatabase) != 0 {
		dst = append(dst, g.tag(tagSecurity, r.AppendDB(nil)))
	}
	if r.Touch&api.TouchUsers != 0 {
		dst = append(dst, g.tag(tagUsers, nil))
	}
	if r.Touch&api.TouchSession != 0 {
		dst = append(dst, g.tag(tagIdentity, who.sum[:]))
	}
	return dst
}

// AppendScope appends what the key of a copy needs so that nobody sees what was
// made for somebody else: nothing for documents and views, the identity for what is
// rendered by a function that may ask who reads.
func AppendScope(dst []byte, r *api.Route, who Identity) []byte {
	if r.Kind != api.Rendering || who.Anonymous {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	return append(dst, who.sum[:]...)
}
