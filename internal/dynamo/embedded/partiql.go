package embedded

import "github.com/kasoku/kasoku/internal/dynamo/partiql"

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
