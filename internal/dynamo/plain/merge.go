package plain

import (
	"net/http"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// answer makes one answer of those of the segments. If none of them did anything, it
// is the first failure, as it came.
func (b *batch) answer() {
	t := b.t
	t.x.Record.Operation = b.operation()
	t.x.Record.Table, _ = wire.Plain(b.parts[0].quoted)
	done := false
	for i := range b.segments {
		done = done || len(b.segments[i].answers) > 0
		t.x.Record.Origin = max(t.x.Record.Origin, b.segments[i].origin)
	}
	if !done {
		b.fail()
		return
	}
	m := merged{b: b, parts: make([][][]byte, len(b.parts)), left: make([][][]byte, len(b.parts))}
	for i := range b.segments {
		m.add(&b.segments[i])
	}
	out, ok := m.append(t.x.Reply.Buf[:0])
	if !ok {
		t.garbled()
		return
	}
	t.answer(http.StatusOK, out)
	t.decided(b.decision())
}

func (b *batch) operation() string {
	if b.writes {
		return "BatchWriteItem"
	}
	return "BatchGetItem"
}

// decision is what the segments have in common.
func (b *batch) decision() telemetry.Decision {
	d := telemetry.None
	for i := range b.segments {
		switch other := b.segments[i].decision; {
		case d == telemetry.None:
			d = other
		case other != telemetry.None && other != d:
			d = telemetry.Partial
		}
	}
	return d
}

// fail answers for a batch of which nothing was done.
func (b *batch) fail() {
	for i := range b.segments {
		if s := &b.segments[i]; s.status != 0 {
			b.t.answer(s.status, append(b.t.x.Reply.Buf[:0], s.fault...))
			b.t.decided(s.decision)
			b.t.x.Record.Reason, b.t.x.Record.Error = s.reason, s.err
			return
		}
	}
	b.t.refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "There was no time left to begin")
}

// merged is the answer to a batch while it is put together.
type merged struct {
	b        *batch
	parts    [][][]byte // items found, by part
	left     [][][]byte // keys or writes that were left, by part, in the client's form
	capacity tally
	metrics  []listed // ItemCollectionMetrics
	errors   []byte   // elements of Errors
}

// listed is a table's list.
type listed struct {
	quoted   []byte
	elements [][]byte
}

// add takes in what became of a segment.
func (m *merged) add(s *segment) {
	for _, body := range s.answers {
		m.addAnswer(body)
	}
	switch {
	case !s.pending:
	case s.again:
		m.left = m.appendLeft(m.left, s)
	default:
		m.addError(s)
	}
}

func (m *merged) addAnswer(body []byte) {
	it := wire.Object(body)
	for it.Next() {
		switch string(it.Name()) {
		case "Responses":
			for tables := wire.Object(it.Value()); tables.Next(); {
				n := m.part(tables.QuotedName())
				for items := wire.Array(tables.Value()); items.Next(); {
					m.parts[n] = append(m.parts[n], items.Value())
				}
			}
		case "ConsumedCapacity":
			for each := wire.Array(it.Value()); each.Next(); {
				m.capacity.add(each.Value())
			}
		case "ItemCollectionMetrics":
			for tables := wire.Object(it.Value()); tables.Next(); {
				m.addMetrics(tables.QuotedName(), tables.Value())
			}
		}
	}
}

// part returns the index of a table's part. An answer may speak of a table by
// another name than the request, such as an ARN's.
func (m *merged) part(quoted []byte) int {
	name, _ := wire.AppendString(nil, quoted)
	n, ok := m.b.index[string(name)]
	if !ok {
		n = len(m.b.parts)
		m.b.index[string(name)] = n
		m.b.parts = append(m.b.parts, part{quoted: quoted})
		m.parts, m.left = append(m.parts, nil), append(m.left, nil)
	}
	return n
}

