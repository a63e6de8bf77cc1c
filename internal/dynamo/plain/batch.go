package plain

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
)

// The maximum numbers of keys and of writes in one DynamoDB request.
const (
	maxKeys   = 100
	maxWrites = 25
)

// maxConcurrent is the number of segments of a batch in flight at a time. maxGathered bounds
// the replies of a batch in bytes: the rest is returned as unprocessed, as DynamoDB does at
// its own limit.
const (
	maxConcurrent = 8
	maxGathered   = 64 << 20
)

// batch is a BatchGetItem or BatchWriteItem of any size.
type batch struct {
	t      *task
	writes bool
	json   bool // the client sends or receives plain items

	tables   []batchTable
	index    map[string]int // index in tables by table name
	entries  []entry
	extra    []byte // the request's other members, each preceded by a comma
	segments []segment

	budget   retryBudget
	gathered atomic.Int64 // size of the replies so far
}

type batchTable struct {
	quoted  []byte // the table's name as the client wrote it
	options []byte // for reads: the object that holds Keys
}

// entry is a key to read, or a write.
type entry struct {
	table    int
	original []byte // as the client sent it
	body     []byte // as sent to the service
}

func (t *task) batchGet()       { (&batch{t: t}).serve() }
func (t *task) batchGetJSON()   { (&batch{t: t, json: true}).serve() }
func (t *task) batchWrite()     { (&batch{t: t, writes: true}).serve() }
func (t *task) batchWriteJSON() { (&batch{t: t, writes: true, json: true}).serve() }

func (b *batch) serve() {
	if !b.t.checkJSON() {
		return
	}
	understood := b.parse(b.t.x.Body)
	if b.t.tooLarge(nil) {
		return
	}
	if !understood {
		b.t.operate(b.t.r.target, b.t.x.Body) // the service returns the error
		return
	}
	if len(b.entries) <= b.maxEntries() {
		b.serveWhole()
		return
	}
	b.budget = b.t.retryBudget()
	for rest := b.entries; len(rest) > 0; {
		n := min(len(rest), b.maxEntries())
		b.segments = append(b.segments, segment{entries: rest[:n]})
		rest = rest[n:]
	}
	b.runSegments()
	b.merge()
}

func (b *batch) maxEntries() int {
	if b.writes {
		return maxWrites
	}
	return maxKeys
}

// serveWhole serves a batch that needs no splitting in the client's exchange. Only
// unprocessed entries are sent again in exchanges of their own.
func (b *batch) serveWhole() {
	t := b.t
	body := t.x.Body
	if b.writes && b.json {
		t.body = b.appendRequest(t.body[:0], b.entries)
		if body = t.body; t.tooLarge(body) {
			return
		}
	}
	t.operate(t.r.target, body)
	reply := &t.x.Reply
	s := segment{entries: b.entries}
	if !b.record(&s, reply) {
		if reply.Status == http.StatusOK && b.json && !b.writes {
			b.plainItems()
		}
		return
	}
	s.cloneBodies()
	s.decision = t.x.Record.Decision
	reply.Reset()
	b.budget = t.retryBudget()
	b.retry(&s)
	b.segments = []segment{s}
	b.merge()
}

// runSegments runs the segments concurrently and returns when all have ended. It propagates
// a panic in one of them.
func (b *batch) runSegments() {
	var next atomic.Int64
	var panicked atomic.Value
	var group sync.WaitGroup
	for range min(maxConcurrent, len(b.segments)) {
		group.Add(1)
		go func() {
			defer group.Done()
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(&p)
				}
			}()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(b.segments) {
					return
				}
				b.runSegment(&b.segments[i])
			}
		}()
	}
	group.Wait()
	if p, ok := panicked.Load().(*any); ok {
		panic(*p)
	}
}

// parse parses the request. It returns false for an invalid request, which the service
// rejects.
func (b *batch) parse(body []byte) bool {
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
		if !b.parseTable(tables.QuotedName(), tables.Value()) {
			return false
		}
	}
	return !tables.Err() && len(b.entries) > 0
}

// parseTable parses one table of the request.
func (b *batch) parseTable(quoted, value []byte) bool {
	name, ok := wire.AppendExact(nil, quoted)
	if _, duplicate := b.index[string(name)]; duplicate || !ok {
		return false
	}
	p := batchTable{quoted: quoted}
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
	n := len(b.tables)
	b.index[string(name)] = n
	b.tables = append(b.tables, p)
	b.t.conv.lists = b.t.cfg.lists(b.t.tableName(quoted))
	it := wire.Array(list)
	for it.Next() {
		u := entry{table: n, original: it.Value(), body: it.Value()}
		if wire.Kind(u.original) != '{' {
			return false
		}
		if b.writes && b.json {
			u.body = rewrite(nil, u.original, &b.t.conv, (*converter).typedObject, "PutRequest", "Item")
		}
		b.entries = append(b.entries, u)
	}
	return !it.Err()
}

// appendRequest appends the request for entries, which are in the order of their tables.
func (b *batch) appendRequest(dst []byte, units []entry) []byte {
	dst = append(dst, `{"RequestItems":{`...)
	for len(units) > 0 {
		n := 1
		for n < len(units) && units[n].table == units[0].table {
			n++
		}
		texts := make([][]byte, n)
		for i := range texts {
			texts[i] = units[i].body
		}
		dst = b.appendTable(appendComma(dst), units[0].table, texts)
		units = units[n:]
	}
	dst = append(dst, '}')
	return append(append(dst, b.extra...), '}')
}

// appendTable appends a member of RequestItems or of an unprocessed list.
func (b *batch) appendTable(dst []byte, n int, texts [][]byte) []byte {
	p := &b.tables[n]
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

// plainItems converts the items of the reply to plain JSON.
func (b *batch) plainItems() {
	t := b.t
	body := t.detachBody()
	out, ok := t.conv.appendBatch(t.x.Reply.Buf[:0], body)
	if !ok {
		t.badReply()
		return
	}
	t.answer(http.StatusOK, out)
}

// appendBatch appends the reply to a BatchGetItem with plain items.
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

// plainList appends the array of items at i as plain items.
func (c *converter) plainList(dst, b []byte, i int) ([]byte, int) {
	return c.array(dst, b, i, (*converter).plainObject)
}

// completed reports whether a reply leaves nothing unprocessed. If not, left is the
// unprocessed part.
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
