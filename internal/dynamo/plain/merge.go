package plain

import (
	"net/http"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// merge builds one reply from the replies of the segments. If all of them failed, it returns
// the first failure unchanged.
func (b *batch) merge() {
	t := b.t
	t.x.Record.Operation = b.operation()
	t.x.Record.Table, _ = wire.Plain(b.tables[0].quoted)
	done := false
	for i := range b.segments {
		done = done || len(b.segments[i].answers) > 0
		t.x.Record.Origin = max(t.x.Record.Origin, b.segments[i].origin)
	}
	if !done {
		b.fail()
		return
	}
	m := merged{b: b, items: make([][][]byte, len(b.tables)), unprocessed: make([][][]byte, len(b.tables))}
	for i := range b.segments {
		m.addSegment(&b.segments[i])
	}
	out, ok := m.append(t.x.Reply.Buf[:0])
	if !ok {
		t.badReply()
		return
	}
	t.answer(http.StatusOK, out)
	t.setDecision(b.decision())
}

func (b *batch) operation() string {
	if b.writes {
		return "BatchWriteItem"
	}
	return "BatchGetItem"
}

// decision returns the segments' common decision, or Partial if they differ.
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

// fail answers a batch of which no segment succeeded.
func (b *batch) fail() {
	for i := range b.segments {
		if s := &b.segments[i]; s.status != 0 {
			b.t.answer(s.status, append(b.t.x.Reply.Buf[:0], s.failure...))
			b.t.setDecision(s.decision)
			b.t.x.Record.Reason, b.t.x.Record.Error = s.reason, s.err
			return
		}
	}
	b.t.refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "No time was left to begin")
}

// merged is the merged reply to a batch under construction.
type merged struct {
	b           *batch
	items       [][][]byte // items found, by table
	unprocessed [][][]byte // unprocessed keys or writes by table, in the client's format
	capacity    capacityTotals
	metrics     []tableList // ItemCollectionMetrics
	errors      []byte      // elements of Errors
}

type tableList struct {
	quoted   []byte
	elements [][]byte
}

// addSegment adds the replies of a segment.
func (m *merged) addSegment(s *segment) {
	for _, body := range s.answers {
		m.addAnswer(body)
	}
	switch {
	case !s.pending:
	case s.retryable:
		m.unprocessed = m.appendUnprocessed(m.unprocessed, s)
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
				n := m.tableIndex(tables.QuotedName())
				for items := wire.Array(tables.Value()); items.Next(); {
					m.items[n] = append(m.items[n], items.Value())
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

// tableIndex returns the index of a table. A reply may use another name for a table than the
// request, for example its ARN.
func (m *merged) tableIndex(quoted []byte) int {
	name, _ := wire.AppendString(nil, quoted)
	n, ok := m.b.index[string(name)]
	if !ok {
		n = len(m.b.tables)
		m.b.index[string(name)] = n
		m.b.tables = append(m.b.tables, batchTable{quoted: quoted})
		m.items, m.unprocessed = append(m.items, nil), append(m.unprocessed, nil)
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
		m.metrics = append(m.metrics, tableList{quoted: quoted})
	}
	for it := wire.Array(list); it.Next(); {
		m.metrics[n].elements = append(m.metrics[n].elements, it.Value())
	}
}

// appendUnprocessed adds the unprocessed entries of a segment to lists by table: those in
// the last successful reply or, without one, all that the client sent.
func (m *merged) appendUnprocessed(lists [][][]byte, s *segment) [][][]byte {
	if s.unprocessed == nil {
		for _, u := range s.entries {
			lists[u.table] = append(lists[u.table], u.original)
		}
		return lists
	}
	for tables := wire.Object(s.unprocessed); tables.Next(); {
		n := m.tableIndex(tables.QuotedName())
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

// addError adds the error and the entries of a segment that failed permanently.
func (m *merged) addError(s *segment) {
	e := m.errors
	if len(e) > 0 {
		e = append(e, ',')
	}
	e = strconv.AppendInt(append(e, `{"Status":`...), int64(s.status), 10)
	e = append(e, `,"Error":`...)
	if wire.Valid(s.failure, wire.MaxDepth) {
		e = append(e, s.failure...)
	} else {
		e = append(e, `{}`...)
	}
	e = append(e, `,"RequestItems":`...)
	e = m.appendTables(e, m.appendUnprocessed(make([][][]byte, len(m.b.tables)), s))
	m.errors = append(e, '}')
}

// appendTables appends an object of keys or writes by table.
func (m *merged) appendTables(dst []byte, lists [][][]byte) []byte {
	dst = append(dst, '{')
	for n, texts := range lists {
		if len(texts) > 0 {
			dst = m.b.appendTable(appendComma(dst), n, texts)
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
	dst = m.appendTables(dst, m.unprocessed)
	if len(m.metrics) > 0 {
		dst = append(dst, `,"ItemCollectionMetrics":{`...)
		for _, l := range m.metrics {
			dst = appendArray(append(append(appendComma(dst), l.quoted...), ':'), l.elements)
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

// appendResponses appends the items by table in the order of the request.
func (m *merged) appendResponses(dst []byte) (out []byte, ok bool) {
	dst = append(dst, '{')
	for n, items := range m.items {
		dst = append(append(appendComma(dst), m.b.tables[n].quoted...), ':')
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
