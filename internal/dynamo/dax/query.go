package dax

import (
	"bytes"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/dax/key"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

var (
	headQuery = requestHead("Query")
	headScan  = requestHead("Scan")

	queryOperation = findOperation("Query")
	scanOperation  = findOperation("Scan")

	listOptions  = optionSet(optProjection, optConsistent, optCapacity, optStart, optFilter, optIndex, optLimit, optSelect)
	queryOptions = listOptions | optionSet(optForward)
	scanOptions  = listOptions | optionSet(optSegment, optSegments)
)

// query returns the items of a partition that match a key condition.
func (k *call) query() {
	table, ok := k.table(wire.Read)
	if !ok || k.servePageAgain(queryOperation, table) {
		return
	}
	body := appendTable(k.scratch.body[:0], table)
	if !k.args.Null() {
		container := k.args.Bytes()
		var err error
		body, err = appendExpression(body, "KeyConditionExpression", func(dst []byte) ([]byte, error) { return k.scratch.words.Condition(dst, container, 'k') })
		if err != nil {
			k.failRequest(err)
			return
		}
	}
	k.servePage(&headQuery, queryOperation, table, body, queryOptions)
}

// servePageAgain serves a page from the cache whose request has been served before, in the form that
// is attached to it. It returns false, without any effect, if that isn't possible.
func (k *call) servePageAgain(op *wire.Operation, table []byte) bool {
	k.scratch.page = pageVersion{op, bytes.HasPrefix(k.agent, goAgent), k.args.Rest()}
	key := k.srv.pageKeys.find(&k.scratch.page)
	if key == nil {
		return false
	}
	h, ok := k.client.PageAgain(op, table, key, k.now)
	if ok {
		k.line.KeyHash, k.line.Key, k.line.Decision = h.KeyHash, h.RecordKey(), telemetry.Hit
		h.CountUse(&k.line)
		k.cached = h.Form()
	}
	return ok
}

func (k *call) scanItems() {
	if table, ok := k.table(wire.Read); ok && !k.servePageAgain(scanOperation, table) {
		k.servePage(&headScan, scanOperation, table, appendTable(k.scratch.body[:0], table), scanOptions)
	}
}

// servePage serves a query or a scan, whose request is complete except for the options: one
// page of items.
func (k *call) servePage(head *http1.Request, op *wire.Operation, table, body []byte, wanted uint32) {
	w, o := &k.scratch, &k.scratch.options
	o.parse(&k.args, wanted)
	body = o.appendCondition(body, &k.args, optFilter, "FilterExpression", &w.words, 'f')
	body, paths := k.appendProjection(body)
	index, indexed := o.bytes(&k.args, optIndex)
	if indexed {
		body = wire.AppendQuoted(append(body, `,"IndexName":`...), index)
	}
	body = k.appendStart(body, indexed)
	body = k.appendPaging(body)
	body = appendPlaceholders(body, &k.args, &w.words)
	consistent := o.flag(&k.args, optConsistent)
	if consistent {
		body = append(body, `,"ConsistentRead":true`...)
	}
	body = appendMember(body, "ReturnConsumedCapacity", o.enum(&k.args, optCapacity, capacities))
	w.body = append(body, '}')
	if err := k.args.Close(); err != nil {
		k.failRequest(err)
		return
	}
	p := page{table, paths, indexed}
	if !consistent && k.serveCachedPage(op, &p) {
		return
	}
	k.request(head, w.body, func(answer []byte) error { return k.pageReply(answer, &p) })
}

// page describes the requested page, as far as the reply depends on it.
type page struct {
	table   []byte
	paths   []item.Path // nil: whole items
	indexed bool        // an index is read
}

// serveCachedPage serves a page from the cache: in the form attached to it if there is one,
// otherwise translated. A translation is attached for later hits. It returns false, without
// any effect, if the page isn't cached.
func (k *call) serveCachedPage(op *wire.Operation, p *page) bool {
	h, ok := k.client.Page(op, p.table, k.scratch.body, k.now)
	if !ok {
		return false
	}
	k.line.KeyHash, k.line.Key, k.line.Decision = h.KeyHash, h.RecordKey(), telemetry.Hit
	h.CountUse(&k.line)
	if form := h.Form(); form != nil {
		k.srv.pageKeys.add(&k.scratch.page, &h, k.scratch.body)
		k.cached = form
		return true
	}
	if err := k.pageReply(h.Answer(), p); err != nil {
		k.failResponse(err)
	} else if k.schemaIsCurrent(p.table) {
		k.client.AttachPageForm(&h, k.out)
	}
	return true
}

// schemaIsCurrent reports whether the table's key schema is still the one that the call uses.
// The table may have been replaced since it was looked up, and a cached entry may belong to
// the new one.
func (k *call) schemaIsCurrent(table []byte) bool {
	s, ok := k.client.CachedSchema(table, k.now)
	return ok && keySchema(s) == k.scratch.keys
}

// appendStart appends the start position of the page, if the option is present.
func (k *call) appendStart(body []byte, indexed bool) []byte {
	start, ok := k.scratch.options.bytes(&k.args, optStart)
	if !ok {
		return body
	}
	var err error
	body = append(body, `,"ExclusiveStartKey":`...)
	if indexed {
		body, err = key.AppendStartJSON(body, start)
	} else {
		body, err = k.scratch.keys.AppendJSON(append(body, '{'), start)
		body = append(body, '}')
	}
	if err != nil {
		k.args.Fail("%v", err)
	}
	return body
}

// The client's values of Select that need special handling.
const (
	selectAll      = 1
	selectSpecific = 4
)

var selects = []string{"", selectAll: "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT", selectSpecific: "SPECIFIC_ATTRIBUTES"}

// goAgent is the prefix of the agent of version 2 of the Go client. It sends its own Select
// if its user has set none, and none if the user wants all attributes.
var goAgent = []byte("DaxGoV2Client")

// appendPaging appends the options that select the page.
func (k *call) appendPaging(body []byte) []byte {
	o := &k.scratch.options
	selected, _ := o.number(&k.args, optSelect)
	switch {
	case selected == selectAll && k.scratch.page.goV2:
	case selected == selectSpecific && !o.has(optProjection):
	default:
		body = appendMember(body, "Select", o.enum(&k.args, optSelect, selects))
	}
	if v, ok := o.number(&k.args, optForward); ok && v == 0 {
		body = append(body, `,"ScanIndexForward":false`...)
	}
	for _, n := range [...]struct {
		name string
		key  int
	}{{`,"Limit":`, optLimit}, {`,"Segment":`, optSegment}, {`,"TotalSegments":`, optSegments}} {
		if v, ok := o.number(&k.args, n.key); ok {
			body = strconv.AppendInt(append(body, n.name...), v, 10)
		}
	}
	return body
}

// pageReply translates DynamoDB's response to a query or a scan.
func (k *call) pageReply(answer []byte, p *page) (err error) {
	r := begin(k.out)
	for it := wire.Object(answer); it.Next() && err == nil; {
		v := it.Value()
		switch {
		case wire.Kind(v) == 'n':
		case wire.NameIs(it.Name(), "Items"):
			r.out, err = k.appendItems(r.member(replyItems), p.paths, v)
		case wire.NameIs(it.Name(), "Count"):
			r.out, err = appendCount(r.member(replyCount), v)
		case wire.NameIs(it.Name(), "ScannedCount"):
			r.out, err = appendCount(r.member(replyScanned), v)
		case wire.NameIs(it.Name(), "LastEvaluatedKey"):
			r.out, err = k.appendLastKey(r.member(replyLast), v, p.indexed)
		case wire.NameIs(it.Name(), "ConsumedCapacity"):
			r.out, err = appendCapacity(r.member(replyCapacity), v)
		}
	}
	k.out = r.end()
	return err
}

func appendCount(dst, v []byte) ([]byte, error) {
	n, err := strconv.ParseUint(string(v), 10, 53)
	return cbor.AppendUint(dst, n), err
}

// appendItems appends the items of a page, each after its key unless they are projected.
func (k *call) appendItems(dst []byte, paths []item.Path, items []byte) (_ []byte, err error) {
	dst = cbor.AppendArray(dst, wire.Array(items).Count())
	for it := wire.Array(items); it.Next(); {
		if paths == nil {
			dst = cbor.AppendArray(dst, 2)
		}
		if dst, err = k.appendKeyed(dst, &k.scratch.keys, paths, it.Value()); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendKeyed appends an item after its key, or alone if it is projected.
func (k *call) appendKeyed(dst []byte, s *key.Schema, paths []item.Path, object []byte) (_ []byte, err error) {
	if paths == nil {
		if dst, err = appendKeyOf(dst, s, object); err != nil {
			return dst, err
		}
	}
	return k.appendItem(dst, s, paths, object)
}

// appendKeyOf appends an item's key as a byte string.
func appendKeyOf(dst []byte, s *key.Schema, object []byte) (_ []byte, err error) {
	start := len(dst)
	dst, err = s.AppendKey(dst, object)
	return cbor.WrapBytes(dst, start), err
}

// appendLastKey appends the start position of the next page.
func (k *call) appendLastKey(dst, object []byte, indexed bool) (_ []byte, err error) {
	if !indexed {
		return appendKeyOf(dst, &k.scratch.keys, object)
	}
	start := len(dst)
	dst, err = key.AppendStart(dst, object)
	return cbor.WrapBytes(dst, start), err
}
