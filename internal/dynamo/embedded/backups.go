package embedded

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The store makes no backups. Clients query their state as a matter of course, so it answers
// such queries truthfully, and refuses requests that would create one.

// errNoBackedTable is the error of operations on backups for a missing table.
func errNoBackedTable(name string) *wire.Error {
	return &wire.Error{Type: "TableNotFoundException", Message: "Table not found: " + name}
}

// errNoBackups is the error for operations that need backups.
var errNoBackups = &wire.Error{Type: "ContinuousBackupsUnavailableException", Message: "Backups have not yet been enabled for this table."}

// backedTable returns an error if the table does not exist; named is the request's text.
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

// updateContinuousBackups accepts only point-in-time recovery being turned off.
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

// noBackup answers requests about one backup.
func (c *call) noBackup() error { return c.missingResource("Backup") }

// missingResource returns the error of requests about one resource of a kind, such as
// Backup, that the store never has.
func (c *call) missingResource(kind string) error {
	arn := c.memberText(kind + "Arn")
	if !isResource(arn, "/"+strings.ToLower(kind)+"/") {
		return wire.Invalid("Invalid %s ARN", kind)
	}
	return &wire.Error{Type: kind + "NotFoundException", Message: kind + " not found: " + arn}
}

// isResource reports whether arn is a DynamoDB ARN that contains kind.
func isResource(arn, kind string) bool {
	return strings.HasPrefix(arn, "arn:") && strings.Contains(arn, ":dynamodb:") && strings.Contains(arn, kind)
}

// restoreToPointInTime always fails: no earlier states of tables are kept.
func (c *call) restoreToPointInTime() error {
	name, arn := c.memberText("SourceTableName"), c.memberText("SourceTableArn")
	if (name == "") == (arn == "") {
		return wire.Invalid("Must provide exactly one of: sourceTableArn, sourceTableName")
	}
	return c.s.noPointInTime(name + arn)
}

// noPointInTime returns the error for a table without earlier states, or for a missing
// table.
func (s *Store) noPointInTime(named string) error {
	if err := s.backedTable(named); err != nil {
		return err
	}
	name, _ := shape.TableName(named)
	return &wire.Error{Type: "PointInTimeRecoveryUnavailableException", Message: "Point in time recovery is not enabled for table '" + name + "'"}
}
