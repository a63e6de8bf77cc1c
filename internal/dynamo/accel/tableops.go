package accel

import (
	"net/http"
	"strings"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// otherRead forwards a read that is never cached.
func (c *call) otherRead() {
	if !c.authorizeAll(c.op.Access) {
		return
	}
	d := telemetry.Pass
	if c.op.Kind == wire.TransactGetItems {
		d = telemetry.BypassUncacheable
	}
	c.passRead(d)
}

// tableOperation forwards operations that change tables, and unknown operations. They count
// as writes to the tables in the request, or to all tables if these can't be determined.
func (c *call) tableOperation() {
	if !c.authorizeAll(c.op.Access) {
		return
	}
	var tags, schemas []cache.Tag
	names, ok := c.tableNames()
	for _, n := range names {
		t := newTableTags(c.set.tag, string(n))
		tags, schemas = append(tags, t.table, t.writes), append(schemas, t.schema)
	}
	if !ok || len(names) == 0 && c.op.Tables != wire.Account {
		tags = []cache.Tag{c.set.tag}
	}
	if !ok || len(names) == 0 {
		schemas = []cache.Tag{schemasTag(c.set.tag)}
	}
	c.passWriteAs(telemetry.Pass, cache.ByTable, append(tags, schemas...)...)
}

// authorizeAll checks the permission for every table in the request. It reports false if it
// has answered with an error. Access to all tables is required if the tables can't be
// determined, or if a table is created from another one. An unknown operation may change
// both tables and items.
func (c *call) authorizeAll(access wire.Access) bool {
	names, ok := c.tableNames()
	if len(names) > 0 {
		c.x.Record.Table = names[0]
	}
	if !ok || len(names) == 0 || c.op.Tables == wire.InTargetTableName {
		names = [][]byte{nil}
	}
	for _, n := range names {
		if !c.checkPermission(access, n) || c.op == &wire.UnknownOperation && !c.checkPermission(wire.Admin, n) {
			return false
		}
	}
	c.permitted = true
	return true
}

// tableNames returns the tables in a request. ok is false if the request may use others.
func (c *call) tableNames() (names [][]byte, ok bool) {
	if c.principal.allTables && c.op.Access == wire.Read {
		// A client with read access to all tables needs no check of names.
		return nil, true
	}
	body := c.x.Body
	add := func(quoted []byte) bool {
		name, ok := wire.AppendExact(nil, quoted)
		if !ok || len(tableOf(name)) == 0 {
			return false
		}
		names = append(names, tableOf(name))
		return true
	}
	switch c.op.Tables {
	case wire.InTableName:
		return c.single("TableName", add, &names)
	case wire.InTargetTableName:
		return c.single("TargetTableName", add, &names)
	case wire.InGlobalTableName:
		return c.single("GlobalTableName", add, &names)
	case wire.InResourceArn:
		return c.single("ResourceArn", add, &names)
	case wire.InTableArn:
		return c.single("TableArn", add, &names)
	case wire.InStreamArn:
		return c.single("StreamArn", add, &names)
	case wire.InRequestItems:
		items, ok := c.member("RequestItems")
		it := wire.Object(items)
		for ok && it.Next() {
			ok = add(it.QuotedName())
		}
		return names, ok && !it.Err()
	case wire.InTransactItems:
		return c.actionTables(add, &names)
	}
	if c.op == &wire.UnknownOperation {
		if v, there := wire.Lookup(body, "TableName"); there {
			return names, add(v)
		}
	}
	return names, false
}

func (c *call) single(member string, add func([]byte) bool, names *[][]byte) ([][]byte, bool) {
	v, ok := c.member(member)
	ok = ok && v != nil && add(v)
	return *names, ok
}

func (c *call) actionTables(add func([]byte) bool, names *[][]byte) ([][]byte, bool) {
	actions, ok := c.member("TransactItems")
	it := wire.Array(actions)
	for ok && it.Next() {
		action := wire.Object(it.Value())
		for ok && action.Next() {
			if wire.Kind(action.Value()) == 'n' {
				continue
			}
			_, ok = c.members(action.Value(), []string{"TableName"})
			ok = ok && add(c.m[0])
		}
		ok = ok && !action.Err()
	}
	return *names, ok && !it.Err()
}

// otherPath answers requests other than POST /: the health page, and DynamoDB's newer CBOR
// protocol, which is forwarded without parsing.
func (c *call) otherPath() {
	r := &c.x.Request
	method, path := string(r.Method), string(r.Path)
	op, isCBOR := strings.CutPrefix(path, "/service/DynamoDB_20120810/operation/")
	switch {
	case method == http.MethodGet && path == "/":
		body := append(append(append(c.x.Reply.Buf[:0], "healthy: "...), r.Host...), ' ')
		c.page(http.StatusOK, "text/plain", body, reasonHealth)
	case method == http.MethodOptions && c.crossOrigin():
		c.preflight()
	case method == http.MethodPost && isCBOR:
		c.passCBOR(op)
	default:
		c.notFound()
	}
}

// passCBOR forwards a request in the RPCv2-CBOR protocol. Its tables aren't determined, so a
// write drops everything of the service, and the client needs access to all tables.
func (c *call) passCBOR(operation string) {
	c.op, _ = wire.FindOperation([]byte(targetPrefix + operation))
	c.x.Record.Operation = c.op.Name
	if !c.authenticate() || !c.decode() {
		return
	}
	if c.set.cfg.Namespaced {
		c.passNamespaced()
		return
	}
	unknown := c.op == &wire.UnknownOperation
	if !c.authorize(c.op.Access, nil) || unknown && !c.authorize(wire.Admin, nil) {
		return
	}
	if c.op.Access == wire.Read {
		c.passRead(telemetry.BypassUncacheable)
		return
	}
	tags := []cache.Tag{c.set.tag}
	if unknown || c.op.Access == wire.Admin {
		tags = append(tags, schemasTag(c.set.tag))
	}
	c.passWrite(telemetry.Write, tags...)
}
