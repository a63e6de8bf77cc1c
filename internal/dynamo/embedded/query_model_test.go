package embedded

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// The model in this file is a table as a list of items. It computes the result of a Query or
// a Scan by checking every item.

// modelIndex is a source of reads: the table, or one of its indexes.
type modelIndex struct {
	name    string // empty for the table
	local   bool
	hash    []modelKey
	rng     []modelKey
	include []string // attributes in addition to the keys; nil for all
}

type modelKey struct{ name, typ string }

type modelTable struct {
	name    string
	indexes []modelIndex // the table first
	items   []value.Value
}

var modelValues = map[string][]string{
	"S": {`"a"`, `"ab"`, `"b"`, `"\u0000"`, `"a\u0000"`, `"a\u0000b"`, `"é"`, `"zz"`, `"\uffff"`},
	"N": {`"-1E10"`, `"-10"`, `"-9.5"`, `"-0.001"`, `"0"`, `"0.1"`, `"1"`, `"1.5"`, `"2"`, `"10"`, `"1E20"`},
	"B": {`"AA=="`, `"AAE="`, `"AP8="`, `"YQ=="`, `"YWI="`, `"/w=="`, `"//8="`},
}

// drawValue generates an attribute value of a type as JSON.
func drawValue(r *rapid.T, typ, label string) string {
	return `{"` + typ + `":` + rapid.SampledFrom(modelValues[typ]).Draw(r, label) + `}`
}

func drawTable(r *rapid.T, name string) *modelTable {
	typ := func(label string) string { return rapid.SampledFrom([]string{"S", "N", "B"}).Draw(r, label) }
	include := func(label string) []string {
		return rapid.SampledFrom([][]string{nil, {}, {"x"}, {"x", "y"}}).Draw(r, label)
	}
	key := modelIndex{hash: []modelKey{{"p", typ("p")}}}
	m := &modelTable{name: name}
	g, h, i, j := modelKey{"g", typ("g")}, modelKey{"h", typ("h")}, modelKey{"i", typ("i")}, modelKey{"j", typ("j")}
	m.indexes = []modelIndex{key,
		{name: "one", hash: []modelKey{g}, include: include("one")},
		{name: "two", hash: []modelKey{g}, rng: []modelKey{h}, include: include("two")},
		{name: "many", hash: []modelKey{g, i}, rng: []modelKey{h, j}, include: include("many")},
	}
	if rapid.Bool().Draw(r, "with sort key") {
		m.indexes[0].rng = []modelKey{{"r", typ("r")}}
		m.indexes = append(m.indexes, modelIndex{name: "own", local: true, hash: key.hash, rng: []modelKey{h}, include: include("own")})
	}
	return m
}

// create returns the body of the table's CreateTable.
func (m *modelTable) create() string {
	types := map[string]string{}
	schema := func(x *modelIndex) string {
		var parts []string
		for _, k := range x.hash {
			types[k.name] = k.typ
			parts = append(parts, `{"AttributeName":"`+k.name+`","KeyType":"HASH"}`)
		}
		for _, k := range x.rng {
			types[k.name] = k.typ
			parts = append(parts, `{"AttributeName":"`+k.name+`","KeyType":"RANGE"}`)
		}
		return `"KeySchema":[` + strings.Join(parts, ",") + `]`
	}
	lists := map[bool][]string{}
	for i := range m.indexes[1:] {
		x := &m.indexes[i+1]
		projection := `{"ProjectionType":"ALL"}`
		if x.include != nil {
			projection = `{"ProjectionType":"KEYS_ONLY"}`
		}
		if len(x.include) > 0 {
			projection = `{"ProjectionType":"INCLUDE","NonKeyAttributes":["` + strings.Join(x.include, `","`) + `"]}`
		}
		lists[x.local] = append(lists[x.local], `{"IndexName":"`+x.name+`",`+schema(x)+`,"Projection":`+projection+`}`)
	}
	text := `{"TableName":"` + m.name + `","BillingMode":"PAY_PER_REQUEST",` + schema(&m.indexes[0]) + `,"GlobalSecondaryIndexes":[` + strings.Join(lists[false], ",") + `]`
	if len(lists[true]) > 0 {
		text += `,"LocalSecondaryIndexes":[` + strings.Join(lists[true], ",") + `]`
	}
	var defs []string
	for name, typ := range types {
		defs = append(defs, `{"AttributeName":"`+name+`","AttributeType":"`+typ+`"}`)
	}
	return text + `,"AttributeDefinitions":[` + strings.Join(defs, ",") + `]}`
}

