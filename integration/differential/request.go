// Package differential sends the same generated requests, valid and invalid, to DynamoDB
// Local and to Kasoku's embedded store, one at a time, and compares the answers and the
// contents of the tables: data, statuses and types of errors. Where DynamoDB Local differs
// from the service, the store follows the service; departures lists each such difference
// with its reason. No other difference is allowed.
package differential

import (
	"encoding/json"
	"slices"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// list is a JSON array.
type list = []any

// request is one request to both ends.
type request struct {
	operation      string
	body           any    // an object
	index          *index // the scanned index, nil for the table
	damaged        bool   // changed so that it is likely to be refused
	mistyped       bool   // damaged in the JSON type of a value
	removesNothing bool   // removes attributes of an item that does not exist
}

func (r request) String() string { return r.operation + " " + text(r.body) }

// text returns the JSON text of v, with sorted members.
func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// clone copies a JSON value.
func clone(v any) any {
	switch v := v.(type) {
	case object:
		out := make(object, len(v))
		for name, inner := range v {
			out[name] = clone(inner)
		}
		return out
	case list:
		out := make(list, len(v))
		for i, inner := range v {
			out[i] = clone(inner)
		}
		return out
	}
	return v
}

// sorted returns the sorted names of an object's members.
func sorted(o object) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// writes reports whether the operation can change items.
func (r request) writes() bool {
	switch r.operation {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "ExecuteTransaction", "ExecuteStatement", "BatchExecuteStatement":
		return true
	}
	return false
}

// token returns the token of a transaction, "" for none.
func (r request) token() string {
	body, _ := r.body.(object)
	token, _ := body["ClientRequestToken"].(string)
	return token
}

// changesTable reports whether the operation can change a table.
func (r request) changesTable() bool {
	switch r.operation {
	case "CreateTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive":
		return true
	}
	return false
}
