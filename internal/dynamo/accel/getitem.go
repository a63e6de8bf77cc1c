package accel

import (
	"bytes"
	"context"
	"hash/crc32"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/scope"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Kinds of entries.
const (
	kindItem   = 1 // payload {"Item":{...}}
	kindAbsent = 2 // payload {}
	kindQuery  = 3 // payload the whole answer
	// Only for other nodes:
	kindFeed    = 5 // payload a feedAnswer
	kindRecords = 6 // payload the verdicts on a recordBatch
)

const (
	itemPrefix = `{"Item":`
	emptyReply = `{}`
)

var emptyCRC = crc32.ChecksumIEEE([]byte(emptyReply))

// itemOf returns the item in an entry, or nil if the item doesn't exist.
func itemOf(e *cache.Entry) []byte {
	if e.Kind() != kindItem {
		return nil
	}
	p := e.Payload()
	return p[len(itemPrefix) : len(p)-1]
}

var getItemMembers = []string{"TableName", "Key", "ConsistentRead", "ProjectionExpression",
	"ExpressionAttributeNames", "AttributesToGet", "ReturnConsumedCapacity"}

// read holds the options of a GetItem or of one part of a BatchGetItem.
type read struct {
	strong   bool
	project  bool // c.projection applies
	capacity byte // ReturnConsumedCapacity: 0, 't' or 'i'
}

// units returns the capacity consumed by reading an item of the given size.
func (r read) units(size int) float64 {
	if r.strong {
		return 2 * readUnits(size)
	}
	return readUnits(size)
}

// getItem serves a GetItem from the item cache. A request that isn't understood is forwarded
// for the origin to check.
func (c *call) getItem() {
	known, ok := c.members(c.x.Body, getItemMembers)
	if !ok {
		c.fail("SerializationException", "")
		return
	}
	named := c.setTable(c.m[0])
	if !c.authorize(wire.Read, tableOf(c.name)) {
		return
	}
	r, plain := c.parseReadOptions(c.m[2], c.m[3], c.m[4], c.m[5], c.m[6])
	t := c.namedTable(named)
	if c.lagging(t) || !known || !plain || !t.known || t.rule.item <= 0 || r.project && t.projectsIntoKey(&c.projection) {
		c.passItem(t)
		return
	}
	var hashLen int
	c.key, hashLen, ok = t.appendKey(t.appendPrefix(c.key[:0], keyItem), c.m[1])
	if !ok {
		c.passItem(t)
		return
	}
	if r.strong {
		c.recordKey(t)
		c.strongItem(t, hashLen, r)
		return
	}
	e, found, refresh := c.svc.space.Lookup(c.key, c.now)
	if found != cache.Fresh {
		c.recordKey(t)
		c.fillItem(t, hashLen, r, found)
		return
	}
	c.x.Record.KeyHash, c.x.Record.Key = t.keyHash(c.key), e.Key()
	if refresh {
		key := itemKey{bytes.Clone(c.key[prefixLen:]), hashLen}
		c.svc.space.Refresh(c.key, t.itemTags(key), c.svc.itemFill(t, bytes.Clone(c.m[1]), sender{}))
	}
	c.svc.verify.sample(t, e, c.now)
	d := telemetry.Hit
	if e.Kind() == kindAbsent {
		d = telemetry.HitNegative
	}
	c.countUse(e)
	c.renderItem(e, r)
	c.status(d, e, false)
}

// table returns the requested table. It only contacts the origin, within the exchange's
// deadline, if the table's description isn't cached or is stale.
func (c *call) table() *table {
	t := c.svc.peek(c.name)
	if t == nil || !c.explainOnly && c.now-t.checked.Load() > int64(t.freshFor()) {
		ctx, cancel := c.deadline()
		defer cancel()
		t = c.svc.table(ctx, c.name)
	}
	if t.tags.origin != c.set.tag {
		// The origin was reconfigured after the call began.
		return unknownTable(c.set, t.name)
	}
	return t
}

// tableOf returns the table name for permissions and tags: the table in an ARN, otherwise
// name itself. An ARN has the form arn:partition:dynamodb:region:account:table/name,
// optionally followed by a slash and a resource of the table. tableOf returns nil for any
// other ARN.
func tableOf(name []byte) []byte {
	if !bytes.HasPrefix(name, []byte("arn:")) {
		return name
	}
	rest, ok := name, true
	for range 5 {
		if _, rest, ok = bytes.Cut(rest, []byte(":")); !ok {
			return nil
		}
	}
	if rest, ok = bytes.CutPrefix(rest, []byte("table/")); !ok {
		return nil
	}
	table, _, _ := bytes.Cut(rest, []byte("/"))
	return table
}

// parseReadOptions parses the options that GetItem and BatchGetItem share. ok is false for
// options that DynamoDB might reject.
func (c *call) parseReadOptions(consistent, projection, names, attributes, capacity []byte) (r read, ok bool) {
	if r.strong, ok = isTrue(consistent); !ok {
		return r, false
	}
	if r.capacity, ok = capacityMode(capacity); !ok {
		return r, false
	}
	switch {
	case attributes != nil:
		r.project = true
		return r, projection == nil && names == nil && c.projection.FromAttributesToGet(attributes)
	case projection == nil:
		return r, names == nil
	}
	if wire.Kind(projection) != '"' {
		return r, false
	}
	if c.text, ok = wire.AppendExact(c.text[:0], projection); !ok {
		return r, false
	}
	if c.names.Reset(names) != nil {
		return r, false
	}
	r.project = true
	return r, c.projection.Parse(c.text, &c.names) && c.names.AllUsed()
}

// renderItem writes the reply for an entry: the cached bytes for a whole item, otherwise its
// projection.
func (c *call) renderItem(e *cache.Entry, r read) {
	if !r.project && r.capacity == 0 {
		c.answer(http.StatusOK, e.Payload(), e.Aux())
		return
	}
	item := itemOf(e)
	b := append(c.x.Reply.Buf[:0], '{')
	if item != nil {
		b = append(b, `"Item":`...)
		if !r.project {
			b = append(b, item...)
		} else {
			b, _ = c.projection.Append(b, item)
		}
	}
	if r.capacity != 0 {
		if item != nil {
			b = append(b, ',')
		}
		size, _ := wire.ItemSize(item)
		b = append(b, `"ConsumedCapacity":`...)
		b = appendCapacity(b, c.m[0], r.capacity, r.units(size))
	}
	b = append(b, '}')
	c.answerBuilt(http.StatusOK, b)
}

// fillItem fetches the item and serves the reply. Concurrent requests for it share one
// fetch.
func (c *call) fillItem(t *table, hashLen int, r read, found cache.Found) {
	key := itemKey{bytes.Clone(c.key[prefixLen:]), hashLen}
	a, d, ok := c.fill(t.itemTags(key), c.svc.sharedItemFill(t, c.key, bytes.Clone(c.m[1]), c.sender()), found)
	if ok {
		c.renderItem(a.Entry, r)
		c.status(d, a.Entry, a.Stored)
	}
}

// fill waits for the origin's response for the call's key. If the response can't be
// rendered, fill relays it to the client and returns false.
func (c *call) fill(tags []cache.Tag, fill cache.FillFunc, found cache.Found) (a cache.Answer, d telemetry.Decision, ok bool) {
	start := time.Now()
	a, err := c.joinFill(tags, fill)
	c.x.Record.Waited(start)
	d = missDecision(found, a.Coalesced)
	if err != nil {
		c.failFill(err, d)
		return a, d, false
	}
	if resp, refused := a.Extra.(*origin.Response); refused {
		c.relay(resp, d)
		return a, d, false
	}
	if a.Coalesced {
		c.countUse(a.Entry)
	}
	return a, d, true
}

// joinFill starts or joins the fill of the call's key. A fill that is started runs in this
// goroutine, which does not notice then that the client disconnects, unless the client has
// announced until when it waits: other clients that join the fill may wait longer.
func (c *call) joinFill(tags []cache.Tag, fill cache.FillFunc) (cache.Answer, error) {
	space := c.svc.space
	if _, limited := sdkDeadline(c.x.Request.Get("amz-sdk-request")); !limited {
		if work, until := c.x.WorkScope(), c.x.Deadline(); work != nil && !until.IsZero() {
			ctx := scope.WithDeadline(work, until, edge.ErrRequestTimeout)
			defer ctx.Cancel()
			return space.FillHere(ctx, c.key, tags, fill, c.deadline)
		}
	}
	ctx, cancel := c.deadline()
	defer cancel()
	return space.Fill(ctx, c.key, tags, fill)
}

// missDecision returns the decision for a lookup that wasn't a hit.
func missDecision(found cache.Found, coalesced bool) telemetry.Decision {
	switch {
	case coalesced:
		return telemetry.Coalesced
	case found == cache.Expired || found == cache.Stale:
		return telemetry.MissExpired
	case found == cache.Invalidated:
		return telemetry.MissInvalidated
	case found == cache.Unleased:
		return telemetry.MissIsolated
	}
	return telemetry.Miss
}

// itemFill fetches a whole item from the origin. keyJSON must not alias the call's buffers. from is
// the client that waits for it.
func (s *Service) itemFill(t *table, keyJSON []byte, from sender) cache.FillFunc {
	return func(ctx context.Context, st *cache.Stamp) (cache.Filling, error) {
		resp, err := s.sendOrigin(ctx, from, getItemTarget, getItemBody(t, keyJSON, st.Strong))
		if err != nil {
			return cache.Filling{}, err
		}
		if resp.Class != origin.Good {
			return cache.Filling{NoStore: true, Extra: resp}, nil
		}
		f, ok := s.itemFilling(t, resp.Body)
		if !ok {
			return cache.Filling{NoStore: true, Extra: resp}, nil
		}
		s.countFilled(t, getItemOperation, from, f.Cost)
		return f, nil
	}
}

func getItemBody(t *table, keyJSON []byte, strong bool) []byte {
	const others = len(`{"TableName":"","Key":,"ConsistentRead":true}`)
	b := append(make([]byte, 0, others+len(t.name)+len(keyJSON)), `{"TableName":`...)
	b = wire.AppendQuoted(b, []byte(t.name))
	b = append(append(b, `,"Key":`...), keyJSON...)
	if strong {
		b = append(b, `,"ConsistentRead":true`...)
	}
	return append(b, '}')
}

// itemFilling converts a GetItem response to an entry. It returns false if the response is
// invalid.
func (s *Service) itemFilling(t *table, body []byte) (f cache.Filling, ok bool) {
	item, ok := memberOf(body, "Item")
	switch {
	case !ok:
		return f, false
	case item == nil:
		return s.absentFilling(t), true
	}
	f = s.presentFilling(t, item, body)
	return f, wire.Kind(item) == '{'
}

// memberOf returns a member of a response, nil if it is absent or null. ok is false if the
// response isn't an object or has the member twice.
func memberOf(body []byte, name string) (value []byte, ok bool) {
	value, ok = attributeOf(body, name)
	if wire.Kind(value) == 'n' {
		value = nil
	}
	return value, ok
}

func (s *Service) absentFilling(t *table) cache.Filling {
	return cache.Filling{
		Payload: []byte(emptyReply), Kind: kindAbsent, Aux: emptyCRC,
		TTL: t.rule.negative, Refresh: s.refresh(t.rule.negative), Cost: s.costOf(nil),
	}
}

// presentFilling returns the entry of an item. Its payload may be answer, the origin's answer or nil,
// which usually has nothing else than the item.
func (s *Service) presentFilling(t *table, item, answer []byte) cache.Filling {
	ttl := t.itemTTL()
	if t.ttlAttribute != "" {
		left, expired := timeLeft(item, t.ttlAttribute, time.Now())
		if expired {
			return s.absentFilling(t)
		}
		ttl = min(ttl, left)
	}
	payload := answer
	if len(payload) != len(itemPrefix)+len(item)+1 || !bytes.HasPrefix(payload, []byte(itemPrefix)) {
		payload = make([]byte, 0, len(itemPrefix)+len(item)+1)
		payload = append(append(append(payload, itemPrefix...), item...), '}')
	}
	return cache.Filling{
		Payload: payload, Kind: kindItem, Aux: crc32.ChecksumIEEE(payload),
		TTL: ttl, Refresh: s.refresh(ttl), Cost: s.costOf(item),
	}
}

func (s *Service) refresh(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl) * s.settings.Load().cfg.RefreshAhead)
}

