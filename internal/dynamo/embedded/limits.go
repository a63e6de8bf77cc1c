package embedded

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Capacity limits of an account and a table, as the service has them in most regions. The
// store does not enforce them.
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

// endpointMinutes is the time that a client may cache the answer of DescribeEndpoints.
const endpointMinutes = "1440"

// describeEndpoints returns the endpoint that the client is using.
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
