package differential

import (
	"fmt"
	"strings"
)

// request draws a request of any kind, occasionally a damaged one.
func (g *generator) request() request {
	if g.spare.busy > 0 && !g.oneIn(4) {
		return g.onSpare()
	}
	t := g.tables[g.IntN(len(g.tables))]
	r := g.sound(t)
	if g.oneIn(10) {
		return g.damage(r)
	}
	return r
}

// sound draws a request that is intended to be valid, though some are not.
func (g *generator) sound(t *table) request {
	switch k := g.IntN(100); {
	case k < 16:
		return g.put(t)
	case k < 34:
		return g.update(t)
	case k < 40:
		return g.deleteItem(t)
	case k < 48:
		return g.get(t)
	case k < 62:
		return g.query(t)
	case k < 70:
		return g.scan(t)
	case k < 75:
		return g.batchWrite()
	case k < 79:
		return g.batchGet()
	case k < 84:
		return g.transactWrite()
	case k < 85:
		return g.repeatTransaction(t)
	case k < 88:
		return g.transactGet()
	case k < 95:
		return g.statement(t)
	case k < 96:
		return g.onSpare()
	case k < 98:
		return g.maybeDamaged(g.stream(t))
	case k < 99:
		return request{operation: "DescribeTable", body: object{"TableName": t.name}}
	}
	return g.change(t)
}

// options adds members that all reads or all writes may have.
func (g *generator) options(body object) object {
	if g.oneIn(10) {
		body["ReturnConsumedCapacity"] = g.one("TOTAL", "INDEXES", "NONE")
	}
	return body
}

func (g *generator) writeOptions(t *table, body object, p *placeholders, returns ...string) object {
	_, updates := body["UpdateExpression"]
	switch {
	case g.oneIn(12) && (!updates || g.oneIn(10)):
		g.legacyExpected(body)
	case g.oneIn(3):
		body["ConditionExpression"] = p.condition(t, 2)
		if g.oneIn(3) {
			body["ReturnValuesOnConditionCheckFailure"] = g.one("ALL_OLD", "NONE")
		}
	}
	if g.oneIn(2) {
		body["ReturnValues"] = g.one(returns...)
	}
	if g.oneIn(10) {
		body["ReturnItemCollectionMetrics"] = "SIZE"
	}
	p.put(body)
	return g.options(body)
}

func (g *generator) put(t *table) request {
	return request{operation: "PutItem", body: g.writeOptions(t, object{"TableName": t.name, "Item": g.item(t)}, g.placeholders(), "NONE", "ALL_OLD", "ALL_OLD")}
}

func (g *generator) deleteItem(t *table) request {
	return request{operation: "DeleteItem", body: g.writeOptions(t, object{"TableName": t.name, "Key": g.key(t)}, g.placeholders(), "NONE", "ALL_OLD", "ALL_OLD")}
}

var everyReturn = []string{"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"}

func (g *generator) update(t *table) request {
	body, p := object{"TableName": t.name, "Key": g.key(t)}, g.placeholders()
	switch {
	case g.oneIn(8):
		g.legacyUpdates(t, body)
		if g.oneIn(3) {
			g.legacyExpected(body)
		}
		if g.oneIn(2) {
			body["ReturnValues"] = g.one(everyReturn...)
		}
		return request{operation: "UpdateItem", body: g.options(body)}
	case !g.oneIn(30):
		body["UpdateExpression"] = p.update(t)
	}
	return request{operation: "UpdateItem", body: g.writeOptions(t, body, p, everyReturn...)}
}

func (g *generator) get(t *table) request {
	body, p := object{"TableName": t.name, "Key": g.key(t)}, g.placeholders()
	g.readOptions(t, body, p)
	p.put(body)
	return request{operation: "GetItem", body: body}
}

