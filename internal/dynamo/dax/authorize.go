package dax

import "github.com/kasoku/kasoku/internal/dynamo/dax/fault"

// admit finds out whether the client may ask for a method. It returns why not.
func (c *conn) admit(m *method) *fault.Error {
	if !m.free && !c.inTime() {
		c.srv.metrics.limited.Inc()
		return fault.New("ThrottlingException", "Rate of requests exceeds the allowed throughput.")
	}
	return nil
}

// inTime says whether the client may ask once more.
func (c *conn) inTime() bool {
	rates := c.k.set.rates
	if !rates.Bound() || !c.client.IsValid() {
		return true
	}
	if c.rates != rates {
		c.rates, c.limiter = rates, rates.Of(c.client.Addr(), c.k.now)
	}
	return c.limiter.AllowN(c.k.now, 1)
}
