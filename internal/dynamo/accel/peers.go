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
	kind         byte      // keyItem, keyQuery, keyScan or keyBatch
	ttlAttribute string    // by which items expire; the owner's must be the same
	body         []byte    // GetItem, Query, Scan or BatchGetItem
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

// parsePeerRequest is the inverse of encode. It also checks that the body is JSON.
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
	return q, wire.Valid(q.body, wire.MaxDepth) && wire.Kind(q.body) == '{'
}

// peerKey returns the name of the answer under a cache key, which is the same on all nodes: the
// number of a table is not.
func (t *table) peerKey(key []byte) []byte {
	b := append(make([]byte, 0, len(key)+len(t.name)+1), key[0])
	b = append(append(b, t.name...), 0)
	return append(b, key[prefixLen:]...)
}

// askFirst returns a fill for a cache key of t that asks the owner first.
func (s *Service) askFirst(t *table, key, body []byte, use func(cache.Shared) (cache.Filling, bool), fill cache.FillFunc) cache.FillFunc {
	if !s.cache.HasPeers() {
		return fill
	}
	q := peerRequest{origin: t.tags.origin, kind: key[0], ttlAttribute: t.ttlAttribute, body: body}
	return s.cache.AskFirst(cache.Query{Service: s.name, Key: t.peerKey(key), Request: q.encode(), Use: use}, fill)
}

// sharedItemFill is itemFill for an item under a cache key, with the owner asked first.
func (s *Service) sharedItemFill(t *table, key, keyJSON []byte) cache.FillFunc {
	use := func(a cache.Shared) (cache.Filling, bool) {
		if a.Kind != kindItem && a.Kind != kindAbsent {
			return cache.Filling{}, false
		}
		return s.itemFilling(t, a.Payload)
	}
	return s.askFirst(t, key, getItemBody(t, keyJSON, false), use, s.itemFill(t, keyJSON))
}

// sharedQueryFill is queryFill with the owner asked first.
func (c *call) sharedQueryFill(v *view) cache.FillFunc {
	s, ttl := c.svc, v.t.rule.query
	use := func(a cache.Shared) (cache.Filling, bool) {
		return cache.Filling{
			Payload: a.Payload, Kind: kindQuery, Aux: crc32.ChecksumIEEE(a.Payload),
			TTL: ttl, Refresh: s.refresh(min(ttl, a.TTL)),
		}, a.Kind == kindQuery
	}
	return s.askFirst(v.t, c.key, c.x.Body, use, c.queryFill(*v))
}

// answerPeer answers a question of another node, from the cache or by a fill of its own. It
// returns false for everything that is not cached, and for errors of the origin.
func (s *Service) answerPeer(ctx context.Context, request []byte) (a cache.Shared, ok bool) {
	q, ok := parsePeerRequest(request)
	if !ok {
		return a, false
	}
	c := s.calls.Get().(*call)
	c.begin(s, edge.Detached(ctx, http1.Request{}, q.body, time.Now()))
	defer func() {
		if p := recover(); p != nil {
			s.metrics.faults.Inc()
			s.log.Error("a fault inside the accelerator", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			a, ok = cache.Shared{}, false
			return // a call that panicked is not reused
		}
		c.release()
		s.calls.Put(c)
	}()
	if c.set.tag != q.origin {
		return a, false
	}
	switch q.kind {
	case keyItem:
		return c.shareItem(ctx, &q)
	case keyQuery, keyScan:
		return c.shareQuery(ctx, &q)
	case keyBatch:
		return c.shareBatch(ctx, &q)
	}
	return a, false
}

// peerTable returns the table that a question names, or nil if it can't be answered.
func (c *call) peerTable(quoted []byte, q *peerRequest) *table {
	if !c.setTable(quoted) {
		return nil
	}
	if t := c.table(); t.known && t.ttlAttribute == q.ttlAttribute {
		return t
	}
	return nil
}

// shareItem answers a question for an item.
func (c *call) shareItem(ctx context.Context, q *peerRequest) (a cache.Shared, ok bool) {
	if known, ok := c.members(q.body, getItemMembers); !known || !ok {
		return a, false
	}
	t := c.peerTable(c.m[0], q)
	if t == nil || t.rule.item <= 0 {
		return a, false
	}
	var hashLen int
	if c.key, hashLen, ok = t.appendKey(t.appendPrefix(c.key[:0], keyItem), c.m[1]); !ok {
		return a, false
	}
	key := itemKey{c.key[prefixLen:], hashLen}
	return c.svc.space.Share(ctx, c.key, t.itemTags(key), c.svc.itemFill(t, bytes.Clone(c.m[1])))
}

// shareQuery answers a question for a query or a scan.
func (c *call) shareQuery(ctx context.Context, q *peerRequest) (a cache.Shared, ok bool) {
	name := "Query"
	if q.kind == keyScan {
		name = "Scan"
	}
	c.op, _ = wire.FindOperation([]byte(targetPrefix + name))
	if known, ok := c.members(q.body, queryMembers); !known || !ok {
		return a, false
	}
	if strong, plain := isTrue(c.m[qConsistent]); strong || !plain {
		return a, false
	}
	t := c.peerTable(c.m[qTable], q)
	if t == nil {
		return a, false
	}
	v := view{t: t, scan: q.kind == keyScan}
	if !c.parseView(&v) || !c.resolveTags(&v) {
		return a, false
	}
	return c.svc.space.Share(ctx, c.key, v.tags, c.queryFill(v))
}
