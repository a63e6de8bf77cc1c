package plain

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
)

// Most keys and most writes that DynamoDB takes in one request.
const (
	mostKeys   = 100
	mostWrites = 25
)

// atOnce is how many segments of a batch are under way at a time. maxGathered
// bounds the answers of a batch: what is asked for beyond it is left unprocessed, as
// DynamoDB leaves what is beyond its own bound.
const (
	atOnce      = 8
	maxGathered = 64 << 20
)

// batch is a BatchGetItem or BatchWriteItem of any size.
type batch struct {
	t      *task
	writes bool
	json   bool // items are plain on the client's side

	parts    []part
	index    map[string]int // of parts, by the table's name
	units    []unit
	extra    []byte // the request's other members, each with a comma before it
	segments []segment

	patience patience
	gathered atomic.Int64 // bytes of answers
}

// part is a table's part of a batch.
type part struct {
	quoted  []byte // the table's name as the client wrote it
	options []byte // of a read: the object whose Keys are asked for
}

// unit is a key to read, or a write.
type unit struct {
	part int
	sent []byte // as the client sent it
	body []byte // as the service is asked
}

func (t *task) batchGet()       { (&batch{t: t}).serve() }
func (t *task) batchGetJSON()   { (&batch{t: t, json: true}).serve() }
func (t *task) batchWrite()     { (&batch{t: t, writes: true}).serve() }
func (t *task) batchWriteJSON() { (&batch{t: t, writes: true, json: true}).serve() }

func (b *batch) serve() {
	if !b.t.readable() {
		return
	}
	understood := b.read(b.t.x.Body)
	if b.t.tooLarge(nil) {
		return
	}
	if !understood {
		b.t.operate(b.t.r.target, b.t.x.Body) // the service says what is wrong with it
		return
	}
	if len(b.units) <= b.most() {
		b.whole()
		return
	}
	b.patience = b.t.patience()
	for rest := b.units; len(rest) > 0; {
		n := min(len(rest), b.most())
		b.segments = append(b.segments, segment{units: rest[:n]})
		rest = rest[n:]
	}
	b.work()
	b.answer()
}

func (b *batch) most() int {
	if b.writes {
		return mostWrites
	}
	return mostKeys
}

// whole asks for a batch that needs no splitting in the exchange itself. Only what
// is left unprocessed is asked for apart.
func (b *batch) whole() {
	t := b.t
	body := t.x.Body
	if b.writes && b.json {
		t.body = b.appendRequest(t.body[:0], b.units)
		if body = t.body; t.tooLarge(body) {
			return
		}
	}
	t.operate(t.r.target, body)
	reply := &t.x.Reply
	s := segment{units: b.units}
	if !b.take(&s, reply) {
		if reply.Status == http.StatusOK && b.json && !b.writes {
			b.plainItems()
		}
		return
	}
	s.keep()
	s.decision = t.x.Record.Decision
	reply.Reset()
	b.patience = t.patience()
	b.finish(&s)
	b.segments = []segment{s}
	b.answer()
}

// work runs the segments, some at a time, and returns when all have ended. A panic
// in one is the exchange's.
func (b *batch) work() {
	var next atomic.Int64
	var fault atomic.Value
	var group sync.WaitGroup
	for range min(atOnce, len(b.segments)) {
		group.Add(1)
		go func() {
			defer group.Done()
			defer func() {
				if p := recover(); p != nil {
					fault.Store(&p)
				}
			}()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(b.segments) {
					return
				}
				b.run(&b.segments[i])
			}
		}()
	}
	group.Wait()
	if p, ok := fault.Load().(*any); ok {
		panic(*p)
	}
}

// read takes a request apart; false for one that is left to the service to judge.
func (b *batch) read(body []byte) bool {
	items, found := []byte(nil), false
	it := wire.Object(body)
	for it.Next() {
		if !wire.NameIs(it.Name(), "RequestItems") {
			b.extra = append(append(append(append(b.extra, ','), it.QuotedName()...), ':'), it.Value()...)
			continue
		}
		if found {
			return false
		}
		items, found = it.Value(), true
	}
	if it.Err() || wire.Kind(items) != '{' {
		return false
	}
	b.index = make(map[string]int)
	tables := wire.Object(items)
	for tables.Next() {
		if !b.readPart(tables.QuotedName(), tables.Value()) {
			return false
		}
	}
	return !tables.Err() && len(b.units) > 0
}

