package accel

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// The members of Query and Scan. Those from qIndex on form the cache key, in this order.
const (
	qTable = iota
	qConsistent
	qNames
	qValues
	qIndex
	qKeyCondition
	qFilter
	qProjection
	qKeyConditions
	qQueryFilter
	qScanFilter
	qConditional
	qAttributes
	qSelect
	qLimit
	qForward
	qStart
	qSegment
	qSegments
	qCapacity
	qMembers
)

var queryMembers = []string{
	"TableName", "ConsistentRead", "ExpressionAttributeNames", "ExpressionAttributeValues",
	"IndexName", "KeyConditionExpression", "FilterExpression", "ProjectionExpression",
	"KeyConditions", "QueryFilter", "ScanFilter", "ConditionalOperator", "AttributesToGet",
	"Select", "Limit", "ScanIndexForward", "ExclusiveStartKey", "Segment", "TotalSegments",
	"ReturnConsumedCapacity",
}

// maxQueryKey limits the cache key of a query, because filters can be very long.
const maxQueryKey = 8 << 10

// maxExpression is DynamoDB's limit for the length of an expression.
const maxExpression = 4096

// view is the target of a query or scan.
type view struct {
	t        *table
	ix       *index // nil for the table itself
	tags     []cache.Tag
	scan     bool
	capacity byte
}

// global reports whether the view doesn't support strongly consistent reads.
func (v *view) global() bool { return v.ix != nil && v.ix.global }

// lags reports whether the view may lag behind its table. The indexes of a local store never
// do.
func (c *call) lags(v *view) bool { return v.global() && !c.set.cfg.Local }

// query serves a Query or a Scan from the query cache.
func (c *call) query() {
	known, ok := c.members(c.x.Body, queryMembers)
	if !ok {
		c.fail("SerializationException", "")
		return
	}
	named := c.setTable(c.m[qTable])
	if !c.authorize(wire.Read, tableOf(c.name)) {
		return
	}
	c.x.Record.Shape = c.shape()
	strong, ok := isTrue(c.m[qConsistent])
	if !ok {
		c.passRead(telemetry.BypassUncacheable)
		return
	}
	t := c.namedTable(named)
	v := view{t: t, scan: c.op.Kind == wire.Scan}
	switch {
	case strong:
		c.strongQuery(&v)
		return
	case !known:
		c.parseIndex(&v)
		c.passQuery(&v)
		return
	case c.lagging(t):
		c.parseIndex(&v)
		c.passQuery(&v)
		return
	case !t.known || !c.parseView(&v):
		c.passQuery(&v)
		return
	}
	e, found, refresh := c.svc.space.Lookup(c.key, c.now)
	if found == cache.Fresh {
		c.x.Record.KeyHash, c.x.Record.Key = t.keyHash(c.key), e.Key()
		if refresh && c.resolveTags(&v) {
			c.svc.space.Refresh(c.key, v.tags, c.queryFill(v, sender{}))
		}
		c.countUse(e)
		c.svc.verify.sample(t, e, c.now)
		c.answer(http.StatusOK, e.Payload(), e.Aux())
		c.status(telemetry.Hit, e, false)
		return
	}
	if !c.resolveTags(&v) {
		c.passQuery(&v)
		return
	}
	c.recordKey(t)
	c.fillQuery(&v, found)
}

// parseView parses the request and builds its cache key. It returns false if the request
// isn't served from the cache.
func (c *call) parseView(v *view) bool {
	var ok bool
	if v.capacity, ok = capacityMode(c.m[qCapacity]); !ok || v.t.rule.query <= 0 {
		return false
	}
	if !c.parseIndex(v) || v.ix != nil && !v.ix.active {
		return false
	}
	if c.names.Reset(c.m[qNames]) != nil || c.values.Reset(c.m[qValues]) != nil {
		return false
	}
	return c.queryKey(v) && c.names.AllUsed() && c.values.AllUsed()
}

