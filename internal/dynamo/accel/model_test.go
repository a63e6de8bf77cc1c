package accel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// item is an item's attributes as JSON text.
type item map[string]json.RawMessage

// model is a DynamoDB for scripts: it executes requests on a few tables, without a cache and
// with its own definition of item identity. It must not be used concurrently.
type model struct {
	tables  map[string]*modelTable
	created int // tables created so far
	// lagging makes eventually consistent reads show the tables as they were when
	// the lag began.
	lagging bool
}

func newModel() *model { return &model{tables: make(map[string]*modelTable)} }

// modelIndex is a secondary index, or the table itself.
type modelIndex struct {
	name      string
	hash, rng string
	global    bool
	projected []string // nil: all
}

type modelTable struct {
	raw map[string]json.RawMessage // the description
	modelIndex
	indexes []modelIndex
	ttl     string
	items   map[string]item
	past    map[string]item // while the model lags

	stream  *modelStream
	former  []*modelStream // with the present one
	streams int            // made so far
}

// refusal is an error answer.
type refusal struct{ typ, message string }

func invalid(format string, args ...any) *refusal {
	return &refusal{"ValidationException", fmt.Sprintf(format, args...)}
}

var noSuchTable = &refusal{"ResourceNotFoundException", "Requested resource not found"}

// modelRequest holds the members that the model understands, of all operations.
type modelRequest struct {
	TableName, IndexName                                string
	Key, Item, ExclusiveStartKey                        item
	ConsistentRead                                      bool
	ProjectionExpression, FilterExpression              string
	KeyConditionExpression                              string
	ConditionExpression, UpdateExpression               string
	ExpressionAttributeNames, ExpressionAttributeValues json.RawMessage
	AttributesToGet                                     []string
	KeyConditions, AttributeUpdates                     map[string]modelLegacy
	ReturnValues, ReturnConsumedCapacity, Select        string
	Limit                                               int
	ScanIndexForward                                    *bool
	RequestItems                                        map[string]json.RawMessage
	TransactItems                                       []map[string]modelRequest
	Statement                                           string
	Statements                                          []struct{ Statement string }
	GlobalSecondaryIndexUpdates                         []map[string]json.RawMessage
	TimeToLiveSpecification                             struct{ AttributeName string }
	Keys                                                []item
	PutRequest, DeleteRequest                           *modelRequest
}

type modelLegacy struct {
	ComparisonOperator string
	AttributeValueList []json.RawMessage
	Action             string
	Value              json.RawMessage
}

// serve executes one request.
func (m *model) serve(op string, body []byte) (status int, reply []byte) {
	var r modelRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return 400, wire.AppendError(nil, "SerializationException", err.Error())
	}
	answer, err := m.execute(op, &r, body)
	if err != nil {
		return wire.ErrorStatus(err.typ), wire.AppendError(nil, err.typ, err.message)
	}
	reply, fault := json.Marshal(answer)
	if fault != nil {
		panic(fault)
	}
	return 200, reply
}

func (m *model) execute(op string, r *modelRequest, body []byte) (any, *refusal) {
	switch op {
	case "GetItem":
		return m.getItem(r)
	case "PutItem", "UpdateItem", "DeleteItem":
		w, err := m.prepare(op, r)
		if err != nil {
			return nil, err
		}
		w.apply()
		return w.answer(), nil
	case "Query", "Scan":
		return m.query(op, r)
	case "BatchGetItem":
		return m.batchGet(r)
	case "BatchWriteItem":
		return m.batchWrite(r)
	case "TransactWriteItems":
		return m.transactWrite(r)
	case "TransactGetItems":
		return m.transactGet(r)
	case "ExecuteStatement":
		return m.statement(r.Statement)
	case "BatchExecuteStatement":
		for _, s := range r.Statements {
			if _, err := m.statement(s.Statement); err != nil {
				return nil, err
			}
		}
		return map[string]any{"Responses": []any{}}, nil
	case "CreateTable", "UpdateTable", "DeleteTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive":
		return m.tableOperation(op, r, body)
	case "DescribeStream", "GetShardIterator", "GetRecords":
		return m.streamOperation(op, body)
	}
	return map[string]any{}, nil // an operation that the model does not have
}