// maxExpiredAge is the age from which DynamoDB ignores a TTL attribute.
const maxExpiredAge = 5 * 365 * 24 * time.Hour

// timeLeft returns for how long an item may be served according to its TTL attribute.
func timeLeft(item []byte, attribute string, now time.Time) (left time.Duration, expired bool) {
	const always = time.Duration(1<<63 - 1)
	v, ok := wire.Lookup(item, attribute)
	if !ok {
		return always, false
	}
	typ, value, ok := wire.Attribute(v)
	if !ok || string(typ) != "N" {
		return always, false
	}
	var buf [64]byte
	text, ok := wire.AppendString(buf[:0], value)
	seconds, err := strconv.ParseFloat(string(text), 64)
	if !ok || err != nil || seconds > 1e10 || seconds < 0 {
		return always, false
	}
	whole, fraction := math.Modf(seconds)
	left = time.Unix(int64(whole), int64(fraction*1e9)).Sub(now)
	if left > 0 {
		return left, false
	}
	return 0, -left < maxExpiredAge
}

// strongItem forwards a strongly consistent read for the whole item and caches the result.
func (c *call) strongItem(t *table, hashLen int, r read) {
	key := itemKey{bytes.Clone(c.key[prefixLen:]), hashLen}
	from, st := c.sender(), c.svc.cache.Note(t.itemTags(key)...)
	ctx, cancel := c.deadline()
	defer cancel()
	start := time.Now()
	resp, err := c.svc.sendOrigin(ctx, from, getItemTarget, getItemBody(t, c.m[1], true))
	c.x.Record.Waited(start)
	if err != nil {
		c.failOrigin(err, telemetry.BypassConsistent)
		return
	}
	if resp.Class != origin.Good {
		c.relay(resp, telemetry.BypassConsistent)
		return
	}
	f, ok := c.svc.itemFilling(t, resp.Body)
	if !ok {
		c.relay(resp, telemetry.BypassConsistent)
		return
	}
	e, stored := c.svc.space.Store(st, c.key, &f)
	if stored {
		c.svc.countFilled(t, c.op, from, f.Cost)
	}
	c.renderItem(e, r)
	c.status(telemetry.BypassConsistent, e, stored)
}
