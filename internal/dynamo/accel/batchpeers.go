package accel

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
)

// In a cluster, a BatchGetItem asks the owners of the keys that are not in memory, all at the
// same time and each with one question for all its keys. The rest is requested of the origin.

// keyBatch is the kind of a question for several items. No cache key has it.
const keyBatch = 'b'

// kindBatch is the kind of its answer, and of no entry.
const kindBatch = 4

// maxBatchQuestion limits the keys of one question. The difference is for names of tables and
// of attributes.
const maxBatchQuestion = cache.MaxPeerRequest - 4<<10

// batchQuestion is a question to one owner.
type batchQuestion struct {
	owner string
	key   []byte // peerKey of one of its keys
	peerRequest
	part *batchPart // of the last key
	keys []askedKey

	answer cache.Shared
	took   time.Duration
	ok     bool
}

// askedKey is a key of a question.
type askedKey struct {
	part *batchPart
	key  *batchKey
}

// askOwners asks the owners of the missing keys and stores their answers. Keys of strongly
// consistent reads and of writes in flight are left to the origin.
func (c *call) askOwners(ctx context.Context) {
	if !c.svc.cache.HasPeers() {
		return
	}
	questions := c.batchQuestions()
	if len(questions) == 0 {
		return
	}
	var others sync.WaitGroup
	for _, q := range questions[1:] {
		others.Go(func() { q.ask(ctx, c.svc) })
	}
	questions[0].ask(ctx, c.svc)
	others.Wait()
	for _, q := range questions {
		c.takeAnswer(q)
	}
}

// batchQuestions notes the generations of the missing keys, and returns the questions for
// them. An owner gets several questions if the keys are too long for one, or if their tables
// have different TTL attributes.
func (c *call) batchQuestions() (questions []*batchQuestion) {
	b := &c.batch
	for i := range b.parts {
		p := &b.parts[i]
		if p.read.strong {
			continue
		}
		for j := p.first; j < p.end; j++ {
			k := &b.keys[j]
			if k.entry != nil {
				continue
			}
			k.stamp = c.svc.cache.Note(p.t.itemTags(b.itemKey(k))...)
			if !k.stamp.Settled {
				continue
			}
			key := p.t.peerKey(b.cacheKey(k))
			owner := c.svc.cache.Owner(key)
			if owner == "" {
				continue
			}
			q := questionFor(questions, owner, p, k)
			if q == nil {
				q = &batchQuestion{owner: owner, key: key}
				q.kind, q.origin, q.ttlAttribute = keyBatch, p.t.tags.origin, p.t.ttlAttribute
				questions = append(questions, q)
			}
			q.add(p, k)
		}
	}
	return questions
}

// questionFor returns the question to which a key can be added, or nil.
func questionFor(questions []*batchQuestion, owner string, p *batchPart, k *batchKey) *batchQuestion {
	for _, q := range questions {
		if q.owner == owner && q.ttlAttribute == p.t.ttlAttribute && len(q.body)+len(k.json) <= maxBatchQuestion {
			return q
		}
	}
	return nil
}

// add appends a key to the body of the question, which ask completes.
func (q *batchQuestion) add(p *batchPart, k *batchKey) {
	switch {
	case q.part == p:
		q.body = append(q.body, ',')
	case q.part == nil:
		q.body = append(q.body, `{"RequestItems":{`...)
	default:
		q.body = append(q.body, `]},`...)
	}
	if q.part != p {
		q.body = append(wire.AppendQuoted(q.body, []byte(p.t.name)), `:{"Keys":[`...)
		q.part = p
	}
	q.body = append(q.body, k.json...)
	q.keys = append(q.keys, askedKey{p, k})
}

func (q *batchQuestion) ask(ctx context.Context, s *Service) {
	q.body = append(q.body, `]}}}`...)
	start := s.cache.Now()
	q.answer, q.ok = s.cache.AskOwner(ctx, s.name, q.key, q.encode())
	q.took = time.Duration(s.cache.Now() - start)
}

// takeAnswer stores what the owner has answered. Keys without an answer remain missing.
func (c *call) takeAnswer(q *batchQuestion) {
	if !q.ok || q.answer.Kind != kindBatch {
		return
	}
	rest := q.answer.Payload
	for _, asked := range q.keys {
		a, after, ok := cutAnswer(rest)
		if !ok {
			return
		}
		rest = after
		if a.TTL -= q.took; a.TTL <= 0 || a.Kind != kindItem && a.Kind != kindAbsent {
			continue
		}
		f, ok := c.svc.itemFilling(asked.part.t, a.Payload)
		f.Free = true
		if f.TTL = min(f.TTL, a.TTL); ok && f.TTL > 0 {
			c.storeKey(asked.key, &f)
		}
	}
}

