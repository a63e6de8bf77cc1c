package embedded

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The store makes no backups. What can be said of that truthfully is said, since
// clients ask as a matter of course, and what would be a promise is refused.

// errNoBackedTable is what operations on backups say of a table that is not there.
func errNoBackedTable(name string) *wire.Error {
	return &wire.Error{Type: "TableNotFoundException", Message: "Table not found: " + name}
}

// errNoBackups is for what only the service can do for a table.
var errNoBackups = &wire.Error{Type: "ContinuousBackupsUnavailableException", Message: "Backups have not yet been enabled for this table."}

// backedTable returns the error for a table that is not there; named is as the
// request has it.
func (s *Store) backedTable(named string) error {
	name, _ := shape.TableName(named)
	if _, err := s.info(name); err != nil {
		return errNoBackedTable(named)
	}
	return nil
}

func (c *call) describeContinuousBackups() error {
	if err := c.s.backedTable(c.memberText("TableName")); err != nil {
		return err
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
	if err := c.s.backedTable(c.memberText("TableName")); err != nil {
		return err
	}
	spec := c.member("PointInTimeRecoverySpecification")
	out := make([][]byte, 2)
	wire.Collect(spec, []string{"PointInTimeRecoveryEnabled", "RecoveryPeriodInDays"}, out)
	switch enable := string(out[0]); {
	case enable != "false" && enable != `"false"`:
		return errNoBackups
	case out[1] != nil:
		return wire.Invalid("Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.")
	}
	c.appendBackups()
	return nil
}

func (c *call) createBackup() error {
	if err := c.s.backedTable(c.memberText("TableName")); err != nil {
		return err
	}
	return errNoBackups
}

func (c *call) listBackups() error {
	c.out = append(c.out, `{"BackupSummaries":[]}`...)
	return nil
}

// noBackup answers what is asked of one backup.
func (c *call) noBackup() error {
	arn := c.memberText("BackupArn")
	if !isResource(arn, "/backup/") {
		return wire.Invalid("Invalid Backup ARN")
	}
	return &wire.Error{Type: "BackupNotFoundException", Message: "Backup not found: " + arn}
}

// isResource tells whether arn is that of something of DynamoDB's that has kind in
// its name.
func isResource(arn, kind string) bool {
	return strings.HasPrefix(arn, "arn:") && strings.Contains(arn, ":dynamodb:") && strings.Contains(arn, kind)
}

// restoreToPointInTime can't: no table has the state of an earlier time.
func (c *call) restoreToPointInTime() error {
	name, arn := c.memberText("SourceTableName"), c.memberText("SourceTableArn")
	if (name == "") == (arn == "") {
		return wire.Invalid("Must provide exactly one of: sourceTableArn, sourceTableName")
	}
	return c.s.noPointInTime(name + arn)
}

// noPointInTime says that the table, if there is one, has no state of an earlier
// time.
func (s *Store) noPointInTime(named string) error {
	if err := s.backedTable(named); err != nil {
		return err
	}
	name, _ := shape.TableName(named)
	return &wire.Error{Type: "PointInTimeRecoveryUnavailableException", Message: "Point in time recovery is not enabled for table '" + name + "'"}
}
