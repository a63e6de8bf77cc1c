package accel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

const unknownMember = "it has an unknown member; forwarded for the origin to check"

// explanation collects the steps.
type explanation struct {
	c    *call
	lags bool // the query reads an index that may lag behind its table
	admin.Explanation
}

func (e *explanation) step(what, value, note string) {
	e.Steps = append(e.Steps, admin.Step{What: what, Value: value, Note: note})
}

// decide adds the final step.
func (e *explanation) decide(d telemetry.Decision, note string) {
	e.Decision = d.String()
	e.step("decision", d.String(), note)
}

// Explain describes how a request would be served now. It sends nothing to the origin,
// verifies no signature and counts nothing.
func (s *Service) Explain(ctx context.Context, r admin.ExplainRequest) (admin.Explanation, error) {
	if len(r.Body) == 0 || !wire.Valid(r.Body, wire.MaxDepth) || wire.Kind(r.Body) != '{' {
		return admin.Explanation{}, fmt.Errorf("%w: body must be the JSON object of a DynamoDB request", admin.ErrInput)
	}
	target := headerOf(r.Headers, "X-Amz-Target")
	if target != "" && !strings.Contains(target, ".") {
		target = targetPrefix + target
	}
	op, known := wire.FindOperation([]byte(target))
	if !known {
		return admin.Explanation{}, fmt.Errorf("%w: header X-Amz-Target must name the operation, such as %sGetItem", admin.ErrInput, targetPrefix)
	}
	c := new(call)
	c.begin(s, edge.Detached(ctx, http1.Request{}, r.Body, time.Now()))
	c.op, c.principal, c.explainOnly = op, anonymous, true
	e := &explanation{c: c}
	e.step("operation", op.Name, "")
	if c.set.cfg.Namespaced {
		e.namespaced()
		return e.Explanation, nil
	}
	switch op.Kind {
	case wire.GetItem:
		e.getItem()
	case wire.BatchGetItem:
		e.batchGetItem()
	case wire.Query, wire.Scan:
		e.query()
	case wire.PutItem, wire.UpdateItem, wire.DeleteItem:
		e.writeItem()
	case wire.ExecuteStatement, wire.BatchExecuteStatement, wire.ExecuteTransaction:
		e.partiql()
	default:
		e.other()
	}
	return e.Explanation, nil
}

