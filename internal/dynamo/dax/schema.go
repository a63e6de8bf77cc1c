package dax

import (
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The limits of a table name's length. DynamoDB rejects other names as invalid rather than
// as not found; compatible stores may have tables with shorter names.
const (
	shortestTable = 3
	longestTable  = 255
)

// defineKeySchema returns the names and types of a table's key attributes, in order. Clients
// request them before they build the first key, and keep them.
func (k *call) defineKeySchema() {
	table := k.args.String()
	if err := k.args.Close(); err != nil {
		k.fail(fault.Invalid("The table's name could not be read: %v", err))
		return
	}
	if !k.checkTableName(table) {
		return
	}
	k.line.Table = table
	// Writers need the key schema as well as readers.
	if !k.client.Allowed(wire.Write, table) && !k.authorize(wire.Read, table) {
		return
	}
	s, ok := k.schema(table)
	if !ok {
		return
	}
	keys := keySchema(s)
	k.out = keys.AppendReply(append(k.out, success))
	k.local()
}

// checkTableName rejects an overlong table name before it is used for permissions, the
// access log or an error. It returns false if it has failed the call.
func (k *call) checkTableName(table []byte) bool {
	if len(table) > longestTable {
		k.misnamed()
		return false
	}
	return true
}

func (k *call) misnamed() {
	k.fail(fault.Invalid("TableName must be at least %d characters long and at most %d characters long", shortestTable, longestTable))
}

// schema returns the key schema of a table. It returns false if it has failed the call.
func (k *call) schema(table []byte) (*accel.Schema, bool) {
	if s, ok := k.client.CachedSchema(table, k.now); ok {
		return s, true
	}
	if len(table) == 0 {
		k.misnamed()
		return nil, false
	}
	s, err := k.client.Schema(k.ctx(), table)
	switch {
	case err == nil:
		return s, true
	case errors.Is(err, accel.ErrNoTable):
		k.fail(fault.New("ResourceNotFoundException", "Requested resource not found: Table: %s not found", table))
	case len(table) < shortestTable && errors.Is(err, accel.ErrUnknownTable):
		k.misnamed()
	default:
		k.fail(fault.New("InternalServerError", "The key schema of table %s could not be determined: %v", table, err))
	}
	return nil, false
}

// authorize checks the client's permission for a table. It returns false if it has failed
// the call.
func (k *call) authorize(access wire.Access, table []byte) bool {
	if k.client.Allowed(access, table) {
		return true
	}
	k.srv.metrics.denied.Inc()
	k.line.Reason = reasonPermission
	k.fail(fault.New("AccessDeniedException", "The access key %s is not authorized to perform: dynamodb:%s on table %s",
		k.conn.auth.id, k.method.name, table))
	return false
}
