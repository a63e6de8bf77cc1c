package cache

import (
	"context"
	"sync"
	"time"
)

// Peers asks another member of a cluster for an answer before the origin is asked for it, so
// that the origin is asked once for all members. It is implemented by package cluster.
type Peers interface {
	// Fetch returns the answer of the member that owns key; if this node is the owner, that of
	// FetchStored. ok is false if there is none and the origin must be asked: the member has
	// declined or is silent.
	Fetch(ctx context.Context, service string, key, request []byte) (s Shared, ok bool)
	// FetchStored returns the answer of the member that has owned key before this node, if it is
	// stored there. Neither node asks any other one for it. ok is false if there is no such
	// member, or it has no answer.
	FetchStored(ctx context.Context, service string, key, request []byte) (s Shared, ok bool)
	// FetchAll asks all other members at the same time, and returns the answers that arrive in time,
	// in any order. Members that are silent or decline have none.
	FetchAll(ctx context.Context, service string, request []byte) []Shared
	// Owner returns the name of the member that Fetch would ask, or "" for none.
	Owner(key []byte) string
	// Owns reports whether this node owns key. At any time one member does so, also while it is
	// silent, except that members may differ for a moment when the members change.
	Owns(key []byte) bool
}

// Shared is an answer that one member of a cluster gives to another one.
type Shared struct {
	Payload []byte
	Kind    uint8
	Hit     bool          // it was stored already
	TTL     time.Duration // how long it remains fresh; 0 if the payload has that
}

// Limits of requests to other members and of their answers, in bytes. Longer ones are not sent.
const (
	MaxPeerRequest = 64 << 10
	MaxShared      = 1 << 20
)

// SetPeers sets the other members. It must be called before any request. The default is nil:
// each fill asks the origin.
func (c *Cache) SetPeers(p Peers) { c.peers = p }

// Owner returns the name of the member that is asked first for key, or "" for the origin.
func (c *Cache) Owner(key []byte) string {
	if c.peers == nil {
		return ""
	}
	return c.peers.Owner(key)
}

// Owns reports whether this process is the one of its cluster that owns key, for duties that only one
// member has.
func (c *Cache) Owns(key []byte) bool { return c.peers == nil || c.peers.Owns(key) }

// Query describes the answer that a fill fetches, for the member that owns its key.
type Query struct {
	// Service is the name of the service on all members.
	Service string
	// Key names the answer. It is the same on all members, and determines the owner.
	Key []byte
	// Request is passed to the function that the service has given to OnFetch there.
	Request []byte
	// Use checks an answer and returns what is to be stored of it. If ok is false, the origin
	// is asked.
	Use func(s Shared) (f Filling, ok bool)
}

// HasPeers reports whether AskFirst, AskOwner and AskAll may ask another member, for callers that would
// prepare a request in vain.
func (c *Cache) HasPeers() bool { return c.peers != nil }

// AskOwner returns the answer of the owner of key, for callers that do not fill one key of a
// Space. ok is false if the origin must be asked. The caller has recorded a Stamp before, which
// is settled, and stores the answer under it. It must reduce the lifetime by the time that the
// question takes, because the time at which the owner has determined it is unknown.
func (c *Cache) AskOwner(ctx context.Context, service string, key, request []byte) (s Shared, ok bool) {
	if c.peers == nil || c.Announcing() {
		return s, false
	}
	return c.peers.Fetch(ctx, service, key, request)
}

// AskFormerOwner is AskOwner for a request of another member: it asks the member that owned the
// key before this one for what that has stored, as AskStored does.
func (c *Cache) AskFormerOwner(ctx context.Context, service string, key, request []byte) (s Shared, ok bool) {
	if c.peers == nil || c.Announcing() {
		return s, false
	}
	return c.peers.FetchStored(ctx, service, key, request)
}

// AskAll returns the answers of all other members to a request, in any order. Some may be missing,
// and the caller can't determine whose.
func (c *Cache) AskAll(ctx context.Context, service string, request []byte) []Shared {
	if c.peers == nil || c.Announcing() {
		return nil
	}
	return c.peers.FetchAll(ctx, service, request)
}

// Announcing reports whether no other member may be asked for an answer: see BeginAnnouncement.
func (c *Cache) Announcing() bool { return c.announcing.Load() != 0 }