func (m *merged) addMetrics(quoted, list []byte) {
	n := -1
	for i := range m.metrics {
		if string(m.metrics[i].quoted) == string(quoted) {
			n = i
		}
	}
	if n < 0 {
		n = len(m.metrics)
		m.metrics = append(m.metrics, listed{quoted: quoted})
	}
	for it := wire.Array(list); it.Next(); {
		m.metrics[n].elements = append(m.metrics[n].elements, it.Value())
	}
}

// appendLeft adds what is left of a segment to lists by part: as the client sent it
// or, after an answer that left some, as that says.
func (m *merged) appendLeft(lists [][][]byte, s *segment) [][][]byte {
	if s.left == nil {
		for _, u := range s.units {
			lists[u.part] = append(lists[u.part], u.sent)
		}
		return lists
	}
	for tables := wire.Object(s.left); tables.Next(); {
		n := m.part(tables.QuotedName())
		for len(lists) <= n {
			lists = append(lists, nil)
		}
		list := tables.Value()
		if !m.b.writes {
			list, _ = wire.Lookup(list, "Keys")
		}
		for it := wire.Array(list); it.Next(); {
			text := it.Value()
			if m.b.writes && m.b.json {
				text = rewrite(nil, text, &m.b.t.conv, (*converter).plainObject, "PutRequest", "Item")
			}
			lists[n] = append(lists[n], text)
		}
	}
	return lists
}

// addError tells of a segment that failed for good, and of what was in it.
func (m *merged) addError(s *segment) {
	e := m.errors
	if len(e) > 0 {
		e = append(e, ',')
	}
	e = strconv.AppendInt(append(e, `{"Status":`...), int64(s.status), 10)
	e = append(e, `,"Error":`...)
	if wire.Valid(s.fault, wire.MaxDepth) {
		e = append(e, s.fault...)
	} else {
		e = append(e, `{}`...)
	}
	e = append(e, `,"RequestItems":`...)
	e = m.appendTables(e, m.appendLeft(make([][][]byte, len(m.b.parts)), s))
	m.errors = append(e, '}')
}

// appendTables appends an object of keys or writes by table.
func (m *merged) appendTables(dst []byte, lists [][][]byte) []byte {
	dst = append(dst, '{')
	for n, texts := range lists {
		if len(texts) > 0 {
			dst = m.b.appendPart(separated(dst), n, texts)
		}
	}
	return append(dst, '}')
}

func (m *merged) append(dst []byte) (out []byte, ok bool) {
	if m.b.writes {
		dst = append(dst, `{"UnprocessedItems":`...)
	} else {
		if dst, ok = m.appendResponses(append(dst, `{"Responses":`...)); !ok {
			return dst, false
		}
		dst = append(dst, `,"UnprocessedKeys":`...)
	}
	dst = m.appendTables(dst, m.left)
	if len(m.metrics) > 0 {
		dst = append(dst, `,"ItemCollectionMetrics":{`...)
		for _, l := range m.metrics {
			dst = appendArray(append(append(separated(dst), l.quoted...), ':'), l.elements)
		}
		dst = append(dst, '}')
	}
	if len(m.capacity.tables) > 0 {
		dst = m.capacity.append(append(dst, `,"ConsumedCapacity":`...))
	}
	if len(m.errors) > 0 {
		dst = append(append(append(dst, `,"Errors":[`...), m.errors...), ']')
	}
	return append(dst, '}'), true
}

// appendResponses appends the items, by table in the order of the request.
func (m *merged) appendResponses(dst []byte) (out []byte, ok bool) {
	dst = append(dst, '{')
	for n, items := range m.parts {
		dst = append(append(separated(dst), m.b.parts[n].quoted...), ':')
		if !m.b.json {
			dst = appendArray(dst, items)
			continue
		}
		dst = append(dst, '[')
		for i, item := range items {
			if i > 0 {
				dst = append(dst, ',')
			}
			next := 0
			if dst, next = m.b.t.conv.plainObject(dst, item, 0); next < 0 {
				return dst, false
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, '}'), true
}
