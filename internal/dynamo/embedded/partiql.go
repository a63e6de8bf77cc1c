package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// errStatementTable is the error of statements for a missing table. It differs for an
// invalid table name.
func errStatementTable(named string) *wire.Error {
	if name, ok := shape.TableName(named); !ok || len(name) < 3 || len(name) > 255 {
		return wire.Invalid("Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'.")
	}
	return errNoTable()
}

// executeStatement answers ExecuteStatement.
func (c *call) executeStatement() error {
	r, err := parseExecuteStatement(c.body)
	if err != nil {
		return err
	}
	cmd, err := partiql.Translate(r.Text, r.Parameters, false)
	if err != nil {
		return statementFault(err)
	}
	if cmd.Kind == partiql.Select {
		return c.executeSelect(&r, cmd)
	}
	return c.executeWrite(&r, cmd)
}