// lag switches on or off that replicas and indexes return an earlier state.
func (m *model) lag(on bool) {
	m.lagging = on
	for _, t := range m.tables {
		t.past = maps.Clone(t.items) // items are never changed in place
	}
}

// visibleItems returns the items that a read can return.
func (m *model) visibleItems(t *modelTable, strong bool) map[string]item {
	if m.lagging && !strong {
		return t.past
	}
	return t.items
}

// canonicalValue returns the form in which the model stores and compares a value.
func canonicalValue(v []byte) string {
	out, ok := wire.AppendCanonical(nil, v)
	if !ok {
		panic(fmt.Sprintf("not a value: %s", v))
	}
	return string(out)
}

// stored returns an item as DynamoDB stores it: numbers in canonical form, sets in an order
// that differs from the client's.
func stored(in item) item {
	out := make(item, len(in))
	for name, v := range in {
		out[name] = json.RawMessage(canonicalValue(v))
		var set map[string][]json.RawMessage
		if typ, _, ok := wire.Attribute(v); ok && len(typ) == 2 && json.Unmarshal(out[name], &set) == nil {
			slices.SortFunc(set[string(typ)], func(a, b json.RawMessage) int { return strings.Compare(string(b), string(a)) })
			out[name], _ = json.Marshal(set)
		}
	}
	return out
}

// keyOf returns the identity of an item.
func (ix *modelIndex) keyOf(it item) (string, bool) {
	h, ok := it[ix.hash]
	if !ok {
		return "", false
	}
	if ix.rng == "" {
		return canonicalValue(h), true
	}
	r, ok := it[ix.rng]
	if !ok {
		return "", false
	}
	return canonicalValue(h) + canonicalValue(r), true
}

// table finds a table by its name or ARN.
func (m *model) table(name string) (*modelTable, *refusal) {
	if t := m.tables[name[strings.LastIndexByte(name, '/')+1:]]; t != nil {
		return t, nil
	}
	return nil, noSuchTable
}

// key checks a Key and returns its identity.
func (t *modelTable) key(k item) (string, *refusal) {
	id, ok := t.keyOf(k)
	want := 1
	if t.rng != "" {
		want = 2
	}
	if !ok || len(k) != want {
		return "", invalid("The provided key element does not match the schema")
	}
	return id, nil
}

func (m *model) getItem(r *modelRequest) (any, *refusal) {
	t, err := m.table(r.TableName)
	if err != nil {
		return nil, err
	}
	id, err := t.key(r.Key)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{}
	it, ok := m.visibleItems(t, r.ConsistentRead)[id]
	if ok {
		if answer["Item"], err = project(r, it); err != nil {
			return nil, err
		}
	}
	if capacity := r.capacity(it); capacity != nil {
		answer["ConsumedCapacity"] = capacity
	}
	return answer, nil
}

// capacity returns the ConsumedCapacity of a read of items, nil if it isn't requested.
func (r *modelRequest) capacity(items ...item) any {
	if r.ReturnConsumedCapacity == "" || r.ReturnConsumedCapacity == "NONE" {
		return nil
	}
	units := 0.0
	for _, it := range items {
		text, _ := json.Marshal(it)
		size, _ := wire.ItemSize(text)
		units += readUnits(size)
	}
	if r.ConsistentRead {
		units *= 2
	}
	return map[string]any{"TableName": r.TableName, "CapacityUnits": json.RawMessage(wire.AppendUnits(nil, units))}
}

func (m *model) batchGet(r *modelRequest) (any, *refusal) {
	responses := map[string][]item{}
	var spent []any
	for _, name := range slices.Sorted(maps.Keys(r.RequestItems)) {
		raw := r.RequestItems[name]
		t, err := m.table(name)
		if err != nil {
			return nil, err
		}
		var part modelRequest
		_ = json.Unmarshal(raw, &part)
		part.TableName, part.ReturnConsumedCapacity = name, r.ReturnConsumedCapacity
		responses[name] = []item{}
		var read []item
		for _, k := range slices.Backward(part.Keys) { // DynamoDB's order is undefined
			id, err := t.key(k)
			if err != nil {
				return nil, err
			}
			it, ok := m.visibleItems(t, part.ConsistentRead)[id]
			read = append(read, it)
			if ok {
				some, err := project(&part, it)
				if err != nil {
					return nil, err
				}
				responses[name] = append(responses[name], some)
			}
		}
		if capacity := part.capacity(read...); capacity != nil {
			spent = append(spent, capacity)
		}
	}
	answer := map[string]any{"Responses": responses, "UnprocessedKeys": map[string]any{}}
	if spent != nil {
		answer["ConsumedCapacity"] = spent
	}
	return answer, nil
}

