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

func (c *call) describeExport() error {
	arn := c.memberText("ExportArn")
	if !isResource(arn, "/export/") {
		return wire.Invalid("Invalid Export ARN")
	}
	return &wire.Error{Type: "ExportNotFoundException", Message: "Export not found: " + arn}
}

func (c *call) listExports() error {
	c.out = append(c.out, `{"ExportSummaries":[]}`...)
	return nil
}

func (c *call) describeImport() error {
	arn := c.memberText("ImportArn")
	if !isResource(arn, "/import/") {
		return wire.Invalid("Invalid Import ARN")
	}
	return &wire.Error{Type: "ImportNotFoundException", Message: "Import not found: " + arn}
}

func (c *call) listImports() error {
	c.out = append(c.out, `{"ImportSummaryList":[]}`...)
	return nil
}

func (c *call) importTable() error {
	return wire.Invalid("Invalid Request: Importing tables from S3 is not supported")
}
