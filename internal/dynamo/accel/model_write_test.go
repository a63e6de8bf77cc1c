package accel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// modelWrite is a write that has been checked and can be applied.
type modelWrite struct {
	t        *modelTable
	id       string
	old, new item // nil for none
	touched  []string
	returns  string
}

func (w *modelWrite) apply() {
	w.t.record(w)
	if w.new == nil {
		delete(w.t.items, w.id)
		return
	}
	w.t.items[w.id] = w.new
}

// answer returns the attributes selected by ReturnValues.
func (w *modelWrite) answer() any {
	from := w.old
	switch w.returns {
	case "", "NONE":
		return map[string]any{}
	case "ALL_NEW", "UPDATED_NEW":
		from = w.new
	}
	if w.returns == "UPDATED_OLD" || w.returns == "UPDATED_NEW" {
		some := item{}
		for _, name := range w.touched {
			if v, ok := from[name]; ok {
				some[name] = v
			}
		}
		from = some
	}
	if len(from) == 0 {
		return map[string]any{}
	}
	return map[string]any{"Attributes": from}
}

// prepare checks a write of any kind.
func (m *model) prepare(op string, r *modelRequest) (*modelWrite, *refusal) {
	t, err := m.table(r.TableName)
	if err != nil {
		return nil, err
	}
	w := &modelWrite{t: t, returns: r.ReturnValues}
	if op == "PutItem" {
		w.new = stored(r.Item)
		var ok bool
		if w.id, ok = t.keyOf(w.new); !ok {
			return nil, invalid("One or more parameter values were invalid: Missing the key %s in the item", t.hash)
		}
	} else if w.id, err = t.key(r.Key); err != nil {
		return nil, err
	}
	w.old = t.items[w.id]
	holds, err := conditionOf("Condition", r.ConditionExpression, r)
	if err != nil {
		return nil, err
	}
	if !holds(w.old) {
		return nil, &refusal{"ConditionalCheckFailedException", "The conditional request failed"}
	}
	if op == "UpdateItem" {
		from := w.old
		if from == nil {
			from = stored(r.Key)
		}
		if w.new, w.touched, err = updated(r, from); err != nil {
			return nil, err
		}
		if w.old == nil && strings.HasPrefix(r.UpdateExpression, "REMOVE ") && !strings.Contains(r.UpdateExpression, "SET") {
			w.new = nil // an update that only removes attributes creates no item
		}
	}
	return w, nil
}

func (m *model) batchWrite(r *modelRequest) (any, *refusal) {
	var writes []*modelWrite
	for name, raw := range r.RequestItems {
		var list []modelRequest
		_ = json.Unmarshal(raw, &list)
		for _, q := range list {
			op, sub := "PutItem", q.PutRequest
			if sub == nil {
				op, sub = "DeleteItem", q.DeleteRequest
			}
			sub.TableName = name
			w, err := m.prepare(op, sub)
			if err != nil {
				return nil, err
			}
			writes = append(writes, w)
		}
	}
	for _, w := range writes {
		w.apply()
	}
	return map[string]any{"UnprocessedItems": map[string]any{}}, nil
}

func (m *model) transactWrite(r *modelRequest) (any, *refusal) {
	var writes []*modelWrite
	for i, actions := range r.TransactItems {
		for kind, q := range actions {
			op := map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "DeleteItem"}[kind]
			w, err := m.prepare(op, &q)
			if err != nil {
				return nil, &refusal{"TransactionCanceledException", fmt.Sprintf("Transaction cancelled, action %d: %s", i, err.typ)}
			}
			if kind != "ConditionCheck" {
				writes = append(writes, w)
			}
		}
	}
	for _, w := range writes {
		w.apply()
	}
	return map[string]any{}, nil
}

func (m *model) transactGet(r *modelRequest) (any, *refusal) {
	responses := []any{}
	for _, actions := range r.TransactItems {
		get := actions["Get"]
		get.ConsistentRead = true
		answer, err := m.getItem(&get)
		if err != nil {
			return nil, err
		}
		responses = append(responses, answer)
	}
	return map[string]any{"Responses": responses}, nil
}

var updateStatement = regexp.MustCompile(`^UPDATE "([^"]+)" SET (\w+) = '([^']*)' WHERE p = '([^']*)' AND s = (\d+)$`)

// statement executes the one form of PartiQL statements that the scripts write with. All
// others succeed without effect.
func (m *model) statement(text string) (any, *refusal) {
	f := updateStatement.FindStringSubmatch(text)
	if f == nil {
		return map[string]any{"Items": []any{}}, nil
	}
	q := func(s string) string { return `{"S":` + strconv.Quote(s) + `}` }
	w, err := m.prepare("UpdateItem", &modelRequest{
		TableName: f[1], Key: item{"p": json.RawMessage(q(f[4])), "s": json.RawMessage(`{"N":"` + f[5] + `"}`)},
		AttributeUpdates: map[string]modelLegacy{f[2]: {Value: json.RawMessage(q(f[3]))}},
	})
	if err != nil {
		return nil, err
	}
	w.apply()
	return map[string]any{"Items": []any{}}, nil
}

