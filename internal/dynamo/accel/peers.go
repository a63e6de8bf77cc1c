package accel

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
)

// In a cluster, misses of items, queries and scans ask the owner of their key before the
// origin. The question is the client's request, together with everything of the configuration
// on which the answer depends and that may differ between nodes while they are reloaded.

// peerVersion is the first byte of a question.
const peerVersion = 1

// peerRequest is a question to the owner of a key.
type peerRequest struct {
	origin       cache.Tag // which must be the owner's
	kind         byte      // keyItem, keyQuery, keyScan, keyBatch, keyFeed or keyRecords
	ttlAttribute string    // by which items expire; the owner's must be the same
	body         []byte    // GetItem, Query, Scan or BatchGetItem; a feedQuestion; a recordBatch
	storedOnly   bool      // nothing may be asked of the origin; not encoded
}

// encode returns q as bytes: the version, the kind, eight bytes of the origin, the length of
// the TTL attribute's name, the name, the body.
func (q *peerRequest) encode() []byte {
	b := append(make([]byte, 0, 20+len(q.ttlAttribute)+len(q.body)), peerVersion, q.kind)
	b = binary.BigEndian.AppendUint64(b, uint64(q.origin))
	b = binary.AppendUvarint(b, uint64(len(q.ttlAttribute)))
	b = append(b, q.ttlAttribute...)
	return append(b, q.body...)
}

// parsePeerRequest is the inverse of encode. It also checks that the body is JSON, which it is except
// in a question about records.
func parsePeerRequest(b []byte) (q peerRequest, ok bool) {
	const head = 2 + 8
	if len(b) < head || b[0] != peerVersion {
		return q, false
	}
	q.kind, q.origin = b[1], cache.Tag(binary.BigEndian.Uint64(b[2:]))
	n, size := binary.Uvarint(b[head:])
	b = b[head+max(0, size):]
	if size <= 0 || n > uint64(len(b)) {
		return q, false
	}
	q.ttlAttribute, q.body = string(b[:n]), b[n:]
	return q, q.kind == keyRecords || wire.Valid(q.body, wire.MaxDepth) && wire.Kind(q.body) == '{'
}

// peerKey returns the name of the answer under a cache key, which is the same on all nodes: the
// number of a table is not.
func (t *table) peerKey(key []byte) []byte {
	b := append(make([]byte, 0, len(key)+len(t.name)+1), key[0])
	b = append(append(b, t.name...), 0)
	return append(b, key[prefixLen:]...)
}

// askFirst returns a fill for a cache key of t that asks the owner first.
func (s *Service) askFirst(t *table, key, body []byte, use useFunc, fill cache.FillFunc) cache.FillFunc {
	if !s.cache.HasPeers() {
		return fill
	}
	q := peerRequest{origin: t.tags.origin, kind: key[0], ttlAttribute: t.ttlAttribute, body: body}
	return s.cache.AskFirst(cache.Query{Service: s.name, Key: t.peerKey(key), Request: q.encode(), Use: use}, fill)
}

// useFunc is a Use function of a cache.Query.
type useFunc = func(cache.Shared) (cache.Filling, bool)

// useItem returns the function that stores another node's answer to a question for an item.
func (s *Service) useItem(t *table) useFunc {
	return func(a cache.Shared) (cache.Filling, bool) {
		if a.Kind != kindItem && a.Kind != kindAbsent {
			return cache.Filling{}, false
		}
		f, ok := s.itemFilling(t, a.Payload)
		f.Free = true
		return f, ok
	}
}

// useQuery is useItem for a query or a scan.
func (s *Service) useQuery(t *table) useFunc {
	ttl := t.rule.query
	return func(a cache.Shared) (cache.Filling, bool) {
		return cache.Filling{
			Payload: a.Payload, Kind: kindQuery, Aux: crc32.ChecksumIEEE(a.Payload),
			TTL: ttl, Refresh: s.refresh(min(ttl, a.TTL)), Cost: s.costOfPage(a.Payload), Free: true,
		}, a.Kind == kindQuery
	}
}

// sharedItemFill is itemFill for an item under a cache key, with the owner asked first.
func (s *Service) sharedItemFill(t *table, key, keyJSON []byte, from sender) cache.FillFunc {
	fill := s.itemFill(t, keyJSON, from)
	if !s.cache.HasPeers() {
		return fill
	}
	return s.askFirst(t, key, getItemBody(t, keyJSON, false), s.useItem(t), fill)
}