func headerOf(h map[string]string, name string) string {
	for k, v := range h {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// requireTable explains the table. It returns nil if it has ended the explanation of a read.
func (e *explanation) requireTable(quoted []byte) *table {
	t, why := e.table(quoted)
	if why == "" {
		return t
	}
	d := telemetry.BypassUncacheable
	if t == nil && len(e.c.name) > 0 {
		d = telemetry.Miss
	}
	e.decide(d, why)
	return nil
}

// table explains the table. If why isn't empty, it is the reason that the table can't be
// used.
func (e *explanation) table(quoted []byte) (t *table, why string) {
	if !e.c.setTable(quoted) {
		e.c.name = e.c.name[:0]
		return nil, "TableName is not a plain table name; forwarded for the origin to check"
	}
	t = e.c.svc.peek(e.c.name)
	switch {
	case t == nil:
		return nil, "the table's schema is not cached yet; its first request fetches it from the origin"
	case !t.known:
		return t, "the origin could not describe the table; its requests are forwarded"
	}
	e.step("table", t.name, fmt.Sprintf("key %s, %d indexes; item_ttl %s, query_ttl %s", t.keyNames(), len(t.indexes), t.itemTTL(), t.rule.query))
	return t, ""
}

// duplicateMember ends the explanation of a request with a duplicate member.
func (e *explanation) duplicateMember() {
	e.decide(telemetry.Local, "a member occurs twice: SerializationException")
}

func (e *explanation) getItem() {
	c := e.c
	known, ok := c.members(c.x.Body, getItemMembers)
	switch {
	case !ok:
		e.duplicateMember()
		return
	case !known:
		e.decide(telemetry.BypassUncacheable, unknownMember)
		return
	}
	t := e.requireTable(c.m[0])
	if t == nil {
		return
	}
	r, ok := c.parseReadOptions(c.m[2], c.m[3], c.m[4], c.m[5], c.m[6])
	if !ok || r.project && t.projectsIntoKey(&c.projection) {
		e.decide(telemetry.BypassUncacheable, "the projection or an option may be invalid; forwarded for the origin to check")
		return
	}
	if t.rule.item <= 0 {
		e.decide(telemetry.BypassUncacheable, "items of this table are not cached")
		return
	}
	var hashLen int
	c.key, hashLen, ok = t.appendKey(t.appendPrefix(c.key[:0], keyItem), c.m[1])
	if !ok {
		e.decide(telemetry.BypassUncacheable, "the key does not match the table's schema; forwarded for the origin to check")
		return
	}
	if r.project {
		e.step("projection", "evaluated here", "the entry holds the whole item")
	}
	if r.strong {
		e.decide(telemetry.BypassConsistent, "a strongly consistent read is forwarded to the origin and refreshes the entry")
		return
	}
	e.lookup(t, t.itemTags(itemKey{c.key[prefixLen:], hashLen}), "the item", "its partition, for purges", "the table", "the origin")
}

func (e *explanation) query() {
	c := e.c
	known, ok := c.members(c.x.Body, queryMembers)
	switch {
	case !ok:
		e.duplicateMember()
		return
	case !known:
		e.decide(telemetry.BypassUncacheable, unknownMember)
		return
	}
	t := e.requireTable(c.m[qTable])
	if t == nil {
		return
	}
	if strong, ok := isTrue(c.m[qConsistent]); strong || !ok {
		e.decide(telemetry.BypassConsistent, "a strongly consistent query is forwarded to the origin")
		return
	}
	v := view{t: t, scan: c.op.Kind == wire.Scan}
	if !c.parseView(&v) || !c.resolveTags(&v) {
		e.decide(telemetry.BypassUncacheable, "queries of this table are not cached, or the query may be invalid; forwarded for the origin to check")
		return
	}
	if v.ix != nil {
		e.lags = c.lags(&v)
		kind := "local"
		if v.global() {
			kind = "global"
		}
		e.step("index", v.ix.name, kind)
	}
	switch {
	case v.scan:
		e.lookup(t, v.tags, "writes to the table", "the table", "the origin")
	case v.global():
		e.lookup(t, v.tags, "the index's partition", "the index", "the table", "the origin")
	default:
		e.lookup(t, v.tags, "the partition", "the table", "the origin")
	}
}

const isolated = "this node is not in contact with its cluster, so that nothing stored may be served"

const canonical = "canonical: other spellings of the same request have the same key"

// tags adds the generations of tags, which are described by names.
func (e *explanation) tags(tags []cache.Tag, names ...string) {
	for i, g := range e.c.svc.cache.Generations(tags...) {
		e.step("tag", fmt.Sprintf("%016x", uint64(tags[i])), names[i]+": "+g)
	}
}

// lookup explains the cache entry under the call's key and the tags it depends on.
func (e *explanation) lookup(t *table, tags []cache.Tag, names ...string) {
	c := e.c
	e.step("key", t.keyText(c.key), canonical)
	st := c.svc.cache.Note(tags...)
	e.tags(tags, names...)
	if e.stream(t) {
		return
	}
	entry, found := c.svc.space.Peek(c.key, c.now)
	switch found {
	case cache.Fresh:
		e.step("entry", fmt.Sprintf("%d bytes", len(entry.Payload())), fmt.Sprintf("fresh for %s", entry.TTL(c.now).Round(time.Second)))
		d := telemetry.Hit
		if entry.Kind() == kindAbsent {
			d = telemetry.HitNegative
		}
		e.decide(d, "every tag has the generation that the entry was filled under")
		return
	case cache.Invalidated:
		e.step("entry", "invalidated", "one of its tags has been invalidated since it was filled")
	case cache.Expired, cache.Stale:
		e.step("entry", "expired", "its lifetime has passed")
	case cache.Unleased:
		e.step("entry", "not served", isolated)
	default:
		e.step("entry", "none", "never filled, or evicted")
	}
	switch {
	case found == cache.Unleased:
		e.step("fill", "strongly consistent, not kept", "other nodes may write without this one")
	case !st.Settled:
		e.step("fill", "not kept", "a write of one of the tags is in flight or in quarantine")
	case st.Strong && e.lags:
		e.step("fill", "not kept", "one of the tags was written recently, and a global index does not support strongly consistent reads")
	case st.Strong:
		e.step("fill", "strongly consistent", "one of the tags was written recently")
	case e.lags:
		e.step("fill", "as requested", fmt.Sprintf("kept for %s at most: the age of the index's last change", c.svc.cache.Age(&st).Round(time.Second)))
	default:
		e.step("fill", "as requested", "")
	}
	if owner := c.svc.cache.Owner(t.peerKey(c.key)); owner != "" && st.Settled {
		e.step("peer", owner, "owns the key, and is asked before the origin")
	}
	e.decide(missDecision(found, false), "fetched from the origin; concurrent requests share one fetch")
}