// parseIndex sets the view's index. It returns false if the index is unknown.
func (c *call) parseIndex(v *view) (ok bool) {
	raw := c.m[qIndex]
	if raw == nil {
		return true
	}
	if c.text, ok = wire.AppendExact(c.text[:0], raw); ok {
		v.ix = v.t.index(c.text)
	}
	return v.ix != nil
}

// resolveTags sets the tags that the reply will depend on. A hit doesn't need them: the
// request that filled the entry was the same, and the origin accepted it.
func (c *call) resolveTags(v *view) (ok bool) {
	var hash []byte
	if !v.scan {
		if hash, ok = c.queryHash(v); !ok {
			return false
		}
	}
	v.tags = v.dependencyTags(hash)
	return true
}

// dependencyTags returns the tags of the view. A local index has the table's partitions.
func (v *view) dependencyTags(hash []byte) []cache.Tag {
	t := v.t
	switch {
	case v.scan:
		return []cache.Tag{t.tags.writes, t.tags.table, t.tags.origin}
	case v.global():
		return []cache.Tag{t.indexPartitionTag(v.ix, hash), t.indexTag(v.ix), t.tags.table, t.tags.origin}
	}
	return []cache.Tag{t.partitionTag(hash), t.tags.table, t.tags.origin}
}

// queryHash returns the value of the partition key in a query.
func (c *call) queryHash(v *view) (hash []byte, ok bool) {
	kc := &c.condition
	switch expression, legacy := c.m[qKeyCondition], c.m[qKeyConditions]; {
	case expression != nil && legacy == nil:
		if c.text, ok = wire.AppendExact(c.text[:0], expression); !ok {
			return nil, false
		}
		ok = expr.ParseKeyCondition(c.text, &c.names, &c.values, kc)
	case legacy != nil && expression == nil:
		ok = expr.LegacyKeyConditions(legacy, kc)
	default:
		return nil, false
	}
	if !ok {
		return nil, false
	}
	attributes := []attribute{v.t.hash}
	if v.ix != nil {
		attributes = v.ix.hash
	}
	for _, a := range attributes {
		value := equalTo(kc, a.name)
		if value == nil {
			return nil, false
		}
		if hash, ok = wire.AppendScalar(hash, value, a.typ); !ok {
			return nil, false
		}
	}
	return hash, true
}

func equalTo(kc *expr.KeyCondition, name string) []byte {
	for i := range kc.Terms {
		if k := &kc.Terms[i]; k.Op == expr.KeyEqual && string(k.Name) == name {
			return k.A
		}
	}
	return nil
}

// queryKey builds the cache key: every member that affects the reply, in canonical form and
// with placeholders substituted, so that requests that differ only in spelling share an
// entry.
func (c *call) queryKey(v *view) bool {
	kind := byte(keyQuery)
	if v.scan {
		kind = keyScan
	}
	c.key = v.t.appendPrefix(c.key[:0], kind)
	for i := qIndex; i < qMembers; i++ {
		raw := c.m[i]
		if raw == nil {
			continue
		}
		c.key = append(c.key, byte(i), 0, 0, 0, 0)
		mark := len(c.key)
		var ok bool
		switch i {
		case qKeyCondition, qFilter, qProjection:
			if wire.Kind(raw) != '"' {
				return false
			}
			if c.text, ok = wire.AppendExact(c.text[:0], raw); !ok {
				return false
			}
			c.key, ok = expr.AppendCanonical(c.key, c.text, &c.names, &c.values)
		default:
			c.key, ok = wire.AppendCanonical(c.key, raw)
		}
		if !ok || len(c.key) > maxQueryKey {
			return false
		}
		binary.BigEndian.PutUint32(c.key[mark-4:], uint32(len(c.key)-mark))
	}
	return true
}

// fillQuery fetches the query's result. Concurrent identical requests share one fetch.
func (c *call) fillQuery(v *view, found cache.Found) {
	a, d, ok := c.fill(v.tags, c.sharedQueryFill(v), found)
	if ok {
		c.answer(http.StatusOK, a.Entry.Payload(), a.Entry.Aux())
		c.status(d, a.Entry, a.Stored)
	}
}

