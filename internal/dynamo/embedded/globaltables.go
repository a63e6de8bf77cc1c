package embedded

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// Tables have no replicas, and their capacity is not scaled.

func (c *call) createGlobalTable() error {
	return wire.Invalid("One or more parameter values were invalid: DynamoDB global tables version 2017.11.29 is not supported. " +
		"We recommend using DynamoDB global tables version 2019.11.21, instead of version 2017.11.29 (Legacy).")
}

// noGlobalTable answers requests about one global table.
func (c *call) noGlobalTable() error {
	return &wire.Error{Type: "GlobalTableNotFoundException",
		Message: "Global table with name: '" + c.memberText("GlobalTableName") + "' does not exist."}
}

func (c *call) listGlobalTables() error {
	c.out = append(c.out, `{"GlobalTables":[]}`...)
	return nil
}

// noReplicas answers requests about the scaling of a table's replicas.
func (c *call) noReplicas() error {
	return &wire.Error{Type: "ResourceNotFoundException",
		Message: "Global table with name: '" + c.memberText("TableName") + "' does not exist."}
}
