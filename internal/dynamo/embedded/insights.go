package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Nobody keeps count of who uses which items, and changes go to no Kinesis stream.

// insightsOf returns the table that a request about contributor insights names,
// and an error if it or its index is not there.
func (c *call) insightsOf() (*catalog.Table, error) {
	info, err := c.s.info(c.tableName())
	if err != nil {
		return nil, err
	}
	index := c.memberText("IndexName")
	if x := info.Index(index); index != "" && (x == nil || x.Local) {
		return nil, &wire.Error{Type: "ResourceNotFoundException",
			Message: "Requested resource not found: Index: " + index + " not found for table: " + info.Name}
	}
	return info, nil
}

func (c *call) describeContributorInsights() error {
	info, err := c.insightsOf()
	if err != nil {
		return err
	}
	c.appendNoInsights(info)
	return nil
}

// appendNoInsights says that a table or index has no contributor insights.
func (c *call) appendNoInsights(info *catalog.Table) {
	o := c.object()
	o.member("TableName")
	c.out = wire.AppendQuoted(c.out, []byte(info.Name))
	if index := c.memberText("IndexName"); index != "" {
		o.member("IndexName")
		c.out = wire.AppendQuoted(c.out, []byte(index))
	}
	o.member("ContributorInsightsStatus")
	c.out = append(c.out, `"DISABLED"`...)
	o.end()
}

// updateContributorInsights can leave them off and nothing else.
func (c *call) updateContributorInsights() error {
	info, err := c.insightsOf()
	if err != nil {
		return err
	}
	if c.memberText("ContributorInsightsAction") == "ENABLE" {
		return wire.Invalid("One or more parameter values were invalid: Contributor insights are not supported")
	}
	c.appendNoInsights(info)
	return nil
}

func (c *call) listContributorInsights() error {
	if c.member("TableName") != nil {
		if _, err := c.s.info(c.tableName()); err != nil {
			return err
		}
	}
	c.out = append(c.out, `{"ContributorInsightsSummaries":[]}`...)
	return nil
}

func (c *call) describeKinesisStreamingDestination() error {
	info, err := c.s.info(c.tableName())
	if err != nil {
		return err
	}
	o := c.object()
	o.member("TableName")
	c.out = wire.AppendQuoted(c.out, []byte(info.Name))
	o.member("KinesisDataStreamDestinations")
	c.out = append(c.out, "[]"...)
	o.end()
	return nil
}

func (c *call) enableKinesisStreamingDestination() error {
	if _, err := c.s.info(c.tableName()); err != nil {
		return err
	}
	return wire.Invalid("One or more parameter values were invalid: Kinesis streaming destinations are not supported")
}

func (c *call) disableKinesisStreamingDestination() error {
	if _, err := c.s.info(c.tableName()); err != nil {
		return err
	}
	return wire.Invalid("Table is not in a valid state to enable Kinesis Streaming Destination: " +
		"KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.")
}

func (c *call) updateKinesisStreamingDestination() error {
	info, err := c.s.info(c.tableName())
	if err != nil {
		return err
	}
	return wire.Invalid("Table is not in a valid state to enable Kinesis Streaming Destination: Kinesis streaming is not in ACTIVE state. "+
		"Updates are only allowed in ACTIVE state. TableName: %s, kdsArn: %s", info.Name, c.memberText("StreamArn"))
}