// BeginAnnouncement must be called before an invalidation that is no tag is carried out in this
// process and then given to Broadcast; end is called after that. In between no other member is
// asked for an answer: one that has not received the broadcast would return what was
// invalidated, and this cache would store it after the invalidation.
func (c *Cache) BeginAnnouncement() (end func()) {
	c.announcing.Add(1)
	return func() { c.announcing.Add(-1) }
}

// AskFirst returns a FillFunc that asks the owner of q.Key, and runs fill if that has no
// answer. The answer is stored under the stamp that was recorded before the owner was asked,
// like one of the origin. While a write is in flight only the origin is asked. A refresh must
// not use AskFirst: the entry of the owner may be as old as the one that is to be replaced.
func (c *Cache) AskFirst(q Query, fill FillFunc) FillFunc {
	if c.peers == nil {
		return fill
	}
	return c.askThen(q, c.AskOwner, fill)
}

// AskStored is AskFirst for a fill on behalf of another member. It asks only the member that owned
// the key before this one, and only for what that has stored: fills of two members never wait for
// each other.
func (c *Cache) AskStored(q Query, fill FillFunc) FillFunc {
	if c.peers == nil {
		return fill
	}
	return c.askThen(q, c.AskFormerOwner, fill)
}

// askThen returns a FillFunc that calls fetch, and fill if that has no answer.
func (c *Cache) askThen(q Query, fetch fetchFunc, fill FillFunc) FillFunc {
	return func(ctx context.Context, st *Stamp) (Filling, error) {
		if st.Settled {
			start := c.Now()
			if s, ok := fetch(ctx, q.Service, q.Key, q.Request); ok {
				if f, ok := s.use(q.Use, time.Duration(c.Now()-start)); ok {
					return f, nil
				}
			}
		}
		return fill(ctx, st)
	}
}

// fetchFunc is AskOwner or AskFormerOwner.
type fetchFunc func(ctx context.Context, service string, key, request []byte) (s Shared, ok bool)

// use returns the part to be stored of an answer that took a time. Its lifetime is reduced by that
// time, because the time at which the other member has determined it is unknown.
func (s Shared) use(use func(Shared) (Filling, bool), took time.Duration) (f Filling, ok bool) {
	s.TTL -= took
	if s.TTL <= 0 {
		return f, false
	}
	if f, ok = use(s); !ok {
		return f, false
	}
	f.TTL = min(f.TTL, s.TTL)
	return f, true
}

// fetches are the functions of services that answer other members.
type fetches struct {
	mu      sync.Mutex // leaf
	answers map[string]*answerFunc
}

type answerFunc func(ctx context.Context, request []byte) (s Shared, ok bool)

// OnFetch sets the function that answers the service of the same name on other members, until
// remove is called or another function is set. The function must not ask a peer itself. It
// returns false for an answer that this node does not store, and for an error: the other
// member then asks the origin. It may be called concurrently.
func (c *Cache) OnFetch(service string, answer func(ctx context.Context, request []byte) (s Shared, ok bool)) (remove func()) {
	f, own := &c.fetches, new(answerFunc(answer))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answers == nil {
		f.answers = make(map[string]*answerFunc)
	}
	f.answers[service] = own
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.answers[service] == own {
			delete(f.answers, service)
		}
	}
}

// Answer answers a request of the service of the same name on another member. It is called by
// package cluster.
func (c *Cache) Answer(ctx context.Context, service string, request []byte) (s Shared, ok bool) {
	f := &c.fetches
	f.mu.Lock()
	answer := f.answers[service]
	f.mu.Unlock()
	if answer == nil {
		return s, false
	}
	return (*answer)(ctx, request)
}

// Share returns the entry under key for another member, or the answer of fill, which is then
// stored. ok is false if the answer can't be stored now, or fill fails.
func (s *Space) Share(ctx context.Context, key []byte, tags []Tag, fill FillFunc) (out Shared, ok bool) {
	e, found := s.find(key, s.cache.Now())
	hit := found == Fresh
	if !hit {
		if st := s.cache.Note(tags...); !st.Settled {
			return out, false
		}
		a, err := s.Fill(ctx, key, tags, fill)
		if err != nil || !a.Stored {
			return out, false
		}
		e = a.Entry
	}
	return e.shared(hit, s.cache.Now()), true
}

// shared returns e as an answer for another member.
func (e *Entry) shared(hit bool, now int64) Shared {
	return Shared{Payload: e.Payload(), Kind: e.Kind(), Hit: hit, TTL: e.TTL(now)}
}