// index returns the target of a query or scan.
func (t *modelTable) index(name string) (*modelIndex, *refusal) {
	if name == "" {
		return &t.modelIndex, nil
	}
	for i := range t.indexes {
		if t.indexes[i].name == name {
			return &t.indexes[i], nil
		}
	}
	return nil, invalid("The table does not have the specified index: %s", name)
}

// view returns an item as an index has it, nil if the index does not have it.
func (ix *modelIndex) view(t *modelTable, it item) item {
	if _, ok := ix.keyOf(it); !ok {
		return nil
	}
	if ix.projected == nil {
		return it
	}
	out := item{}
	for _, name := range slices.Concat(ix.projected, []string{ix.hash, ix.rng, t.hash, t.rng}) {
		if v, ok := it[name]; ok {
			out[name] = v
		}
	}
	return out
}

func (m *model) query(op string, r *modelRequest) (any, *refusal) {
	t, err := m.table(r.TableName)
	if err != nil {
		return nil, err
	}
	ix, err := t.index(r.IndexName)
	if err != nil {
		return nil, err
	}
	if ix.global && r.ConsistentRead {
		return nil, invalid("Consistent reads are not supported on global secondary indexes")
	}
	inKey, err := keyFilter(op, r)
	if err != nil {
		return nil, err
	}
	filter, err := conditionOf("Filter", r.FilterExpression, r)
	if err != nil {
		return nil, err
	}
	var found []item
	for _, it := range m.visibleItems(t, r.ConsistentRead) {
		if it = ix.view(t, it); it != nil && inKey(it) {
			found = append(found, it)
		}
	}
	slices.SortFunc(found, func(a, b item) int {
		return cmp.Or(compareValues(a[ix.rng], b[ix.rng]), strings.Compare(t.id(a), t.id(b)))
	})
	if r.ScanIndexForward != nil && !*r.ScanIndexForward {
		slices.Reverse(found)
	}
	return t.page(r, ix, found, filter)
}

func (t *modelTable) id(it item) string { id, _ := t.keyOf(it); return id }

// page returns the requested page of the items found.
func (t *modelTable) page(r *modelRequest, ix *modelIndex, found []item, filter func(item) bool) (any, *refusal) {
	if r.ExclusiveStartKey != nil {
		after := t.id(r.ExclusiveStartKey)
		found = found[slices.IndexFunc(found, func(it item) bool { return t.id(it) == after })+1:]
	}
	answer := map[string]any{}
	if r.Limit > 0 && len(found) > r.Limit {
		found = found[:r.Limit]
		last := item{}
		for _, name := range []string{t.hash, t.rng, ix.hash, ix.rng} {
			if v, ok := found[r.Limit-1][name]; ok {
				last[name] = v
			}
		}
		answer["LastEvaluatedKey"] = last
	}
	items := []item{}
	size := 0
	for _, it := range found {
		text, _ := json.Marshal(it)
		n, _ := wire.ItemSize(text)
		size += n
		if filter(it) {
			some, err := project(r, it)
			if err != nil {
				return nil, err
			}
			items = append(items, some)
		}
	}
	answer["Count"], answer["ScannedCount"] = len(items), len(found)
	if r.Select != "COUNT" {
		answer["Items"] = items
	}
	if r.ReturnConsumedCapacity != "" && r.ReturnConsumedCapacity != "NONE" {
		units := readUnits(size)
		if r.ConsistentRead {
			units *= 2
		}
		answer["ConsumedCapacity"] = map[string]any{"TableName": r.TableName, "CapacityUnits": json.RawMessage(wire.AppendUnits(nil, units))}
	}
	return answer, nil
}