// tableOperation creates, changes and describes tables. They are active at once.
func (m *model) tableOperation(op string, r *modelRequest, body []byte) (any, *refusal) {
	if op == "CreateTable" {
		if m.tables[r.TableName] != nil {
			return nil, &refusal{"ResourceInUseException", "Table already exists: " + r.TableName}
		}
		t := m.create(body)
		return map[string]any{"TableDescription": t.raw}, nil
	}
	t, err := m.table(r.TableName)
	if err != nil {
		return nil, err
	}
	switch op {
	case "DeleteTable":
		delete(m.tables, r.TableName)
		return map[string]any{"TableDescription": map[string]any{"TableName": r.TableName, "TableStatus": "DELETING"}}, nil
	case "UpdateTable":
		t.update(r, body)
		return map[string]any{"TableDescription": t.raw}, nil
	case "UpdateTimeToLive":
		t.ttl = r.TimeToLiveSpecification.AttributeName
		return map[string]any{"TimeToLiveSpecification": map[string]any{"Enabled": true, "AttributeName": t.ttl}}, nil
	case "DescribeTimeToLive":
		d := map[string]any{"TimeToLiveStatus": "DISABLED"}
		if t.ttl != "" {
			d = map[string]any{"TimeToLiveStatus": "ENABLED", "AttributeName": t.ttl}
		}
		return map[string]any{"TimeToLiveDescription": d}, nil
	}
	return map[string]any{"Table": t.raw}, nil
}

// create creates a table from a CreateTable request or a table's description.
func (m *model) create(body []byte) *modelTable {
	t := &modelTable{items: make(map[string]item), past: make(map[string]item)}
	_ = json.Unmarshal(body, &t.raw)
	m.created++
	t.raw["TableId"] = json.RawMessage(strconv.Quote(strconv.Itoa(m.created)))
	t.raw["TableStatus"] = json.RawMessage(`"ACTIVE"`)
	t.read()
	if spec := t.raw["StreamSpecification"]; spec != nil {
		t.setStream(spec)
	}
	m.tables[t.name] = t
	return t
}

// read takes keys and indexes from the description.
func (t *modelTable) read() {
	var d description
	text, _ := json.Marshal(map[string]any{"Table": t.raw})
	_ = json.Unmarshal(text, &d)
	_ = json.Unmarshal(t.raw["TableName"], &t.name)
	t.hash, t.rng = modelKeys(d.Table.KeySchema)
	t.indexes = nil
	for i, list := range [][]indexDescription{d.Table.LocalIndexes, d.Table.GlobalIndexes} {
		for _, x := range list {
			ix := modelIndex{name: x.IndexName, global: i == 1}
			ix.hash, ix.rng = modelKeys(x.KeySchema)
			if x.Projection.ProjectionType != "ALL" {
				ix.projected = append([]string{}, x.Projection.NonKeyAttributes...)
			}
			t.indexes = append(t.indexes, ix)
		}
	}
}

func modelKeys(schema []keyElement) (hash, rng string) {
	hash = schema[0].AttributeName
	if len(schema) > 1 {
		rng = schema[1].AttributeName
	}
	return hash, rng
}

// update adds and drops global indexes.
func (t *modelTable) update(r *modelRequest, body []byte) {
	var more struct{ AttributeDefinitions []json.RawMessage }
	_ = json.Unmarshal(body, &more)
	var definitions, list []json.RawMessage
	_ = json.Unmarshal(t.raw["AttributeDefinitions"], &definitions)
	_ = json.Unmarshal(t.raw["GlobalSecondaryIndexes"], &list)
	definitions = append(definitions, more.AttributeDefinitions...)
	for _, u := range r.GlobalSecondaryIndexUpdates {
		if made, ok := u["Create"]; ok {
			var ix map[string]json.RawMessage
			_ = json.Unmarshal(made, &ix)
			ix["IndexStatus"] = json.RawMessage(`"ACTIVE"`)
			text, _ := json.Marshal(ix)
			list = append(list, text)
		}
		if gone, ok := u["Delete"]; ok {
			list = slices.DeleteFunc(list, func(ix json.RawMessage) bool { return indexNameOf(ix) == indexNameOf(gone) })
		}
	}
	var spec struct{ StreamSpecification json.RawMessage }
	if _ = json.Unmarshal(body, &spec); spec.StreamSpecification != nil {
		t.setStream(spec.StreamSpecification)
	}
	t.raw["AttributeDefinitions"], _ = json.Marshal(definitions)
	t.raw["GlobalSecondaryIndexes"], _ = json.Marshal(list)
	t.read()
}

func indexNameOf(raw []byte) string {
	var ix struct{ IndexName string }
	_ = json.Unmarshal(raw, &ix)
	return ix.IndexName
}
