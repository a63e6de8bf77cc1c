package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The store keeps no statistics about frequently used items.

// insightsOf returns the table of a request about contributor insights, and an error if it
// or its index does not exist.
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

// appendNoInsights describes a table or index without contributor insights.
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

// updateContributorInsights accepts only turning them off.
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
