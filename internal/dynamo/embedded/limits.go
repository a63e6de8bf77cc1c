package embedded

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Capacity units that an account and a table may have, as the service has them for
// most regions. The store enforces none.
const (
	accountUnits = 80000
	tableUnits   = 40000
)

func (c *call) describeLimits() error {
	for i, limit := range []struct {
		name  string
		units int64
	}{
		{"AccountMaxReadCapacityUnits", accountUnits},
		{"AccountMaxWriteCapacityUnits", accountUnits},
		{"TableMaxReadCapacityUnits", tableUnits},
		{"TableMaxWriteCapacityUnits", tableUnits},
	} {
		c.out = append(c.out, "{,,,"[i], '"')
		c.out = append(c.out, limit.name...)
		c.out = append(c.out, '"', ':')
		c.out = strconv.AppendInt(c.out, limit.units, 10)
	}
	c.out = append(c.out, '}')
	return nil
}

// endpointMinutes is how long a client may keep the answer of DescribeEndpoints.
const endpointMinutes = "1440"

// describeEndpoints sends the client where it is.
func (c *call) describeEndpoints() error {
	address := c.host
	if len(address) == 0 {
		address = []byte("dynamodb." + c.s.cfg.Region + ".amazonaws.com")
	}
	c.out = append(c.out, `{"Endpoints":[{"Address":`...)
	c.out = wire.AppendQuoted(c.out, address)
	c.out = append(c.out, `,"CachePeriodInMinutes":`+endpointMinutes+`}]}`...)
	return nil
}
