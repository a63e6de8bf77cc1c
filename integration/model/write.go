package model

import (
	"encoding/json"
	"hash/maphash"
)

// change is a write that has been checked and can be applied.
type change struct {
	table *table
	cell  *cell
	item  Item // nil: delete
	write bool // false for a ConditionCheck
}

// prepare checks one write against the present state without executing it. failed reports a
// false condition; err is for everything else.
func (db *DB) prepare(kind string, r *request) (c change, failed bool, err *apiError) {
	t := db.tables[r.TableName]
	if t == nil {
		return c, false, noTable()
	}
	key := r.Key
	if kind == "Put" {
		if err := t.checkKey(r.Item, false); err != nil {
			return c, false, err
		}
		key = t.keyOf(r.Item)
	} else if err := t.checkKey(key, true); err != nil {
		return c, false, err
	}
	c = change{table: t, cell: t.find(key), write: kind != "ConditionCheck"}
	before := c.cell.now()
	if r.ConditionExpression != "" {
		holds, err := parseCond(r.ConditionExpression, r.scope())
		if err != nil {
			return c, false, invalid("Invalid ConditionExpression: " + err.Error())
		}
		if !holds(before) {
			return c, true, nil
		}
	}
	switch kind {
	case "Put":
		c.item = r.Item
	case "Update":
		c.item, err = updated(before, key, r)
	}
	normalise(c.item)
	return c, false, err
}

// normalise converts numbers to the form that DynamoDB returns. Numbers inside lists and
// maps are not changed.
func normalise(item Item) {
	for name, raw := range item {
		if v := parseValue(raw); v.num != nil {
			item[name] = number(v.num)
		}
	}
}

func updated(before, key Item, r *request) (Item, *apiError) {
	after := clone(before)
	for name, v := range key {
		after[name] = v
	}
	if r.UpdateExpression == "" {
		return after, nil
	}
	apply, err := parseUpdate(r.UpdateExpression, r.scope())
	if err != nil {
		return nil, invalid("Invalid UpdateExpression: " + err.Error())
	}
	if err := apply(after); err != nil {
		return nil, invalid(err.Error())
	}
	return after, nil
}

// single executes a single write and returns the attributes requested by ReturnValues.
func (db *DB) single(kind string, r *request) (any, *apiError) {
	c, failed, err := db.prepare(kind, r)
	if err != nil {
		return nil, err
	}
	before := c.cell.now()
	if failed {
		err := &apiError{Type: namespace + "ConditionalCheckFailedException", Message: "The conditional request failed"}
		if r.OnFailure == "ALL_OLD" {
			err.Item = before
		}
		return nil, err
	}
	db.apply(c)
	answer := map[string]any{}
	if r.ReturnValues == "ALL_OLD" && before != nil {
		answer["Attributes"] = before
	}
	if r.ReturnValues == "ALL_NEW" {
		answer["Attributes"] = c.item
	}
	return answer, nil
}

func (db *DB) apply(c change) {
	if !c.write || (c.item == nil && c.cell.now() == nil) {
		return
	}
	db.write(c.table, c.cell, c.item)
}

func (db *DB) putItem(r *request) (any, *apiError)    { return db.single("Put", r) }
func (db *DB) updateItem(r *request) (any, *apiError) { return db.single("Update", r) }
func (db *DB) deleteItem(r *request) (any, *apiError) { return db.single("Delete", r) }

type writeRequest struct {
	PutRequest    *struct{ Item Item } `json:",omitempty"`
	DeleteRequest *struct{ Key Item }  `json:",omitempty"`
}

func (db *DB) batchWrite(r *request) (any, *apiError) {
	unprocessed := map[string][]writeRequest{}
	for name, raw := range r.RequestItems {
		var members []writeRequest
		if json.Unmarshal(raw, &members) != nil {
			return nil, invalid("Unexpected field type")
		}
		for _, m := range members {
			if db.skipMember() {
				unprocessed[name] = append(unprocessed[name], m)
				continue
			}
			kind, one := "Delete", &request{TableName: name}
			if m.PutRequest != nil {
				kind, one.Item = "Put", m.PutRequest.Item
			} else {
				one.Key = m.DeleteRequest.Key
			}
			c, _, err := db.prepare(kind, one)
			if err != nil {
				return nil, err
			}
			db.apply(c)
		}
	}
	return map[string]any{"UnprocessedItems": unprocessed}, nil
}

var seed = maphash.MakeSeed()

func (db *DB) transactWrite(r *request) (any, *apiError) {
	print := maphash.Bytes(seed, r.body)
	if done, ok := db.tokens[r.ClientRequestToken]; ok && r.ClientRequestToken != "" {
		if done != print {
			return nil, &apiError{Type: namespace + "IdempotentParameterMismatchException", Message: "parameters differ"}
		}
		return map[string]any{}, nil
	}
	var changes []change
	reasons, canceled := []reason{}, false
	for _, member := range r.TransactItems {
		for kind, one := range member {
			c, failed, err := db.prepare(kind, one)
			if err != nil {
				return nil, err
			}
			why := reason{Code: "None"}
			if failed {
				canceled = true
				why = reason{Code: "ConditionalCheckFailed", Message: "The conditional request failed"}
				if one.OnFailure == "ALL_OLD" {
					why.Item = c.cell.now()
				}
			}
			reasons = append(reasons, why)
			changes = append(changes, c)
		}
	}
	if canceled {
		return nil, &apiError{Type: namespace + "TransactionCanceledException",
			Message: "Transaction cancelled, please refer cancellation reasons for specific reasons", Reasons: reasons}
	}
	for _, c := range changes {
		db.apply(c)
	}
	if r.ClientRequestToken != "" {
		db.tokens[r.ClientRequestToken] = print
	}
	return map[string]any{}, nil
}
