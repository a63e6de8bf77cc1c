// Package differential sends the same generated requests, valid and invalid, to
// DynamoDB Local and to Kasoku's embedded store, in lock step, and compares what
// they answer and what they then hold: data, statuses and types of errors. Where
// DynamoDB Local departs from the service the service is right; departures holds
// each such difference with its reason, and nothing else may differ.
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

// request is one request to be sent to both.
type request struct {
	operation      string
	body           any    // an object
	index          *index // what a scan is of, unless it is the table
	damaged        bool   // it was changed so that it is likely to be refused
	mistyped       bool   // and that in a value's type of JSON
	removesNothing bool   // it removes from an item that is not there
}

func (r request) String() string { return r.operation + " " + text(r.body) }

// text is the JSON text of v, members sorted.
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

// sorted returns the names of an object's members in order.
func sorted(o object) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// writes tells whether an operation can change items.
func (r request) writes() bool {
	switch r.operation {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "ExecuteTransaction", "ExecuteStatement", "BatchExecuteStatement":
		return true
	}
	return false
}

// token is a transaction's, "" for none.
func (r request) token() string {
	body, _ := r.body.(object)
	token, _ := body["ClientRequestToken"].(string)
	return token
}

// changesTable tells whether an operation can change a table.
func (r request) changesTable() bool {
	switch r.operation {
	case "CreateTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive":
		return true
	}
	return false
}
