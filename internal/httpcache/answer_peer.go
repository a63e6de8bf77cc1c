package httpcache

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

const (
	maxPeerRequest = cache.MaxPeerRequest
	maxPeerAnswer  = cache.MaxShared
)

// parsePeerRequest is the inverse of call.encodePeerRequest.
func parsePeerRequest(b []byte) (q peerRequest, fields http1.Fields, ok bool) {
	const head = 1 + 8 + 2 + 8
	if len(b) < head || b[0] != peerVersion {
		return q, nil, false
	}
	q.rules = binary.BigEndian.Uint64(b[1:])
	q.secure, q.memory, q.minor = b[9]&peerSecure != 0, b[9]&peerMemory != 0, b[10]
	q.age = time.Duration(min(binary.BigEndian.Uint64(b[11:]), uint64(time.Hour)))
	var client []byte
	fields, ok = store.ParseRequest(b[head:], []*[]byte{&client, &q.id, &q.method, &q.host, &q.target, &q.body})
	if !ok || q.minor > 1 || q.client.UnmarshalBinary(client) != nil {
		return q, nil, false
	}
	reads := string(q.method) == http.MethodGet || string(q.method) == http.MethodPost
	return q, fields, reads && len(q.target) > 0 && http1.CheckTarget(q.target) == nil && http1.ValidHost(q.host)
}

// exchange returns the exchange of the client's request, without its connection.
func (q *peerRequest) exchange(ctx context.Context, fields http1.Fields) *edge.Exchange {
	r := http1.Request{Method: q.method, Target: q.target, Path: q.target, Host: q.host, Minor: int(q.minor), Fields: fields}
	if at := bytes.IndexByte(q.target, '?'); at >= 0 {
		r.Path, r.RawQuery = q.target[:at], q.target[at+1:]
	}
	x := edge.Detached(ctx, r, q.body, time.Now().Add(-q.age))
	x.Record.TLS, x.Record.Client, x.Record.RequestID = q.secure, q.client, q.id
	return x
}

// answerPeer answers a question of another member, with what is stored or by a flight. It
// returns false for everything that is not stored, and for errors of the origin.
func (s *Service) answerPeer(ctx context.Context, request []byte) (a cache.Shared, ok bool) {
	return s.answerQuestion(ctx, request, false)
}

// answerQuestion is answerPeer, with only what is stored if stored is true.
func (s *Service) answerQuestion(ctx context.Context, request []byte, stored bool) (a cache.Shared, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			s.metrics.faults.Inc()
			s.log.Error("a fault inside the cache", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			a, ok = cache.Shared{}, false
		}
	}()
	q, fields, valid := parsePeerRequest(request)
	set := s.settings.Load()
	if !valid || q.rules != set.rules {
		return a, false
	}
	x := q.exchange(ctx, fields)
	memory := stored || q.memory
	answer := func(p *Plan) { a, ok = s.share(x, p, memory) }
	if set.cfg.PlanPeer != nil {
		set.cfg.PlanPeer(x, answer)
	} else {
		answer(nil)
	}
	return a, ok
}

// share returns the answer to a request of another member. p is nil for type http.
func (s *Service) share(x *edge.Exchange, p *Plan, memory bool) (a cache.Shared, ok bool) {
	c := s.startCall(x)
	defer func() {
		if v := recover(); v != nil {
			c.releaseRequest() // a call that panicked is not used again
			panic(v)
		}
		c.end()
		s.calls.Put(c)
	}()
	if p != nil {
		c.plan, c.opt = p, p.Options
	}
	if !c.connection.read(x.Request.Fields) || isLoop(x.Request.Fields, s.id) {
		return a, false
	}
	c.parse()
	switch {
	case !c.req.Reading():
		return a, false
	case c.shared() != nil:
		if memory {
			return a, false
		}
		return c.shareUnstored()
	}
	return c.share(memory)
}

// share returns the answer for another member.
func (c *call) share(memory bool) (a cache.Shared, ok bool) {
	found, d, behind, ok := c.findShared()
	switch {
	case !ok:
		return a, false
	case c.usableByPeers(&found, &d):
		return sharedAnswer(found.Object, behind, true)
	case memory || found.Uncacheable || d.Reason == policy.CookiePassed || d.Reason == policy.PreconditionPassed || found.Miss == store.MissIsolated:
		return a, false
	}
	seen := found.Object
	switch {
	case d.Action == policy.Forward:
		seen = nil
	case d.Action != policy.Validate && d.Action != policy.UseAndRefresh:
		return a, false
	}
	if c.plan != nil && seen == nil {
		seen = c.svc.store.FindInvalidated(&c.query)
	}
	if c.plan == nil && c.needsOwnAnswer(seen) || c.countRequest() != nil {
		return a, false
	}
	return c.shareFetched(seen, func(*flight.Waiter, *flight.Outcome) (a cache.Shared, ok bool) {
		found, d, behind, ok := c.findShared()
		if !ok || !c.usableByPeers(&found, &d) {
			return a, false
		}
		return sharedAnswer(found.Object, behind, false)
	})
}