// readOptions adds members that select the attributes and the consistency of a read.
func (g *generator) readOptions(t *table, body object, p *placeholders) {
	switch {
	case g.oneIn(3):
		body["ProjectionExpression"] = p.projection(t)
	case g.oneIn(10) && (len(p.names) == 0 || g.oneIn(5)):
		body["AttributesToGet"] = list{g.one(attributes...), t.hash.name}
	}
	if index, _ := body["IndexName"].(string); !strings.HasPrefix(index, "global") && g.oneIn(2) || g.oneIn(30) {
		body["ConsistentRead"] = g.oneIn(2)
	}
	g.options(body)
}

// paging adds members for the size and the order of a read.
func (g *generator) paging(t *table, body object) {
	if g.oneIn(3) {
		body["Limit"] = g.pick(1, 2, 3, 5, 1000)
	}
	if g.oneIn(60) {
		body["Limit"] = g.pick(0, -1)
	}
	if g.oneIn(60) {
		body["ExclusiveStartKey"] = g.key(t)
	}
	if g.oneIn(14) {
		body["Select"] = g.one("ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT", "COUNT")
	}
}

// readTarget draws the source of a read: the table or one of its indexes.
func (g *generator) readTarget(t *table, body object) ([]key, *index) {
	indexes := t.indexes()
	if len(indexes) == 0 || g.oneIn(2) {
		if g.oneIn(100) {
			body["IndexName"] = "no-such-index"
		}
		return t.keys(), nil
	}
	x := indexes[g.IntN(len(indexes))]
	body["IndexName"] = x.name
	return x.keys(), &x
}

func (g *generator) query(t *table) request {
	body, p := object{"TableName": t.name}, g.placeholders()
	keys, _ := g.readTarget(t, body)
	if g.oneIn(8) {
		g.legacyKeys(keys, body)
	} else {
		body["KeyConditionExpression"] = p.keyCondition(keys)
		if g.oneIn(4) {
			body["FilterExpression"] = p.condition(t, 2)
		}
		g.readOptions(t, body, p)
	}
	g.paging(t, body)
	if g.oneIn(3) {
		body["ScanIndexForward"] = g.oneIn(3)
	}
	p.put(body)
	return request{operation: "Query", body: body}
}

func (g *generator) scan(t *table) request {
	body, p := object{"TableName": t.name}, g.placeholders()
	_, x := g.readTarget(t, body)
	if g.oneIn(8) {
		body["ScanFilter"] = g.legacyConditions()
		if g.oneIn(3) {
			body["ConditionalOperator"] = g.one("AND", "OR")
		}
	} else {
		if g.oneIn(2) {
			body["FilterExpression"] = p.condition(t, 2)
		}
		g.readOptions(t, body, p)
	}
	g.paging(t, body)
	if g.oneIn(8) {
		body["TotalSegments"] = 3
		body["Segment"] = g.pick(0, 1, 2, 3)
	}
	p.put(body)
	return request{operation: "Scan", body: body, index: x}
}

// keysOf draws n keys of a table, with occasional duplicates.
func (g *generator) keysOf(t *table, n int) list {
	seen, keys := map[string]bool{}, list{}
	for range n {
		k := g.key(t)
		if s := text(k); !seen[s] || g.oneIn(20) {
			seen[s] = true
			keys = append(keys, k)
		}
	}
	return keys
}

func (g *generator) batchGet() request {
	items := object{}
	for _, t := range g.tables {
		if g.oneIn(3) {
			continue
		}
		part, p := object{"Keys": g.keysOf(t, 1+g.IntN(5))}, g.placeholders()
		if g.oneIn(4) {
			part["ProjectionExpression"] = p.projection(t)
		}
		p.put(part)
		items[t.name] = part
	}
	return request{operation: "BatchGetItem", body: g.options(object{"RequestItems": items})}
}

