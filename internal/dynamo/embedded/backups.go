package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The store makes no backups, and tables of it have no replicas. Clients ask about
// both as a matter of course; what can be said truthfully is said, and what would
// be a promise is refused in the service's words. Operations that are not here are
// unknown.

// errNoBackedTable is what operations on backups say of a table that is not there.
func errNoBackedTable(name string) *wire.Error {
	return &wire.Error{Type: "TableNotFoundException", Message: "Table not found: " + name}
}

func (c *call) describeContinuousBackups() error {
	name := c.tableName()
	if _, err := c.s.info(name); err != nil {
		return errNoBackedTable(name)
	}
	c.appendBackups()
	return nil
}

func (c *call) appendBackups() {
	c.out = append(c.out, `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED",`+
		`"PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`...)
}

// updateContinuousBackups can leave point-in-time recovery off and nothing else.
func (c *call) updateContinuousBackups() error {
	name := c.tableName()
	if _, err := c.s.info(name); err != nil {
		return errNoBackedTable(name)
	}
	spec := c.member("PointInTimeRecoverySpecification")
	out := make([][]byte, 2)
	wire.Collect(spec, []string{"PointInTimeRecoveryEnabled", "RecoveryPeriodInDays"}, out)
	switch enable := string(out[0]); {
	case enable != "false" && enable != `"false"`:
		return &wire.Error{Type: "ContinuousBackupsUnavailableException", Message: "Backups have not yet been enabled for this table."}
	case out[1] != nil:
		return wire.Invalid("Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.")
	}
	c.appendBackups()
	return nil
}

func (c *call) createGlobalTable() error {
	return wire.Invalid("One or more parameter values were invalid: DynamoDB global tables version 2017.11.29 is not supported. " +
		"We recommend using DynamoDB global tables version 2019.11.21, instead of version 2017.11.29 (Legacy).")
}

// noGlobalTable answers what is asked of one global table.
func (c *call) noGlobalTable() error {
	return &wire.Error{Type: "GlobalTableNotFoundException",
		Message: "Global table with name '" + c.memberText("GlobalTableName") + "' does not exist."}
}

func (c *call) listGlobalTables() error {
	c.out = append(c.out, `{"GlobalTables":[]}`...)
	return nil
}
