package model

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

func (db *DB) getItem(r *request) (any, *apiError) {
	t := db.tables[r.TableName]
	if t == nil {
		return nil, noTable()
	}
	if err := t.checkKey(r.Key, true); err != nil {
		return nil, err
	}
	project, err := projection(r.ProjectionExpression, r.scope())
	if err != nil {
		return nil, err
	}
	return itemAnswer(project(t.find(r.Key).at(db.view(r.ConsistentRead, db.lag)))), nil
}

func itemAnswer(item Item) map[string]Item {
	if item == nil {
		return map[string]Item{}
	}
	return map[string]Item{"Item": item}
}

// projection returns a function that extracts the named top-level attributes of an item;
// without an expression, all of them.
func projection(text string, s *scope) (func(Item) Item, *apiError) {
	if text == "" {
		return func(item Item) Item { return item }, nil
	}
	var names []string
	for part := range strings.SplitSeq(text, ",") {
		name, err := s.name(strings.TrimSpace(part))
		if err != nil {
			return nil, invalid("Invalid ProjectionExpression: " + err.Error())
		}
		names = append(names, name)
	}
	return func(item Item) Item {
		if item == nil {
			return nil
		}
		some := Item{}
		for _, name := range names {
			if v := item[name]; v != nil {
				some[name] = v
			}
		}
		return some
	}, nil
}

type keysAndAttributes struct {
	Keys                     []Item
	ConsistentRead           bool
	ProjectionExpression     string
	ExpressionAttributeNames map[string]string
}

func (db *DB) batchGet(r *request) (any, *apiError) {
	responses := map[string][]Item{}
	unprocessed := map[string]keysAndAttributes{}
	for name, raw := range r.RequestItems {
		t := db.tables[name]
		if t == nil {
			return nil, noTable()
		}
		var want keysAndAttributes
		if json.Unmarshal(raw, &want) != nil {
			return nil, invalid("Unexpected field type")
		}
		project, err := projection(want.ProjectionExpression, &scope{names: want.ExpressionAttributeNames})
		if err != nil {
			return nil, err
		}
		left := want
		left.Keys = nil
		responses[name] = []Item{}
		for _, key := range want.Keys {
			if err := t.checkKey(key, true); err != nil {
				return nil, err
			}
			if db.skipMember() {
				left.Keys = append(left.Keys, key)
				continue
			}
			// Each key may be read from another replica.
			if item := t.find(key).at(db.view(want.ConsistentRead, db.lag)); item != nil {
				responses[name] = append(responses[name], project(item))
			}
		}
		if left.Keys != nil {
			unprocessed[name] = left
		}
	}
	return map[string]any{"Responses": responses, "UnprocessedKeys": unprocessed}, nil
}

func (db *DB) transactGet(r *request) (any, *apiError) {
	at := db.tick()
	responses := []map[string]Item{}
	for _, member := range r.TransactItems {
		get := member["Get"]
		t := db.tables[get.TableName]
		if t == nil {
			return nil, noTable()
		}
		if err := t.checkKey(get.Key, true); err != nil {
			return nil, err
		}
		project, err := projection(get.ProjectionExpression, get.scope())
		if err != nil {
			return nil, err
		}
		responses = append(responses, itemAnswer(project(t.find(get.Key).at(at))))
	}
	return map[string]any{"Responses": responses}, nil
}

func (db *DB) query(r *request) (any, *apiError) {
	t := db.tables[r.TableName]
	if t == nil {
		return nil, noTable()
	}
	keys, lag := t.keys, db.lag
	if r.IndexName != "" {
		index, ok := t.indexes[r.IndexName]
		if !ok {
			return nil, invalid("The table does not have the specified index: " + r.IndexName)
		}
		if r.ConsistentRead {
			return nil, invalid("Consistent reads are not supported on global secondary indexes")
		}
		keys, lag = index, db.ilag
	}
	partition, ok := equalTo(r.KeyConditionExpression, keys.partition, r.scope())
	if !ok {
		return nil, invalid("Query condition missed key schema element: " + keys.partition)
	}
	inKey, err := parseCond(r.KeyConditionExpression, r.scope())
	if err != nil {
		return nil, invalid("Invalid KeyConditionExpression: " + err.Error())
	}
	at := db.view(r.ConsistentRead, lag)
	var cells []*cell
	if r.IndexName != "" {
		cells = t.indexCells(r.IndexName, partition, at)
	} else if p := t.parts[partition]; p != nil {
		cells = slices.Clone(p.cells)
	}
	if r.ScanIndexForward != nil && !*r.ScanIndexForward {
		slices.Reverse(cells)
	}
	return t.page(r, cells, at, func(item Item) bool {
		// A cell remains listed under every index partition that it was ever in.
		return string(canonical(item[keys.partition])) == partition && inKey(item)
	}, keys)
}

// equalTo finds "name = :value" in a key condition and returns the value in canonical form.
func equalTo(text, name string, s *scope) (string, bool) {
	l := lex(text)
	for l.next != "" {
		token := l.take()
		if n, err := s.name(token); err == nil && n == name && l.accept("=") {
			raw, ok := s.values[l.next]
			return string(canonical(raw)), ok
		}
	}
	return "", false
}

func (db *DB) scan(r *request) (any, *apiError) {
	t := db.tables[r.TableName]
	if t == nil {
		return nil, noTable()
	}
	if r.IndexName != "" {
		return nil, invalid("scans of indexes are not modelled")
	}
	return t.page(r, t.allCells, db.view(r.ConsistentRead, db.lag), func(Item) bool { return true }, t.keys)
}

// page returns the items at time at of the cells after ExclusiveStartKey, up to Limit.
func (t *table) page(r *request, cells []*cell, at time.Duration, in func(Item) bool, keys keySchema) (any, *apiError) {
	project, failure := projection(r.ProjectionExpression, r.scope())
	if failure != nil {
		return nil, failure
	}
	filter := func(Item) bool { return true }
	if r.FilterExpression != "" {
		var err error
		if filter, err = parseCond(r.FilterExpression, r.scope()); err != nil {
			return nil, invalid("Invalid FilterExpression: " + err.Error())
		}
	}
	if r.ExclusiveStartKey != nil {
		start := t.find(t.keyOf(r.ExclusiveStartKey))
		cells = cells[slices.Index(cells, start)+1:]
	}
	items, scanned := []Item{}, 0
	answer := map[string]any{}
	for _, c := range cells {
		item := c.at(at)
		if item == nil || !in(item) {
			continue
		}
		scanned++
		if filter(item) {
			items = append(items, project(item))
		}
		if r.Limit > 0 && scanned == r.Limit {
			last := clone(c.key)
			last[keys.partition] = item[keys.partition]
			if keys.sort != "" {
				last[keys.sort] = item[keys.sort]
			}
			answer["LastEvaluatedKey"] = last
			break
		}
	}
	answer["Count"], answer["ScannedCount"] = len(items), scanned
	if r.Select != "COUNT" {
		answer["Items"] = items
	}
	return answer, nil
}