// readPart reads a table's part of the request.
func (b *batch) readPart(quoted, value []byte) bool {
	name, ok := wire.AppendExact(nil, quoted)
	if _, again := b.index[string(name)]; again || !ok {
		return false
	}
	p := part{quoted: quoted}
	list := value
	if !b.writes {
		if list, ok = wire.Lookup(value, "Keys"); !ok {
			return false
		}
		p.options = value
	}
	if wire.Kind(list) != '[' {
		return false
	}
	n := len(b.parts)
	b.index[string(name)] = n
	b.parts = append(b.parts, p)
	b.t.conv.lists = b.t.cfg.lists(b.t.tableName(quoted))
	it := wire.Array(list)
	for it.Next() {
		u := unit{part: n, sent: it.Value(), body: it.Value()}
		if wire.Kind(u.sent) != '{' {
			return false
		}
		if b.writes && b.json {
			u.body = rewrite(nil, u.sent, &b.t.conv, (*converter).typedObject, "PutRequest", "Item")
		}
		b.units = append(b.units, u)
	}
	return !it.Err()
}

// appendRequest appends the request for some units, which are in the order of their
// parts.
func (b *batch) appendRequest(dst []byte, units []unit) []byte {
	dst = append(dst, `{"RequestItems":{`...)
	for len(units) > 0 {
		n := 1
		for n < len(units) && units[n].part == units[0].part {
			n++
		}
		texts := make([][]byte, n)
		for i := range texts {
			texts[i] = units[i].body
		}
		dst = b.appendPart(separated(dst), units[0].part, texts)
		units = units[n:]
	}
	dst = append(dst, '}')
	return append(append(dst, b.extra...), '}')
}

// appendPart appends a member of RequestItems, or of what is left of them.
func (b *batch) appendPart(dst []byte, n int, texts [][]byte) []byte {
	p := &b.parts[n]
	dst = append(append(dst, p.quoted...), ':')
	if b.writes {
		return appendArray(dst, texts)
	}
	options := p.options
	if options == nil {
		options = []byte(`{}`)
	}
	dst, _ = wire.SetMember(dst, options, "Keys", appendArray(nil, texts))
	return dst
}

func appendArray(dst []byte, texts [][]byte) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text...)
	}
	return append(dst, ']')
}

// plainItems makes the items of the reply plain.
func (b *batch) plainItems() {
	t := b.t
	body := t.apart()
	out, ok := t.conv.appendBatch(t.x.Reply.Buf[:0], body)
	if !ok {
		t.garbled()
		return
	}
	t.answer(http.StatusOK, out)
}

// appendBatch appends the answer to a BatchGetItem with plain items.
func (c *converter) appendBatch(dst, body []byte) (out []byte, ok bool) {
	done, ok := 0, true
	it := wire.Object(body)
	for it.Next() {
		if string(it.Name()) != "Responses" || wire.Kind(it.Value()) != '{' {
			continue
		}
		dst = append(dst, body[done:it.Start()]...)
		next := 0
		dst, next = c.object(dst, it.Value(), 0, (*converter).plainList)
		done, ok = it.End(), next >= 0
		if !ok {
			return dst, false
		}
	}
	return append(dst, body[done:]...), !it.Err()
}

// plainList appends the items in the array at i, plain.
func (c *converter) plainList(dst, b []byte, i int) ([]byte, int) {
	return c.array(dst, b, i, (*converter).plainObject)
}

// completed tells whether an answer leaves nothing unprocessed; if not, left is that.
func (b *batch) completed(reply *edge.Reply) (left []byte, ok bool) {
	name := "UnprocessedKeys"
	if b.writes {
		name = "UnprocessedItems"
	}
	left, _ = wire.Lookup(reply.Body, name)
	if wire.Kind(left) != '{' {
		return nil, true
	}
	it := wire.Object(left)
	return left, !it.Next()
}
