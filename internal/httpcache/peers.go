package httpcache

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// In a cluster, a flight whose answer may be for all clients asks the owner of its key before
// the origin. The question is the client's request, without conditions, so that the owner does
// what it would do for the client itself. The answer is treated like one of the origin: it is
// judged by the rules of this node, and stored under the fence that was noted before.

// peerVersion is the first byte of a question.
const peerVersion = 1

// The kinds of answers.
const (
	peerShared  = iota + 1 // for all clients: the owner has stored it
	peerPrivate            // for the client alone whose request was sent
)

// peerQuestion is a question to the owner of a key.
type peerQuestion struct {
	key     []byte // which determines the owner
	request []byte // an encoded peerRequest
	path    uint64 // in unaskedPaths
	memory  bool   // as in peerRequest
	former  bool   // it is for the former owner of the key
}

// peerRequest is a client's request as the owner of its key gets it.
type peerRequest struct {
	rules  uint64 // settings.rules of the node that asks, which must be the owner's
	secure bool   // it was sent over TLS
	memory bool   // only an answer in memory or on disk is wanted
	minor  byte
	client netip.AddrPort
	id     []byte // of the request
	method []byte
	host   []byte
	target []byte
	body   []byte
	age    time.Duration // of the request
}

// encode returns q and the fields of the request as bytes; nil if they are too long.
func (q *peerRequest) encode(fields http1.Fields) []byte {
	flags := byte(0)
	if q.secure {
		flags |= peerSecure
	}
	if q.memory {
		flags |= peerMemory
	}
	client, _ := q.client.MarshalBinary()
	b := binary.BigEndian.AppendUint64([]byte{peerVersion}, q.rules)
	b = append(b, flags, q.minor)
	b = binary.BigEndian.AppendUint64(b, uint64(max(0, q.age)))
	b = store.AppendRequest(b, [][]byte{client, q.id, q.method, q.host, q.target, q.body}, fields)
	if len(b) > maxPeerRequest {
		return nil
	}
	return b
}

const (
	peerSecure = 1 << iota
	peerMemory
)

// peerQuestion returns the question to the owner of the key; nil if it is not to be asked.
func (c *call) peerQuestion() *peerQuestion {
	all := c.svc.space.Cache()
	if !all.HasPeers() || c.joined.retryOf != nil || c.connection.trailers || c.req.Traits.Has(policy.HasRange|policy.HasIfMatch) {
		return nil
	}
	r := &c.x.Request
	if string(r.Fields.Get("Accept")) == "text/event-stream" {
		return nil // the answer does not end
	}
	p := &peerQuestion{path: pathHash(r.Host, r.Path), memory: c.wantsStored()}
	if c.svc.unasked.has(p.path, all.Now()) {
		return nil
	}
	return c.completed(p)
}

// formerQuestion returns the question to the former owner of the key, for a flight on behalf of
// another member; nil if it is not to be asked.
func (c *call) formerQuestion() *peerQuestion {
	if !c.svc.space.Cache().HasPeers() {
		return nil
	}
	return c.completed(&peerQuestion{memory: true, former: true})
}

// completed sets the key and the request of p. It returns nil if the answer has no owner, or the
// request is too long.
func (c *call) completed(p *peerQuestion) *peerQuestion {
	key, body := c.key, []byte(nil)
	if c.plan != nil {
		if c.plan.Peers == nil {
			return nil
		}
		key, body = c.plan.Peers.Key, c.plan.Body
	}
	x := c.x
	q := peerRequest{
		rules: c.set.rules, secure: x.Record.TLS, memory: p.memory, minor: byte(x.Request.Minor), client: x.Record.Client, id: x.Record.RequestID,
		method: x.Request.Method, host: x.Request.Host, target: target(&x.Request), body: body, age: time.Since(x.Now()),
	}
	p.key, p.request = slices.Clone(key), q.encode(policy.Unconditional(nil, x.Request.Fields))
	if p.request == nil {
		return nil
	}
	return p
}

// wantsStored reports whether the owner is asked for a stored answer only: the answer to a
// request with a cookie is often for its client alone.
func (c *call) wantsStored() bool { return c.plan == nil && c.req.Traits.Has(policy.HasCookie) }

// askPeer returns the answer of the owner of the key, or of its former owner. ok is false if the
// origin must be asked.
func (f *originFetch) askPeer(ctx context.Context, fl *flight.Flight) (a *flight.Answer, ok bool) {
	all, p := f.svc.space.Cache(), f.peer
	if p == nil || !fl.Stamp().Settled || all.Announcing() {
		return nil, false
	}
	asked, quiet := clock(), all.Age(fl.Stamp())
	ask := all.AskOwner
	if p.former {
		ask = all.AskFormerOwner
	}
	s, ok := ask(ctx, f.svc.name, p.key, p.request)
	if !ok {
		if !p.memory && all.Owner(p.key) != "" {
			f.svc.unasked.add(p.path, all.Now())
		}
		return nil, false
	}
	h, body, ok := parsePeerAnswer(s.Payload, asked, quiet)
	if !ok {
		return nil, false
	}
	return f.usePeerAnswer(fl, h, body, s.Kind == peerPrivate)
}