// appendAnswer appends the answer for one key: the kind of the entry, its time to live, the
// length of the payload, the payload. An absent answer is one zero byte.
func appendAnswer(dst []byte, e *cache.Entry, now int64) []byte {
	if e == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(append(dst, e.Kind()), uint64(max(0, e.TTL(now))))
	dst = binary.AppendUvarint(dst, uint64(len(e.Payload())))
	return append(dst, e.Payload()...)
}

// maxAnswerHead is the maximum length of an answer without its payload.
const maxAnswerHead = 1 + 2*binary.MaxVarintLen64

// cutAnswer is the inverse of appendAnswer. The result refers to b.
func cutAnswer(b []byte) (a cache.Shared, rest []byte, ok bool) {
	if len(b) == 0 {
		return a, nil, false
	}
	if a.Kind, b = b[0], b[1:]; a.Kind == 0 {
		return a, b, true
	}
	ttl, n := binary.Uvarint(b)
	if n <= 0 {
		return a, nil, false
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 || size > uint64(len(b)-n-m) {
		return a, nil, false
	}
	a.TTL = time.Duration(ttl)
	b = b[n+m:]
	a.Payload = b[:size]
	return a, b[size:], true
}

// shareBatch answers a question for several items. The ones that are not in memory are
// requested of the origin at once, except those that others are requesting already. Items
// that can't be stored, or for which there is no room in the answer, are left out.
func (c *call) shareBatch(ctx context.Context, q *peerRequest) (a cache.Shared, ok bool) {
	known, ok := c.members(q.body, batchGetMembers)
	if !known || !ok || wire.Kind(c.m[0]) != '{' || !c.parseBatch(c.m[0], nil) {
		return a, false
	}
	b := &c.batch
	for i := range b.parts {
		if p := &b.parts[i]; p.t.ttlAttribute != q.ttlAttribute || p.read != (read{}) {
			return a, false
		}
	}
	b.group = c.svc.space.NewGroup()
	defer b.group.End()
	a.Kind, a.Hit = kindBatch, c.joinBatch()
	if b.fetchesAny() {
		c.fetchGroup()
	}
	b.group.End()
	a.Payload, ok = c.batchAnswer(ctx)
	return a, ok
}

// joinBatch looks up the keys, and joins or begins a fill for each one that is missing. It
// reports whether all are in memory.
func (c *call) joinBatch() (all bool) {
	b, now := &c.batch, c.svc.cache.Now()
	all = true
	for i := range b.parts {
		p := &b.parts[i]
		for j := p.first; j < p.end; j++ {
			k := &b.keys[j]
			if e, found := c.svc.space.Peek(b.cacheKey(k), now); found == cache.Fresh {
				k.entry, k.stored = e, true
				continue
			}
			all = false
			key := itemKey{b.bytes[k.from+prefixLen : k.to], k.hashLen}
			k.fill, _ = b.group.Join(b.cacheKey(k), p.t.itemTags(key))
		}
	}
	return all
}

// fetchGroup fetches the items that the group fills.
func (c *call) fetchGroup() {
	ctx, cancel := c.batch.group.Context()
	defer cancel()
	if resp, err := c.fetchBatch(ctx); err == nil && resp.Class == origin.Good {
		c.storeBatch(resp.Body)
	}
}

// batchAnswer returns the answers for all keys, in their order. ok is false if there are none.
func (c *call) batchAnswer(ctx context.Context) (payload []byte, ok bool) {
	b := &c.batch
	room := cache.MaxShared - len(b.keys)*maxAnswerHead
	size := 0
	for i := range b.keys {
		k := &b.keys[i]
		if k.entry == nil {
			k.entry, k.stored = b.group.Wait(ctx, k.fill)
		}
		if !k.stored {
			k.entry = nil
			continue
		}
		if n := len(k.entry.Payload()); size+n <= room {
			size += n
			ok = true
		} else {
			k.entry = nil
		}
	}
	if !ok {
		return nil, false
	}
	now := c.svc.cache.Now()
	payload = make([]byte, 0, size+len(b.keys)*maxAnswerHead)
	for i := range b.keys {
		payload = appendAnswer(payload, b.keys[i].entry, now)
	}
	return payload, true
}