// shareUnstored returns the answer of a service that keeps answers by itself.
func (c *call) shareUnstored() (a cache.Shared, ok bool) {
	if c.countRequest() != nil {
		return a, false
	}
	return c.shareFetched(nil, func(t *flight.Waiter, out *flight.Outcome) (a cache.Shared, ok bool) {
		b := out.Head.AppendShared([]byte{0}, clock(), false)
		var whole bytes.Buffer
		whole.Write(b)
		switch {
		case out.Object != nil:
			ok = out.Object.Body.Len() <= maxPeerAnswer && out.Object.Body.WriteRange(&whole, 0, out.Object.Body.Len()) == nil
		default:
			ok = drain(c.x.Context(), t, out.Length, &whole)
		}
		return cache.Shared{Payload: whole.Bytes(), Kind: peerShared}, ok && whole.Len() <= maxPeerAnswer
	})
}

// findShared looks the answer up for another member. ok is false if it must not be answered.
func (c *call) findShared() (found store.Found, d policy.Decision, behind time.Duration, ok bool) {
	if c.plan != nil {
		if c.plan.Peers == nil || !c.plan.Valid {
			return found, d, 0, false
		}
		// Before the look-up: a change that arrives in between makes the answer invalid.
		if behind, ok = c.plan.Peers.Attest(); !ok {
			return found, d, 0, false
		}
		behind = max(behind, 1)
	}
	c.now = clock()
	c.query.Now, c.query.At = c.now, c.svc.space.Cache().Now()
	found = c.svc.store.Find(&c.query)
	return found, c.decide(&found), behind, true
}

// usableByPeers reports whether the result of a look-up is the answer.
func (c *call) usableByPeers(found *store.Found, d *policy.Decision) bool {
	return found.Object != nil && d.Action == policy.Use && !found.Object.IsPart()
}

// sharedAnswer encodes a stored answer: the time by which this member may be behind in
// nanoseconds, the head and the body.
func sharedAnswer(o *store.Object, behind time.Duration, hit bool) (a cache.Shared, ok bool) {
	n := o.Body.Len()
	if n > maxPeerAnswer {
		return a, false
	}
	b := binary.AppendUvarint(nil, uint64(max(0, behind)))
	b = o.Head.AppendShared(b, clock(), true)
	if int64(len(b))+n > maxPeerAnswer {
		return a, false
	}
	whole := bytes.NewBuffer(append(make([]byte, 0, len(b)+int(n)), b...))
	if o.Body.WriteRange(whole, 0, n) != nil {
		return a, false // it can't be read from disk
	}
	return cache.Shared{Payload: whole.Bytes(), Kind: peerShared, Hit: hit}, true
}

// shareFetched joins a flight, or more if they are for other variants, and returns the answer
// that use makes of its result.
func (c *call) shareFetched(seen *store.Object, use func(*flight.Waiter, *flight.Outcome) (cache.Shared, bool)) (a cache.Shared, ok bool) {
	for range maxMismatches {
		if a, ok, again := c.shareFlight(seen, use); !again {
			return a, ok
		}
	}
	return a, false
}

// shareFlight joins one flight. If again is true, that was for another variant.
func (c *call) shareFlight(seen *store.Object, use func(*flight.Waiter, *flight.Outcome) (cache.Shared, bool)) (a cache.Shared, ok, again bool) {
	f := c.newFetch(seen)
	f.forPeer = true
	if seen == nil && f.shared == nil {
		f.peer = c.formerQuestion()
	}
	req := flight.Request{Query: &c.query, Seen: seen, Fill: f.run}
	if f.fill != nil {
		req.Tags, req.Since = f.fill.Tags, c.plan.Since
	}
	join := c.svc.flights.Join
	if f.shared != nil {
		join = f.shared.Join
	}
	t := join(&req)
	defer t.Leave()
	ctx := c.x.Context()
	out, err := t.Wait(ctx)
	switch {
	case err != nil:
		return a, false, false
	case out.Kind == flight.OtherVariant:
		return a, false, true
	case out.Kind == flight.Private:
		a, ok = c.sharePrivate(f, &out)
		return a, ok, false
	case out.Kind == flight.Unshared, out.Kind == flight.Streaming && f.shared == nil && !drain(ctx, t, out.Length, io.Discard):
		return a, false, false
	}
	a, ok = use(t, &out)
	return a, ok, false
}

// drain writes a body to w. It reports false if that is too long to be sent, or breaks off.
func drain(ctx context.Context, t *flight.Waiter, length int64, w io.Writer) bool {
	if length > maxPeerAnswer {
		return false
	}
	for n := 0; n <= maxPeerAnswer; {
		b, err := t.Next(ctx)
		if err != nil {
			return err == io.EOF
		}
		n += len(b)
		_, _ = w.Write(b) // to memory
	}
	return false
}

// maxPrivate is how long the body of an answer for one client is awaited. The other member
// waits for no longer.
const maxPrivate = 500 * time.Millisecond

// sharePrivate returns an answer that is for the client alone whose request the other member
// has sent, so that the origin is not asked for it twice. That of a plan with a Filler may depend
// on what only that member has.
func (c *call) sharePrivate(f *originFetch, out *flight.Outcome) (a cache.Shared, ok bool) {
	if f.fill != nil || out.Object != nil || out.Answer.Body == nil || out.Length > maxPeerAnswer {
		return a, false
	}
	b := out.Head.AppendPrivate([]byte{0}, clock())
	timer := time.AfterFunc(maxPrivate, f.stop) // the answer may be an endless stream
	defer timer.Stop()
	body, err := io.ReadAll(io.LimitReader(out.Answer.Body, maxPeerAnswer+1))
	if err != nil || len(b)+len(body) > maxPeerAnswer {
		return a, false
	}
	return cache.Shared{Payload: append(b, body...), Kind: peerPrivate}, true
}
