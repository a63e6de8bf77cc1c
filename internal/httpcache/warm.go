package httpcache

import (
	"bytes"
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// warmer makes the stored responses of a service available to other nodes. Its questions are
// those of peerRequest.
type warmer struct{ *Service }

var _ cache.Warmer = warmer{}

// Stored implements cache.Warmer.
func (s warmer) Stored(question []byte) (a cache.Shared, ok bool) {
	return s.answerQuestion(context.Background(), question, true)
}

// Hottest implements cache.Warmer. It lists no answers of plans.
func (s warmer) Hottest(n int, yield func(question []byte) bool) {
	set := s.settings.Load()
	if set.cfg.PlanPeer != nil {
		return
	}
	now := clock()
	for _, e := range s.space.Hottest(n) {
		r, ok := e.Value().(*store.Resource)
		if !ok {
			continue
		}
		for o := range s.store.Current(e.Key(), r) {
			if o.Head.Response.TTL(now) <= 0 {
				continue
			}
			if q := set.questionFor(e.Key(), o); q != nil && !yield(q) {
				return
			}
		}
	}
}

// questionFor returns the question for a stored response; nil if it can't be asked for.
func (s *settings) questionFor(key []byte, o *store.Object) []byte {
	scheme, rest, found := bytes.Cut(key, []byte("://"))
	target := store.TargetOf(key)
	fields, known := o.Head.Selectors()
	if !found || len(target) == 0 || !known || o.Body.Len() > maxPeerAnswer {
		return nil
	}
	for i := range fields {
		f := &fields[i]
		if isRewritten(string(f.Name)) || f.Is("Cookie") || f.Is("Authorization") {
			return nil // it was not the client's, or is one client's
		}
	}
	q := peerRequest{
		rules: s.rules, secure: string(scheme) == "https", memory: true, minor: 1,
		method: []byte("GET"), host: rest[:len(rest)-len(target)], target: target,
	}
	return q.encode(fields)
}

// Expect implements cache.Warmer.
func (s warmer) Expect(ctx context.Context, question []byte) (keep func(cache.Shared) bool) {
	q, fields, valid := parsePeerRequest(question)
	set := s.settings.Load()
	if !valid || q.rules != set.rules || set.cfg.PlanPeer != nil {
		return nil
	}
	x := q.exchange(ctx, fields)
	c := s.startCall(x)
	defer func() {
		if p := recover(); p != nil {
			s.metrics.faults.Inc()
			s.log.Error("a fault inside the cache", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			keep = nil
			return // a call that panicked is not used again
		}
		c.end()
		s.calls.Put(c)
	}()
	if !c.connection.read(x.Request.Fields) {
		return nil
	}
	c.parse()
	found := s.store.Find(&c.query)
	if found.Object != nil || found.Uncacheable || !c.req.Reading() {
		return nil
	}
	at := s.store.Fence(c.key)
	if !at.Stamp.Settled || s.space.Cache().Announcing() {
		return nil
	}
	f, asked := c.newFetch(nil), clock()
	return func(a cache.Shared) bool { return f.keepWarm(&a, at, asked) }
}

// keepWarm stores the answer of another member, unless there is one by now. at was noted before
// that member was asked.
func (f *originFetch) keepWarm(s *cache.Shared, at store.Fence, asked policy.Moment) bool {
	h, body, ok := parsePeerAnswer(s.Payload, asked, 0)
	if !ok || s.Kind != peerShared {
		return false
	}
	a, ok := f.usePeerAnswer(nil, h, bytes.Clone(body), false)
	if !ok || !a.Keep {
		return false
	}
	svc := f.svc
	q := store.Query{Key: f.key, Fields: f.client, Now: clock(), At: svc.space.Cache().Now(), Options: f.opt}
	if svc.store.Find(&q).Object != nil {
		return false
	}
	return svc.store.Put(f.key, store.NewObject(a.Head, svc.store.Track(a.Whole), at), nil)
}
