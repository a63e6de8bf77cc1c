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
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// The kinds of entries.
const (
	kindItem   = 1 // payload {"Item":{...}}
	kindAbsent = 2 // payload {}
	kindQuery  = 3 // payload the whole answer
)

const (
	itemPrefix = `{"Item":`
	emptyReply = `{}`
)

var emptyCRC = crc32.ChecksumIEEE([]byte(emptyReply))

// itemOf returns the item's text in an entry; nil when it is absent.
func itemOf(e *cache.Entry) []byte {
	if e.Kind() != kindItem {
		return nil
	}
	p := e.Payload()
	return p[len(itemPrefix) : len(p)-1]
}

var getItemMembers = []string{"TableName", "Key", "ConsistentRead", "ProjectionExpression",
	"ExpressionAttributeNames", "AttributesToGet", "ReturnConsumedCapacity"}

// read is what a GetItem, or a table's part of a BatchGetItem, asks for beside
// the key.
type read struct {
	strong   bool
	project  bool // c.projection applies
	capacity byte // ReturnConsumedCapacity: 0, 't' or 'i'
}

// units is what the read costs for an item of so many bytes.
func (r read) units(size int) float64 {
	if r.strong {
		return 2 * readUnits(size)
	}
	return readUnits(size)
}

// getItem answers from the item cache. Whatever is odd about the request is left
// to the origin to judge.
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
	if !known || !plain || !t.known || t.rule.item <= 0 || r.project && t.projectsIntoKey(&c.projection) {
		c.passItem(t)
		return
	}
	var hashLen int
	c.key, hashLen, ok = t.appendKey(t.appendPrefix(c.key[:0], keyItem), c.m[1])
	if !ok {
		c.passItem(t)
		return
	}
	c.x.Record.KeyHash = uint64(cache.TagOf(c.key))
	if r.strong {
		c.strongItem(t, hashLen, r)
		return
	}
	e, found, refresh := c.svc.space.Lookup(c.key, c.now)
	if found != cache.Fresh {
		c.fillItem(t, hashLen, r, found)
		return
	}
	if refresh {
		key := itemKey{bytes.Clone(c.key[prefixLen:]), hashLen}
		c.svc.space.Refresh(c.key, t.itemTags(key), c.svc.itemFill(t, bytes.Clone(c.m[1])))
	}
	d := telemetry.Hit
	if e.Kind() == kindAbsent {
		d = telemetry.HitNegative
	}
	c.renderItem(e, r)
	c.status(d, e, false)
}

// table returns the table that the request names. Only what is not known of it,
// or not any more, needs the origin and with it the exchange's context.
func (c *call) table() *table {
	t := c.svc.peek(c.name)
	if t == nil || !c.explainOnly && c.now-t.checked.Load() > int64(t.freshFor()) {
		ctx, cancel := c.deadline()
		defer cancel()
		t = c.svc.table(ctx, c.name)
	}
	if t.tags.origin != c.set.tag {
		// The service has got another origin since the call began.
		return unknownTable(c.set, t.name)
	}
	return t
}

// tableOf is the name for permissions and tags: an ARN's table, else the name. An
// ARN is arn:partition:dynamodb:region:account:table/name and what belongs to the
// table behind a further slash; of anything else that begins like one it is nil.
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

// parseReadOptions reads the members that GetItem and BatchGetItem share; ok is false
// for what DynamoDB might refuse.
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

// renderItem writes the answer for an entry: the kept bytes if the whole item was
// asked for, else what the projection leaves of it.
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

// fillItem asks the origin for the item, once for all who want it now, and
// answers from what comes.
func (c *call) fillItem(t *table, hashLen int, r read, found cache.Found) {
	key := itemKey{bytes.Clone(c.key[prefixLen:]), hashLen}
	a, d, ok := c.fill(t.itemTags(key), c.svc.itemFill(t, bytes.Clone(c.m[1])), found)
	if ok {
		c.renderItem(a.Entry, r)
		c.status(d, a.Entry, a.Stored)
	}
}