// sharedQueryFill is queryFill with the owner asked first.
func (c *call) sharedQueryFill(v *view) cache.FillFunc {
	return c.svc.askFirst(v.t, c.key, c.x.Body, c.svc.useQuery(v.t), c.queryFill(*v, c.sender()))
}

// answerPeer answers a question of another node, from the cache or by a fill of its own. It
// returns false for everything that is not cached, and for errors of the origin.
func (s *Service) answerPeer(ctx context.Context, request []byte) (a cache.Shared, ok bool) {
	s.peerCall(ctx, request, func(c *call, q *peerRequest) {
		if q.kind == keyBatch {
			a, ok = c.shareBatch(ctx, q)
		} else if q.kind == keyFeed {
			a, ok = s.answerFeed(ctx, q.body)
		} else if q.kind == keyRecords {
			a, ok = s.answerRecords(q.body)
		} else if v := c.peerView(q); v != nil {
			fill := s.cache.AskStored(v.question(request), v.fill())
			a, ok = s.space.Share(ctx, c.key, v.tags, fill)
		}
	})
	return a, ok
}

// peerCall parses a question of another node and calls f with it. It does not call f for a question
// that this node would not send, or that is about another origin.
func (s *Service) peerCall(ctx context.Context, request []byte, f func(c *call, q *peerRequest)) {
	q, ok := parsePeerRequest(request)
	if !ok {
		return
	}
	c := s.calls.Get().(*call)
	c.begin(s, edge.Detached(ctx, http1.Request{}, q.body, time.Now()))
	defer func() {
		if p := recover(); p != nil {
			s.metrics.faults.Inc()
			s.log.Error("a fault inside the accelerator", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			return // a call that panicked is not reused
		}
		c.release()
		s.calls.Put(c)
	}()
	if c.set.tag == q.origin {
		f(c, &q)
	}
}

// peerView is what a question of another node asks for. The call has its key.
type peerView struct {
	*call
	view
	use  useFunc
	fill func() cache.FillFunc // from the origin
}

// question returns the question for other nodes. It keeps request.
func (v *peerView) question(request []byte) cache.Query {
	return cache.Query{Service: v.svc.name, Key: v.t.peerKey(v.key), Request: request, Use: v.use}
}

// peerView parses a question. It returns nil for a question that can't be answered.
func (c *call) peerView(q *peerRequest) *peerView {
	switch q.kind {
	case keyItem:
		return c.peerItem(q)
	case keyQuery, keyScan:
		return c.peerQuery(q)
	}
	return nil
}

// peerTable returns the table that a question names, or nil if it can't be answered.
func (c *call) peerTable(quoted []byte, q *peerRequest) *table {
	if !c.setTable(quoted) {
		return nil
	}
	var t *table
	if !q.storedOnly {
		t = c.table()
	} else if t = c.svc.peek(c.name); t == nil || t.tags.origin != c.set.tag {
		return nil
	}
	if t.known && t.ttlAttribute == q.ttlAttribute {
		return t
	}
	return nil
}

// peerItem parses a question for an item.
func (c *call) peerItem(q *peerRequest) *peerView {
	if known, ok := c.members(q.body, getItemMembers); !known || !ok {
		return nil
	}
	t := c.peerTable(c.m[0], q)
	if t == nil || t.rule.item <= 0 {
		return nil
	}
	var hashLen int
	var ok bool
	if c.key, hashLen, ok = t.appendKey(t.appendPrefix(c.key[:0], keyItem), c.m[1]); !ok {
		return nil
	}
	return &peerView{
		call: c, view: view{t: t, tags: t.itemTags(itemKey{c.key[prefixLen:], hashLen})},
		use:  c.svc.useItem(t),
		fill: func() cache.FillFunc { return c.svc.itemFill(t, bytes.Clone(c.m[1]), sender{}) },
	}
}

// peerQuery parses a question for a query or a scan.
func (c *call) peerQuery(q *peerRequest) *peerView {
	name := "Query"
	if q.kind == keyScan {
		name = "Scan"
	}
	c.op, _ = wire.FindOperation([]byte(targetPrefix + name))
	if known, ok := c.members(q.body, queryMembers); !known || !ok {
		return nil
	}
	if strong, plain := isTrue(c.m[qConsistent]); strong || !plain {
		return nil
	}
	t := c.peerTable(c.m[qTable], q)
	if t == nil {
		return nil
	}
	v := view{t: t, scan: q.kind == keyScan}
	if !c.parseView(&v) || !c.resolveTags(&v) {
		return nil
	}
	return &peerView{call: c, view: v, use: c.svc.useQuery(t), fill: func() cache.FillFunc { return c.queryFill(v, sender{}) }}
}