// queryFill fetches a query or scan from the origin. If the view was written recently, the
// read is strongly consistent. A global index doesn't support that, so its response isn't
// cached. Later than settle, it is cached for the time between the last change and the
// fetch: if the index lags by more than settle, a response from before the change is served
// for at most twice that lag. from is the client that waits for it.
func (c *call) queryFill(v view, from sender) cache.FillFunc {
	s, op, body, target := c.svc, c.op, bytes.Clone(c.x.Body), targetPrefix+c.op.Name
	rule, lags := v.t.rule, c.lags(&v)
	return func(ctx context.Context, st *cache.Stamp) (cache.Filling, error) {
		q := originQuery{body: body, capacity: v.capacity, ttl: rule.query}
		start, age := s.cache.Now(), s.cache.Age(st)
		if v.t.ttlAttribute != "" {
			q.hideExpired(&v, time.Now())
		}
		if st.Strong && !v.global() {
			q.makeStrong()
		}
		resp, err := s.sendOrigin(ctx, from, target, q.body)
		if err != nil {
			return cache.Filling{}, err
		}
		if resp.Class != origin.Good {
			return cache.Filling{NoStore: true, Extra: resp}, nil
		}
		if count, ok := memberOf(resp.Body, "Count"); !ok || count == nil {
			return cache.Filling{NoStore: true, Extra: resp}, nil // not a response to a query
		}
		if lags {
			q.ttl = min(q.ttl, age-time.Duration(s.cache.Now()-start))
		}
		payload := q.restoreCapacity(resp.Body)
		f := cache.Filling{
			Payload: payload, Kind: kindQuery, Aux: crc32.ChecksumIEEE(payload),
			TTL: q.ttl, Refresh: s.refresh(q.ttl), NoStore: q.ttl <= 0 || st.Strong && lags, Cost: q.cost(resp),
		}
		if !f.NoStore {
			s.countFilled(v.t, op, from, f.Cost)
		}
		return f, nil
	}
}

// passQuery forwards a query that isn't served from the cache, with the same handling of
// recent writes and expired items.
func (c *call) passQuery(v *view) {
	t := v.t
	if c.partitionKey(v) {
		c.recordKey(t)
	}
	unknownIndex := c.m[qIndex] != nil && v.ix == nil
	capacity, plain := capacityMode(c.m[qCapacity])
	if unknownIndex || !plain || !t.rule.caches() {
		c.passRead(c.pass)
		return
	}
	q := originQuery{body: c.x.Body, capacity: capacity}
	if t.ttlAttribute != "" {
		q.hideExpired(v, time.Now())
	}
	if !v.global() && c.svc.cache.Note(t.itemReadTags(nil)...).Strong {
		q.makeStrong()
	}
	c.forwardQuery(&q, c.pass)
}

// strongQuery forwards a strongly consistent query, without expired items.
func (c *call) strongQuery(v *view) {
	q := originQuery{body: c.x.Body}
	if v.t.known && v.t.ttlAttribute != "" && c.parseIndex(v) {
		q.hideExpired(v, time.Now())
	}
	c.forwardQuery(&q, telemetry.BypassConsistent)
}

// forwardQuery forwards a query as modified by q and reverts the modification in the
// response.
func (c *call) forwardQuery(q *originQuery, d telemetry.Decision) {
	resp, err := c.forwardRead(q.body)
	switch {
	case err != nil:
		c.failOrigin(err, d)
	case resp.Class != origin.Good || !q.strong:
		c.relay(resp, d)
	default:
		c.relayChanged(resp, q.restoreCapacity(resp.Body), d)
	}
}

// originQuery is a query as sent to the origin, with the service's modifications.
type originQuery struct {
	body     []byte
	capacity byte
	strong   bool
	ttl      time.Duration // maximum lifetime of the result
}