// fill waits for the origin's answer under the call's key. If that is not one to
// render, it has been given to the client and ok is false.
func (c *call) fill(tags []cache.Tag, fill cache.FillFunc, found cache.Found) (a cache.Answer, d telemetry.Decision, ok bool) {
	ctx, cancel := c.deadline()
	defer cancel()
	begun := time.Now()
	a, err := c.svc.space.Fill(ctx, c.key, tags, fill)
	c.x.Record.Origin += time.Since(begun)
	d = missDecision(found, a.Coalesced)
	if err != nil {
		c.failFill(err, d)
		return a, d, false
	}
	if resp, refused := a.Extra.(*origin.Response); refused {
		c.relay(resp, d)
		return a, d, false
	}
	return a, d, true
}

// missDecision names the decision of a look-up that did not serve.
func missDecision(found cache.Found, coalesced bool) telemetry.Decision {
	switch {
	case coalesced:
		return telemetry.Coalesced
	case found == cache.Expired || found == cache.Stale:
		return telemetry.MissExpired
	case found == cache.Invalidated:
		return telemetry.MissInvalidated
	}
	return telemetry.Miss
}

// itemFill reads a whole item at the origin. keyJSON must be memory of its own.
func (s *Service) itemFill(t *table, keyJSON []byte) cache.FillFunc {
	return func(ctx context.Context, st *cache.Stamp) (cache.Filling, error) {
		resp, err := s.sendOrigin(ctx, targetPrefix+"GetItem", getItemBody(t, keyJSON, st.Strong), true)
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
		return f, nil
	}
}

func getItemBody(t *table, keyJSON []byte, strong bool) []byte {
	b := append([]byte(nil), `{"TableName":`...)
	b = wire.AppendQuoted(b, []byte(t.name))
	b = append(append(b, `,"Key":`...), keyJSON...)
	if strong {
		b = append(b, `,"ConsistentRead":true`...)
	}
	return append(b, '}')
}

// itemFilling turns a GetItem answer of the origin into what is kept; false if it
// is none.
func (s *Service) itemFilling(t *table, body []byte) (f cache.Filling, ok bool) {
	item, ok := memberOf(body, "Item")
	switch {
	case !ok:
		return f, false
	case item == nil:
		return s.absentFilling(t), true
	}
	return s.presentFilling(t, item), wire.Kind(item) == '{'
}

// memberOf finds a member of an answer: nil if it is not there or null. ok is false
// if the answer is no object or has the member twice.
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
		TTL: t.rule.negative, Refresh: s.refresh(t.rule.negative),
	}
}

func (s *Service) presentFilling(t *table, item []byte) cache.Filling {
	ttl := t.rule.item
	if t.ttlAttribute != "" {
		left, expired := timeLeft(item, t.ttlAttribute, time.Now())
		if expired {
			return s.absentFilling(t)
		}
		ttl = min(ttl, left)
	}
	payload := make([]byte, 0, len(itemPrefix)+len(item)+1)
	payload = append(append(append(payload, itemPrefix...), item...), '}')
	return cache.Filling{
		Payload: payload, Kind: kindItem, Aux: crc32.ChecksumIEEE(payload),
		TTL: ttl, Refresh: s.refresh(ttl),
	}
}

func (s *Service) refresh(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl) * s.settings.Load().cfg.RefreshAhead)
}

// maxExpiredAge is the age from which DynamoDB no longer takes a TTL attribute
// for one.
const maxExpiredAge = 5 * 365 * 24 * time.Hour

// timeLeft tells how long an item may still be served by its TTL attribute.
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

// strongItem passes a strongly consistent read through, for the whole item, and
// keeps what comes: it is as new as anything can be.
func (c *call) strongItem(t *table, hashLen int, r read) {
	key := itemKey{bytes.Clone(c.key[prefixLen:]), hashLen}
	st := c.svc.cache.Note(t.itemTags(key)...)
	ctx, cancel := c.deadline()
	defer cancel()
	begun := time.Now()
	resp, err := c.svc.sendOrigin(ctx, targetPrefix+"GetItem", getItemBody(t, c.m[1], true), true)
	c.x.Record.Origin += time.Since(begun)
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
	c.renderItem(e, r)
	c.status(telemetry.BypassConsistent, e, stored)
}