func (g *generator) batchWrite() request {
	items := object{}
	for _, t := range g.tables {
		if g.oneIn(3) {
			continue
		}
		writes := list{}
		for _, k := range g.keysOf(t, 1+g.IntN(4)) {
			if g.oneIn(3) {
				writes = append(writes, object{"DeleteRequest": object{"Key": k}})
				continue
			}
			item := g.item(t)
			for name, v := range k.(object) {
				item[name] = v
			}
			writes = append(writes, object{"PutRequest": object{"Item": item}})
		}
		items[t.name] = writes
	}
	return request{operation: "BatchWriteItem", body: g.options(object{"RequestItems": items})}
}

func (g *generator) transactWrite() request {
	actions := list{}
	for range 1 + g.IntN(4) {
		t := g.tables[g.IntN(len(g.tables))]
		actions = append(actions, g.action(t))
	}
	body := object{"TransactItems": actions}
	if g.oneIn(6) {
		g.token++
		body["ClientRequestToken"] = fmt.Sprintf("token-%s-%d", side, g.token)
		g.lastTransaction = body
	}
	return request{operation: "TransactWriteItems", body: g.options(body)}
}

// repeatTransaction repeats the last transaction with a token, or sends another one with
// that token.
func (g *generator) repeatTransaction(t *table) request {
	if g.lastTransaction == nil {
		return g.transactWrite()
	}
	body := clone(g.lastTransaction).(object)
	if g.oneIn(2) {
		actions := body["TransactItems"].(list)
		actions[0] = g.action(t)
	}
	return request{operation: "TransactWriteItems", body: body}
}

func (g *generator) action(t *table) object {
	body, p := object{"TableName": t.name}, g.placeholders()
	kind := g.one("Put", "Update", "Update", "Delete", "ConditionCheck")
	switch kind {
	case "Put":
		body["Item"] = g.item(t)
	case "Update":
		body["Key"] = g.key(t)
		body["UpdateExpression"] = p.update(t)
	default:
		body["Key"] = g.key(t)
	}
	if kind == "ConditionCheck" || g.oneIn(4) {
		body["ConditionExpression"] = p.condition(t, 1)
	}
	if g.oneIn(4) {
		body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
	}
	p.put(body)
	return object{kind: body}
}

func (g *generator) transactGet() request {
	gets := list{}
	for range 1 + g.IntN(4) {
		t := g.tables[g.IntN(len(g.tables))]
		body, p := object{"TableName": t.name, "Key": g.key(t)}, g.placeholders()
		if g.oneIn(3) {
			body["ProjectionExpression"] = p.projection(t)
		}
		p.put(body)
		gets = append(gets, object{"Get": body})
	}
	return request{operation: "TransactGetItems", body: g.options(object{"TransactItems": gets})}
}

// change draws a request about the table itself that changes nothing, or is refused.
func (g *generator) change(t *table) request {
	switch g.IntN(9) {
	case 7:
		body := object{}
		if g.oneIn(2) {
			body["Limit"] = g.pick(100, 100, 7, 0, 101)
		}
		if g.oneIn(2) {
			body["ExclusiveStartTableName"] = g.tables[0].name
		}
		return request{operation: "ListTables", body: body}
	case 8:
		return request{operation: "DescribeLimits", body: object{}}
	case 0:
		return t.create() // it exists
	case 1:
		return request{operation: "DescribeTable", body: object{"TableName": "no-such-table"}}
	case 2:
		return request{operation: "DeleteTable", body: object{"TableName": "no-such-table"}}
	case 3:
		return request{operation: "UpdateTable", body: object{"TableName": t.name}}
	case 4:
		return request{operation: "UpdateTable", body: object{"TableName": t.name, "GlobalSecondaryIndexUpdates": list{object{"Delete": object{"IndexName": "no-such-index"}}}}}
	case 5:
		return request{operation: "DescribeTimeToLive", body: object{"TableName": t.name}}
	}
	r := g.sound(t)
	if body, ok := r.body.(object); ok && body["TableName"] != nil {
		body["TableName"] = "no-such-table"
	}
	return r
}
