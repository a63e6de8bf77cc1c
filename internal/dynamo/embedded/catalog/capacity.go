package catalog

import (
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Bounds of requested capacity, and the initial warm throughput of tables billed per
// request.
const (
	maxUnits     = 1_000_000_000_000
	initialRead  = 12000
	initialWrite = 4000
)

// readThroughput reads a ProvisionedThroughput; nil for none.
func readThroughput(v []byte) (*Throughput, error) {
	t, _, err := readPair(v, "ReadCapacityUnits", "WriteCapacityUnits")
	return t, err
}

// readPair reads a structure with two capacities, nil for none. given reports which of them
// it has.
func readPair(v []byte, read, write string) (t *Throughput, given [2]bool, err error) {
	if v == nil {
		return nil, given, nil
	}
	m, err := members(v, read, write)
	if err != nil {
		return nil, given, err
	}
	return &Throughput{whole(m[0]), whole(m[1])}, [2]bool{m[0] != nil, m[1] != nil}, nil
}

// checkBounds checks provisioned capacity; suffix names its owner in messages.
func (t *Throughput) checkBounds(suffix string) error {
	switch {
	case t == nil:
		return nil
	case t.Read > maxUnits:
		return wire.Invalid("Given value %d for ReadCapacityUnits is out of bounds%s", t.Read, suffix)
	case t.Write > maxUnits:
		return wire.Invalid("Given value %d for WriteCapacityUnits is out of bounds%s", t.Write, suffix)
	}
	return nil
}

// onDemandSpec is an OnDemandThroughput with the names of its owner in messages.
type onDemandSpec struct {
	limit *Throughput
	given [2]bool // the members that the request has
	of    string  // "table" or "index : i"
	among string  // "" or " for index: i"
}

// readOnDemand reads an OnDemandThroughput.
func readOnDemand(v []byte, of, among string) (onDemandSpec, error) {
	d := onDemandSpec{of: of, among: among}
	var err error
	d.limit, d.given, err = readPair(v, "MaxReadRequestUnits", "MaxWriteRequestUnits")
	return d, err
}

// unlimited is the value that removes a limit. It is valid only in a change, and only the
// reply to the change has it.
const unlimited = -1

// check checks the limits for something with that billing mode.
func (d onDemandSpec) check(billing Billing, change bool) error {
	if d.limit == nil {
		return nil
	}
	for i, l := range []struct {
		name  string
		value int64
	}{{"MaxReadRequestUnits", d.limit.Read}, {"MaxWriteRequestUnits", d.limit.Write}} {
		switch {
		case !d.given[i]:
		case billing == Provisioned:
			return invalid("%s for OnDemandThroughput%s cannot be specified when table BillingMode is PROVISIONED.", l.name, d.among)
		case l.value < 1 && !(change && l.value == unlimited):
			return invalid("Requested %s for OnDemandThroughput for %s is outside of valid range", l.name, d.of)
		}
	}
	return nil
}

// warmSpec is a WarmThroughput with the name of its owner in messages.
type warmSpec struct {
	requested *Throughput
	given     [2]bool // the members that the request has
	of        string  // "table" or "index i"
}

// readWarm reads a WarmThroughput.
func readWarm(v []byte, of string) (warmSpec, error) {
	w := warmSpec{of: of}
	var err error
	w.requested, w.given, err = readPair(v, "ReadUnitsPerSecond", "WriteUnitsPerSecond")
	return w, err
}

// each calls f with each requested capacity and its counterpart in than.
func (w warmSpec) each(than Throughput, f func(name string, requested, than int64) error) error {
	if w.given[0] {
		if err := f("Read", w.requested.Read, than.Read); err != nil {
			return err
		}
	}
	if w.given[1] {
		return f("Write", w.requested.Write, than.Write)
	}
	return nil
}

// checkNew checks the warm throughput of a new table or index.
func (w warmSpec) checkNew(billing Billing, provisioned Throughput) error {
	return w.each(initialWarm(billing, provisioned), func(name string, requested, than int64) error {
		switch {
		case requested >= than:
			return nil
		case billing == PayPerRequest:
			return invalid("Requested %sUnitsPerSecond for WarmThroughput for %s is lower than initial throughput for OnDemand. "+
				"See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial",
				name, w.of)
		}
		return invalid("Requested %sUnitsPerSecond for WarmThroughput for %s is lower than %sCapacityUnits of ProvisionedThroughput", name, w.of, name)
	})
}

// checkChange checks that no capacity is lowered.
func (w warmSpec) checkChange(now Throughput) error {
	return w.each(now, func(name string, requested, than int64) error {
		if requested >= than {
			return nil
		}
		return invalid("Requested %sUnitsPerSecond for WarmThroughput for %s is lower than current WarmThroughput, "+
			"decreasing WarmThroughput is not supported", name, w.of)
	})
}

func initialWarm(billing Billing, provisioned Throughput) Throughput {
	if billing == PayPerRequest {
		return Throughput{initialRead, initialWrite}
	}
	return provisioned
}

// atLeast returns the greater of each capacity.
func (t Throughput) atLeast(u *Throughput) Throughput {
	if u == nil {
		return t
	}
	return Throughput{max(t.Read, u.Read), max(t.Write, u.Write)}
}

// newCapacity returns the capacity of a new table or index.
func newCapacity(billing Billing, provisioned, limit, warm *Throughput) Capacity {
	var c Capacity
	if provisioned != nil {
		c.Provisioned = *provisioned
	}
	if limit != nil {
		c.OnDemand = *limit
	}
	c.Warm = initialWarm(billing, c.Provisioned).atLeast(warm)
	return c
}

// provision returns the capacity after a change of the provisioned throughput.
func (c Capacity) provision(to Throughput, now time.Time) Capacity {
	from := c.Provisioned
	if to.Read > from.Read || to.Write > from.Write {
		c.Increased = &now
	}
	if to.Read < from.Read || to.Write < from.Write {
		c.Decreases = c.decreases(now) + 1
		c.Decreased = &now
	}
	c.Provisioned = to
	c.Warm = c.Warm.atLeast(&to)
	return c
}

// decreases returns the number of decreases on the day of now, in UTC.
func (c *Capacity) decreases(now time.Time) int {
	if c.Decreased == nil || c.Decreased.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
		return 0
	}
	return c.Decreases
}

// restrict returns the limits after a change of them, which keeps the limits that it does
// not name, and the limits as the reply shows them.
func (t Throughput) restrict(limit *Throughput) (after, reply Throughput) {
	change := func(from, to int64) (after, reply int64) {
		switch to {
		case 0:
			return from, from
		case unlimited:
			return 0, to
		}
		return to, to
	}
	after.Read, reply.Read = change(t.Read, limit.Read)
	after.Write, reply.Write = change(t.Write, limit.Write)
	return after, reply
}