// drawItem generates an item with the table's key, and some of the other attributes.
func (m *modelTable) drawItem(r *rapid.T) string {
	var members []string
	add := func(name, v string) { members = append(members, `"`+name+`":`+v) }
	has := map[string]bool{}
	for n, x := range m.indexes {
		for _, k := range slices.Concat(x.hash, x.rng) {
			if !has[k.name] && (n == 0 || rapid.IntRange(0, 5).Draw(r, "has "+k.name) > 0) {
				values := modelValues[k.typ]
				if k.name == "p" || k.name == "g" || k.name == "i" {
					values = values[:2] // few partitions
				}
				add(k.name, `{"`+k.typ+`":`+rapid.SampledFrom(values).Draw(r, k.name)+`}`)
			}
			has[k.name] = true
		}
	}
	if rapid.Bool().Draw(r, "has x") {
		add("x", drawValue(r, "N", "x"))
	}
	if rapid.Bool().Draw(r, "has y") {
		add("y", `{"L":[{"S":"y"},`+drawValue(r, "N", "y")+`]}`)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// put stores an item in the model, and replaces the one with its key.
func (m *modelTable) put(item value.Value) {
	for i := range m.items {
		same := true
		for _, k := range slices.Concat(m.indexes[0].hash, m.indexes[0].rng) {
			same = same && m.items[i].Get(k.name).Equal(item.Get(k.name))
		}
		if same {
			m.items[i] = item
			return
		}
	}
	m.items = append(m.items, item)
}

// rows returns the items that the index has. Those of one partition are in the index's order: by
// the sort key, then by the hash of the table's key.
func (m *modelTable) rows(x *modelIndex) []value.Value {
	var rows []value.Value
	for _, item := range m.items {
		if !slices.ContainsFunc(slices.Concat(x.hash, x.rng), func(k modelKey) bool { return item.Get(k.name) == nil }) {
			rows = append(rows, item)
		}
	}
	slices.SortFunc(rows, func(a, b value.Value) int {
		for _, k := range x.rng {
			if order, _ := value.Compare(a.Get(k.name), b.Get(k.name)); order != 0 {
				return order
			}
		}
		return cmp.Compare(serviceHash(m.key(&a)...), serviceHash(m.key(&b)...))
	})
	return rows
}

// key returns the table's key of an item.
func (m *modelTable) key(item *value.Value) []*value.Value {
	var key []*value.Value
	for _, k := range slices.Concat(m.indexes[0].hash, m.indexes[0].rng) {
		key = append(key, item.Get(k.name))
	}
	return key
}

// projected returns the part of an item that the index has.
func (m *modelTable) projected(x *modelIndex, item value.Value) value.Value {
	if x.include == nil {
		return item
	}
	names := slices.Clone(x.include)
	for _, k := range slices.Concat(x.hash, x.rng, m.indexes[0].hash, m.indexes[0].rng) {
		names = append(names, k.name)
	}
	out := value.Value{Type: value.Map}
	for _, member := range item.Members {
		if slices.Contains(names, member.Name) {
			out.Members = append(out.Members, member)
		}
	}
	return out
}

// modelQuery is a request with a description of the rows it selects.
type modelQuery struct {
	members string // of the request's body
	keep    func(item *value.Value) bool
	passes  func(item *value.Value) bool
}

func parsed(text string) *value.Value {
	v, err := value.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return &v
}

// drawCondition generates a key condition on the index.
func drawCondition(r *rapid.T, x *modelIndex) (terms []string, values map[string]string, keep func(*value.Value) bool) {
	values = map[string]string{}
	var checks []func(*value.Value) bool
	equal := func(k modelKey, v string) {
		name := ":" + k.name
		values[name] = v
		terms = append(terms, k.name+" = "+name)
		want := parsed(v)
		checks = append(checks, func(item *value.Value) bool { return item.Get(k.name).Equal(want) })
	}
	for _, k := range x.hash {
		equal(k, `{"`+k.typ+`":`+rapid.SampledFrom(modelValues[k.typ][:2]).Draw(r, "partition")+`}`)
	}
	for depth := rapid.IntRange(0, len(x.rng)).Draw(r, "depth"); depth > 0; depth-- {
		k := x.rng[len(terms)-len(x.hash)]
		if depth > 1 {
			equal(k, drawValue(r, k.typ, "equal"))
			continue
		}
		term, check := drawComparison(r, k, values)
		terms, checks = append(terms, term), append(checks, check)
	}
	return rapid.Permutation(terms).Draw(r, "terms"), values, func(item *value.Value) bool {
		for _, check := range checks {
			if !check(item) {
				return false
			}
		}
		return true
	}
}

// drawComparison generates a comparison of a sort key.
func drawComparison(r *rapid.T, k modelKey, values map[string]string) (string, func(*value.Value) bool) {
	ops := []string{"=", "<", "<=", ">", ">=", "between"}
	if k.typ != "N" {
		ops = append(ops, "begins_with")
	}
	op := rapid.SampledFrom(ops).Draw(r, "operator")
	low, high := drawValue(r, k.typ, "a"), drawValue(r, k.typ, "b")
	order := func(item, bound *value.Value) int {
		n, _ := value.Compare(item.Get(k.name), bound)
		return n
	}
	a, b := parsed(low), parsed(high)
	if n, _ := value.Compare(a, b); n > 0 {
		low, high, a, b = high, low, b, a
	}
	values[":low"] = low
	switch op {
	case "between":
		values[":high"] = high
		return k.name + " between :low and :high", func(item *value.Value) bool { return order(item, a) >= 0 && order(item, b) <= 0 }
	case "begins_with":
		return "begins_with(" + k.name + ", :low)", func(item *value.Value) bool {
			return strings.HasPrefix(string(item.Get(k.name).Text), string(a.Text))
		}
	}
	meets := map[string]func(int) bool{
		"=":  func(n int) bool { return n == 0 },
		"<":  func(n int) bool { return n < 0 },
		"<=": func(n int) bool { return n <= 0 },
		">":  func(n int) bool { return n > 0 },
		">=": func(n int) bool { return n >= 0 },
	}[op]
	return k.name + " " + op + " :low", func(item *value.Value) bool { return meets(order(item, a)) }
}

// drawFilter generates a filter on x, if the index has x, or none.
func drawFilter(r *rapid.T, x *modelIndex, values map[string]string) (text string, passes func(*value.Value) bool) {
	all := func(*value.Value) bool { return true }
	if x.include != nil && !slices.Contains(x.include, "x") || rapid.IntRange(0, 2).Draw(r, "filter") == 0 {
		return "", all
	}
	if rapid.Bool().Draw(r, "existence") {
		return `,"FilterExpression":"attribute_not_exists(x)"`, func(item *value.Value) bool { return item.Get("x") == nil }
	}
	bound := drawValue(r, "N", "bound")
	values[":x"] = bound
	b := parsed(bound)
	return `,"FilterExpression":"x <= :x"`, func(item *value.Value) bool {
		order, ok := value.Compare(cmp.Or(item.Get("x"), &value.Value{}), b)
		return ok && order <= 0
	}
}

// drawOutput generates the attributes that a request returns: all that the index has, all, or
// some attributes.
func (m *modelTable) drawOutput(r *rapid.T, x *modelIndex) (text string, output func(item value.Value) value.Value) {
	whole := func(item value.Value) value.Value { return item }
	if x.include != nil && !x.local {
		return "", func(item value.Value) value.Value { return m.projected(x, item) }
	}
	switch rapid.IntRange(0, 2).Draw(r, "output") {
	case 0:
		return `,"Select":"ALL_ATTRIBUTES"`, whole
	case 1:
		return `,"ProjectionExpression":"y[1], x, h"`, func(item value.Value) (out value.Value) {
			out.Type = value.Map
			for _, member := range item.Members {
				switch member.Name {
				case "y":
					member.Value.Items = member.Value.Items[1:]
					out.Members = append(out.Members, member)
				case "x", "h":
					out.Members = append(out.Members, member)
				}
			}
			return out
		}
	}
	return "", func(item value.Value) value.Value { return m.projected(x, item) }
}

func (m *modelTable) head(x *modelIndex) string {
	text := `{"TableName":"` + m.name + `"`
	if x.name != "" {
		text += `,"IndexName":"` + x.name + `"`
	}
	return text
}

func drawQuery(r *rapid.T, m *modelTable, x *modelIndex) modelQuery {
	terms, values, keep := drawCondition(r, x)
	filter, passes := drawFilter(r, x, values)
	text := m.head(x) + `,"KeyConditionExpression":"` + strings.Join(terms, " AND ") + `"` + filter
	return modelQuery{text + valuesText(values), keep, passes}
}

func valuesText(values map[string]string) string {
	if len(values) == 0 {
		return ""
	}
	var list []string
	for name, v := range values {
		list = append(list, `"`+name+`":`+v)
	}
	return `,"ExpressionAttributeValues":{` + strings.Join(list, ",") + `}`
}

// allPages is the combined result of all pages of a request.
type allPages struct {
	items            []string
	scanned, counted int
}

// readPages requests page after page and checks each of them.
func (s *Store) readPages(r *rapid.T, t testing.TB, op, body string, limit, keyAttributes int) allPages {
	var all allPages
	more := ""
	if limit > 0 {
		more = fmt.Sprintf(`,"Limit":%d`, limit)
	}
	start := ""
	for {
		var page struct {
			Items               []json.RawMessage
			Count, ScannedCount int
			LastEvaluatedKey    json.RawMessage
		}
		text := s.mustSend(t, op, body+more+start+`}`)
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			r.Fatalf("%s: %v", text, err)
		}
		for _, item := range page.Items {
			all.items = append(all.items, canonical(string(item)))
		}
		all.scanned += page.ScannedCount
		all.counted += page.Count
		switch {
		case page.Items != nil && len(page.Items) != page.Count:
			r.Fatalf("%s %s: %d items, but Count is %d", op, body, len(page.Items), page.Count)
		case limit > 0 && page.ScannedCount > limit:
			r.Fatalf("%s %s with Limit %d evaluated %d", op, body, limit, page.ScannedCount)
		case page.LastEvaluatedKey == nil:
			return all
		case page.ScannedCount == 0:
			r.Fatalf("%s %s: an empty page isn't the last: %s", op, body, text)
		}
		if key := parsedItem(string(page.LastEvaluatedKey)); len(key.Members) != keyAttributes {
			r.Fatalf("%s %s: LastEvaluatedKey %s", op, body, page.LastEvaluatedKey)
		}
		start = `,"ExclusiveStartKey":` + string(page.LastEvaluatedKey)
	}
}

func parsedItem(text string) value.Value {
	v, err := value.ParseItem([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// canonical returns an item with its attributes in order.
func canonical(text string) string {
	v := parsedItem(text)
	return canonicalItem(&v)
}

func canonicalItem(item *value.Value) string {
	v := value.Value{Type: value.Map, Members: slices.Clone(item.Members)}
	slices.SortFunc(v.Members, func(a, b value.Member) int { return cmp.Compare(a.Name, b.Name) })
	return string(v.AppendItem(nil))
}

// keyAttributes returns the number of key attributes of an index's entries.
func (m *modelTable) keyAttributes(x *modelIndex) int {
	names := map[string]bool{}
	for _, k := range slices.Concat(x.hash, x.rng, m.indexes[0].hash, m.indexes[0].rng) {
		names[k.name] = true
	}
	return len(names)
}

// drawFilled generates a table and puts up to 40 items into it.
func drawFilled(r *rapid.T, t testing.TB, s *Store, serial *int) *modelTable {
	*serial++
	m := drawTable(r, fmt.Sprintf("table%d", *serial))
	s.mustSend(t, "CreateTable", m.create())
	for range rapid.IntRange(0, 40).Draw(r, "items") {
		item := m.drawItem(r)
		s.mustSend(t, "PutItem", `{"TableName":"`+m.name+`","Item":`+item+`}`)
		m.put(parsedItem(item))
	}
	return m
}

func TestQueryAgainstModel(t *testing.T) { diskAndMemory(t, checkQueries) }

func checkQueries(t *testing.T, s *Store) {
	serial := 0
	rapid.Check(t, func(r *rapid.T) {
		m := drawFilled(r, t, s, &serial)
		defer s.mustSend(t, "DeleteTable", `{"TableName":"`+m.name+`"}`)
		for range 6 {
			x := &m.indexes[rapid.IntRange(0, len(m.indexes)-1).Draw(r, "index")]
			q := drawQuery(r, m, x)
			text, output := m.drawOutput(r, x)
			var want []string
			scanned := 0
			for _, item := range m.rows(x) {
				if !q.keep(&item) {
					continue
				}
				scanned++
				if given := output(item); q.passes(&item) {
					want = append(want, canonicalItem(&given))
				}
			}
			limit := rapid.IntRange(0, 5).Draw(r, "limit")
			backward := rapid.Bool().Draw(r, "backward")
			body := q.members + text
			if backward {
				slices.Reverse(want)
				body += `,"ScanIndexForward":false`
			}
			got := s.readPages(r, t, "Query", body, limit, m.keyAttributes(x))
			if !slices.Equal(got.items, want) || got.scanned != scanned {
				r.Fatalf("%s with Limit %d: evaluated %d of %d items\ngot  %s\nwant %s", body, limit, got.scanned, scanned, got.items, want)
			}
			count := s.readPages(r, t, "Query", q.members+`,"Select":"COUNT"`, limit, m.keyAttributes(x))
			if count.counted != len(want) || count.items != nil {
				r.Fatalf("%s: got the count %d, want %d; %d items", body, count.counted, len(want), len(count.items))
			}
		}
	})
}

func TestScanAgainstModel(t *testing.T) { diskAndMemory(t, checkScans) }

func checkScans(t *testing.T, s *Store) {
	serial := 0
	rapid.Check(t, func(r *rapid.T) {
		m := drawFilled(r, t, s, &serial)
		defer s.mustSend(t, "DeleteTable", `{"TableName":"`+m.name+`"}`)
		for range 4 {
			x := &m.indexes[rapid.IntRange(0, len(m.indexes)-1).Draw(r, "index")]
			values := map[string]string{}
			filter, passes := drawFilter(r, x, values)
			text, output := m.drawOutput(r, x)
			body := m.head(x) + filter + text + valuesText(values)
			var want []string
			rows := m.rows(x)
			for _, item := range rows {
				if given := output(item); passes(&item) {
					want = append(want, canonicalItem(&given))
				}
			}
			slices.Sort(want)
			whole := s.readPages(r, t, "Scan", body, 0, m.keyAttributes(x))
			if sorted := slices.Sorted(slices.Values(whole.items)); !slices.Equal(sorted, want) || whole.scanned != len(rows) {
				r.Fatalf("%s: evaluated %d of %d items\ngot  %s\nwant %s", body, whole.scanned, len(rows), sorted, want)
			}
			limit := rapid.IntRange(1, 5).Draw(r, "limit")
			if paged := s.readPages(r, t, "Scan", body, limit, m.keyAttributes(x)); !slices.Equal(paged.items, whole.items) {
				r.Fatalf("%s with Limit %d:\ngot  %s\nwant %s", body, limit, paged.items, whole.items)
			}
			segments := rapid.OneOf(rapid.IntRange(1, 9), rapid.IntRange(1, 1000)).Draw(r, "segments")
			var joined []string
			for segment := range segments {
				part := s.readPages(r, t, "Scan", fmt.Sprintf(`%s,"TotalSegments":%d,"Segment":%d`, body, segments, segment), limit, m.keyAttributes(x))
				joined = append(joined, part.items...)
			}
			if !slices.Equal(joined, whole.items) {
				r.Fatalf("%s in %d segments:\ngot  %s\nwant %s", body, segments, joined, whole.items)
			}
		}
	})
}