// parsePeerAnswer parses an answer to a question of the time asked. quiet is the time since this
// node has got the latest change of what the answer depends on.
func parsePeerAnswer(b []byte, asked policy.Moment, quiet time.Duration) (h *store.SharedHead, body []byte, ok bool) {
	behind, size := binary.Uvarint(b)
	if size <= 0 || behind > maxBehind || missed(time.Duration(behind), quiet) {
		return nil, nil, false
	}
	return store.ParseShared(b[size:], asked)
}

const (
	// maxBehind bounds the time that Peering.Attest returns.
	maxBehind = uint64(time.Hour)
	// never is the time for an owner that can't miss changes. Peering.Attest returns at least 1 ns.
	never = time.Duration(0)
)

// missed reports whether the owner may have missed a change that this node had got before it
// asked: quiet is the time since the last one, and the owner may be behind by that much. The
// clocks of two nodes differ in speed by less than a tenth, and an origin may announce a change
// to one node a moment later than to another one.
func missed(behind, quiet time.Duration) bool {
	const moment = 100 * time.Millisecond
	return behind != never && quiet <= behind+behind/10+moment
}

// usePeerAnswer makes a flight's answer of another member's answer. ok is false if the rules of
// this node do not allow it.
func (f *originFetch) usePeerAnswer(fl *flight.Flight, h *store.SharedHead, body []byte, private bool) (a *flight.Answer, ok bool) {
	fields := h.Fields.Clone() // so that they do not keep the body's memory
	in := origin.Whole(h.Status, fields, body)
	f.in, f.fwdStatus, f.fromPeer = in, h.Status, true
	a, ok = f.judgePeerAnswer(fl, h, in, private)
	switch {
	case !ok:
		f.fetchResult = fetchResult{stop: f.stop}
		return nil, false
	case private:
		a.Share, a.Keep = false, false
		f.fromPeer = false // for its client it is like the origin's
	case f.shared == nil && f.fill == nil:
		a.Body, a.Whole = nil, store.Gather([][]byte{body})
	}
	return a, true
}

// judgePeerAnswer makes a flight's answer by the rules of this node, which must share it unless
// it is private.
func (f *originFetch) judgePeerAnswer(fl *flight.Flight, h *store.SharedHead, in *origin.Inbound, private bool) (a *flight.Answer, ok bool) {
	fields := in.Header
	switch {
	case f.shared != nil:
		a, why, err := f.shared.Answer(in, &Received{Fields: fields, Request: f.client, Asked: h.Asked, Peer: true})
		f.why = why
		return a, err == nil && (private || a.Share)
	case f.fill != nil:
		f.keep = true
		a, err := f.admit(fl, in, fields, h.Asked)
		return a, err == nil && !private && a.Keep
	}
	a = f.answer(in, fields, h.Asked)
	if !private {
		a.Head.AddSharedTags(h)
	}
	return a, private || a.Share && a.Head.Response.TTL(clock()) > 0
}

// hashRules returns a hash of everything in the configuration on which answers depend and that
// may differ between nodes while they are reloaded.
func (s *settings) hashRules() uint64 {
	var origins []string
	for _, m := range s.cfg.Group.Members {
		origins = append(origins, m.URL)
	}
	slices.Sort(origins)
	f := &s.cfg.Forwarding
	return xxhash.Sum64String(fmt.Sprintf("%q %v %v %v %v %+v", origins, s.cfg.OriginHost, f.X, f.Standard, f.Trust, s.options))
}

// unaskedPaths are the paths for which the owners of keys had no answer lately, for example
// since their answers are long or take long. Each such question costs the origin a request more
// and the client a delay, so none is asked for a while. Paths that share a slot are confused.
type unaskedPaths struct {
	until [1 << 10]atomic.Int64 // on the cache's clock
	none  bool                  // owners are always asked, in tests
}

// unaskedTime is how long no owner is asked for a path.
const unaskedTime = 15 * time.Second

func (u *unaskedPaths) has(path uint64, now int64) bool {
	return now < u.until[path%uint64(len(u.until))].Load() && !u.none
}

func (u *unaskedPaths) add(path uint64, now int64) {
	u.until[path%uint64(len(u.until))].Store(now + int64(unaskedTime))
}

func pathHash(host, path []byte) uint64 {
	return xxhash.Sum64(host) ^ xxhash.Sum64(path)*31
}