// makeStrong makes the query strongly consistent.
func (q *originQuery) makeStrong() {
	if body, ok := wire.SetMember(nil, q.body, "ConsistentRead", []byte("true")); ok {
		q.body, q.strong = body, true
	}
}

// restoreCapacity returns the response with the capacity of the client's own query: a
// strongly consistent read consumes twice the capacity of an eventually consistent one.
func (q *originQuery) restoreCapacity(body []byte) []byte {
	if q.strong && q.capacity != 0 {
		if halved, ok := wire.HalveCapacity(nil, body); ok {
			return halved
		}
	}
	return body
}

// hideExpired excludes items whose TTL attribute has passed by adding a condition to the
// query's filter. The result is cached for at most one second, because the next item may
// expire at any time. Legacy queries without expressions can't have such a filter; they are
// forwarded unchanged and not cached.
func (q *originQuery) hideExpired(v *view, now time.Time) {
	q.ttl = min(q.ttl, time.Second)
	for _, legacy := range []string{"KeyConditions", "QueryFilter", "ScanFilter", "AttributesToGet", "ConditionalOperator"} {
		if v, ok := memberOf(q.body, legacy); !ok || v != nil {
			q.ttl = 0
			return
		}
	}
	if !v.scan && v.isKey(v.t.ttlAttribute) {
		q.ttl = 0 // a query's filter must not contain key attributes
		return
	}
	body, ok := withFilter(q.body, v.t.ttlAttribute, now)
	if !ok {
		q.ttl = 0
		return
	}
	q.body = body
}

func (v *view) isKey(name string) bool {
	if v.ix == nil {
		return v.t.hash.name == name || v.t.rng.name == name
	}
	named := func(a attribute) bool { return a.name == name }
	return slices.ContainsFunc(v.ix.hash, named) || slices.ContainsFunc(v.ix.rng, named)
}

// withFilter adds "has not expired" to the filter of a query.
func withFilter(body []byte, attribute string, now time.Time) ([]byte, bool) {
	const unexpired = `attribute_not_exists(#kasokuT) OR NOT attribute_type(#kasokuT, :kasokuN) OR #kasokuT > :kasokuNow OR #kasokuT < :kasokuOld`
	filter := unexpired
	if raw, _ := memberOf(body, "FilterExpression"); raw != nil {
		text, ok := wire.AppendExact(nil, raw)
		if !ok {
			return nil, false
		}
		filter = parenthesised(string(text)) + " AND (" + unexpired + ")"
	}
	if len(filter) > maxExpression {
		return nil, false
	}
	values := map[string]string{
		":kasokuN":   `{"S":"N"}`,
		":kasokuNow": `{"N":"` + number(now) + `"}`,
		":kasokuOld": `{"N":"` + number(now.Add(-maxExpiredAge)) + `"}`,
	}
	body, ok := withMember(body, "ExpressionAttributeNames", "#kasokuT", wire.AppendQuoted(nil, []byte(attribute)))
	for _, name := range []string{":kasokuN", ":kasokuNow", ":kasokuOld"} {
		if ok {
			body, ok = withMember(body, "ExpressionAttributeValues", name, []byte(values[name]))
		}
	}
	if !ok {
		return nil, false
	}
	return wire.SetMember(nil, body, "FilterExpression", wire.AppendQuoted(nil, []byte(filter)))
}

// parenthesised returns an expression in parentheses, unless it already is: DynamoDB rejects
// redundant ones. Expressions have no literals, so every parenthesis counts.
func parenthesised(text string) string {
	text = strings.TrimSpace(text)
	depth := 0
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(text)-1 {
			return "(" + text + ")"
		}
	}
	return text
}

func withMember(body []byte, object, name string, value []byte) ([]byte, bool) {
	inner, ok := memberOf(body, object)
	if !ok {
		return nil, false
	}
	if inner == nil {
		inner = []byte("{}")
	}
	inner, ok = wire.SetMember(nil, inner, name, value)
	if !ok {
		return nil, false
	}
	return wire.SetMember(nil, body, object, inner)
}

func number(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
