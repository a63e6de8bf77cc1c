package embedded

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// Changes are not sent to Kinesis.

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
