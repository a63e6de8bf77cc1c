package embedded

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// The store exports nothing to S3 and imports nothing from there.

// exportTable always fails: no earlier states of tables are kept.
func (c *call) exportTable() error {
	arn := c.memberText("TableArn")
	if !isResource(arn, "table/") {
		return wire.Invalid("Invalid TableArn: Invalid Table ARN")
	}
	return c.s.noPointInTime(arn)
}

func (c *call) describeExport() error { return c.missingResource("Export") }

func (c *call) listExports() error {
	c.out = append(c.out, `{"ExportSummaries":[]}`...)
	return nil
}

func (c *call) describeImport() error { return c.missingResource("Import") }

func (c *call) listImports() error {
	c.out = append(c.out, `{"ImportSummaryList":[]}`...)
	return nil
}

func (c *call) importTable() error {
	return wire.Invalid("Invalid Request: Importing tables from S3 is not supported")
}
