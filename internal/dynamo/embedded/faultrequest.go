package embedded

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// faultRequest returns the request for the rules of faults. The shape of its body has been
// checked.
func (c *call) faultRequest(op *wire.Operation) *faults.Request {
	r := &faults.Request{Operation: op.Name, Access: op.Access, ARN: c.s.place().Table}
	switch op.Tables {
	case wire.InTableName:
		key := c.member("Key")
		if key == nil {
			key = c.member("Item")
		}
		addItem(r, c.memberText("TableName"), key)
	case wire.InTargetTableName:
		addItem(r, c.memberText("TargetTableName"), nil)
	case wire.InGlobalTableName:
		addItem(r, c.memberText("GlobalTableName"), nil)
	case wire.InResourceArn:
		addItem(r, c.memberText("ResourceArn"), nil)
	case wire.InTableArn:
		addItem(r, c.memberText("TableArn"), nil)
	case wire.InStreamArn:
		addItem(r, c.memberText("StreamArn"), nil)
	case wire.InRequestItems:
		c.addBatch(r)
	case wire.InTransactItems:
		for actions := wire.Array(c.member("TransactItems")); actions.Next(); {
			for action := wire.Object(actions.Value()); action.Next(); {
				addAction(r, action.Value())
			}
		}
	case wire.InStatement:
		addStatement(r, c.member("Statement"))
	case wire.InStatements, wire.InTransactStatements:
		for list := wire.Array(c.member(map[bool]string{true: "Statements", false: "TransactStatements"}[op.Tables == wire.InStatements])); list.Next(); {
			text, _ := wire.Lookup(list.Value(), "Statement")
			addStatement(r, text)
		}
	}
	return r
}

// addItem adds an item of a table, which may be named by an ARN.
func addItem(r *faults.Request, named string, key []byte) {
	if _, rest, ok := strings.Cut(named, ":table/"); ok && strings.HasPrefix(named, "arn:") {
		named, _, _ = strings.Cut(rest, "/")
	}
	if named != "" {
		r.Items = append(r.Items, faults.Item{Table: named, Key: key})
	}
}

// addBatch adds the items of a batch.
func (c *call) addBatch(r *faults.Request) {
	for _, e := range batchEntries(c.member("RequestItems")) {
		list := e.value
		if wire.Kind(list) == '{' {
			list, _ = wire.Lookup(list, "Keys")
		}
		for _, text := range elements(list) {
			addItem(r, e.named, itemIn(text))
		}
	}
}

// itemIn returns the item or key in an element of a batch.
func itemIn(element []byte) []byte {
	for _, path := range [][2]string{{"PutRequest", "Item"}, {"DeleteRequest", "Key"}} {
		if request, ok := wire.Lookup(element, path[0]); ok && wire.Kind(request) == '{' {
			item, _ := wire.Lookup(request, path[1])
			return item
		}
	}
	return element
}

// addAction adds the item of one action of a transaction.
func addAction(r *faults.Request, action []byte) {
	if wire.Kind(action) != '{' {
		return
	}
	table, _ := wire.Lookup(action, "TableName")
	name, _ := wire.AppendString(nil, table)
	key, ok := wire.Lookup(action, "Key")
	if !ok {
		key, _ = wire.Lookup(action, "Item")
	}
	addItem(r, string(name), key)
}

// addStatement adds the table of a statement.
func addStatement(r *faults.Request, quoted []byte) {
	text, _ := wire.AppendString(nil, quoted)
	if st, ok := partiql.Parse(text); ok {
		addItem(r, string(st.Table), nil)
	}
}
