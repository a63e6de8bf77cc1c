package catalog

import (
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Change is the effect of an UpdateTable request on a table.
type Change struct {
	Table *Table // after the change
	// Reply is the table as the reply describes it: still changing, with most values as they
	// were before.
	Reply   *Table
	Created *Index // a new index that must be filled; nil for none
	Deleted *Index // an index whose entries must be removed; nil for none
}

// change is a Change in progress.
type change struct {
	r       *UpdateRequest
	now     time.Time
	old     *Table
	next    *Table
	reply   *Table // becomes Change.Reply
	streams Streams
	Change
}

// capacityChangeTime is the time between the reply and the described end of a change of
// capacity. The service's descriptions have different times for the beginning and the end.
const capacityChangeTime = time.Millisecond

// Apply makes the checks that need the table, and the change; if it fails nothing is
// changed.
func (r *UpdateRequest) Apply(t *Table, now time.Time, streams Streams) (Change, error) {
	next, reply := *t, *t
	next.Indexes, reply.Indexes = slices.Clone(t.Indexes), slices.Clone(t.Indexes)
	next.Vectors, reply.Vectors = slices.Clone(t.Vectors), slices.Clone(t.Vectors)
	c := &change{r: r, now: now, old: t, next: &next, reply: &reply, streams: streams}
	for _, step := range []func() error{c.checkOnline, c.setBilling, c.setIndexes, c.setVectors, c.setStream, c.setFeatures} {
		if err := step(); err != nil {
			return Change{}, err
		}
	}
	c.Table, c.Reply = c.next, c.reply
	return c.Change, nil
}

// checkOnline refuses to create or delete an index while another one is being created or
// deleted.
func (c *change) checkOnline() error {
	busy, removed := c.old.Filling(), ""
	switch n := c.r.countIndexChanges(); {
	case n == 0:
		return nil
	case n == 1 && len(c.r.vectors) == 1:
		removed = c.r.vectors[0].remove
	case n == 1:
		i := slices.IndexFunc(c.r.indexes, func(u indexUpdate) bool { return u.change == nil })
		removed = c.r.indexes[i].remove
	}
	if c.r.countIndexChanges() > 1 || busy != nil && busy.Name != removed {
		return limitExceeded("Only 1 online index can be created or deleted simultaneously per table")
	}
	return nil
}

// setBilling changes the table's billing mode and provisioned throughput.
func (c *change) setBilling() error {
	r := c.r
	if err := c.checkBilling(); err != nil {
		return err
	}
	switch {
	case r.billing == PayPerRequest:
		c.reply.Status = Updating
		if c.old.Billing == Provisioned {
			c.toPerRequest()
		}
	case r.throughput != nil:
		c.reply.Status = Updating
		c.next.Billing, c.reply.Billing = Provisioned, Provisioned
		c.next.Capacity = c.provision(c.old.Capacity, *r.throughput, &c.reply.Capacity)
	}
	if r.demand.limit != nil {
		if err := r.demand.check(c.next.Billing, true); err != nil {
			return err
		}
		c.next.Capacity.OnDemand, c.reply.Capacity.OnDemand = c.next.Capacity.OnDemand.restrict(r.demand.limit)
	}
	return nil
}

func (c *change) checkBilling() error {
	r, t := c.r, c.old
	switch {
	case r.throughput == nil:
		return nil
	case r.billing == "" && t.Billing == PayPerRequest:
		return invalid("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case t.Billing == PayPerRequest:
		if names := r.pending(t); names != "" {
			return invalid("ProvisionedThroughput must be specified for index: %s", names)
		}
		return nil
	}
	return sameThroughput("the table", "the table", t.Capacity.Provisioned, *r.throughput)
}

// sameThroughput refuses a throughput that is already provisioned.
func sameThroughput(of, short string, now, asked Throughput) error {
	if now != asked {
		return nil
	}
	return wire.Invalid("The provisioned throughput for %s will not change. The requested value equals the current value. "+
		"Current ReadCapacityUnits provisioned for %s: %d. Requested ReadCapacityUnits: %d. "+
		"Current WriteCapacityUnits provisioned for %s: %d. Requested WriteCapacityUnits: %d. "+
		"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
		of, short, now.Read, asked.Read, short, now.Write, asked.Write)
}

// toPerRequest changes the billing of the table and its indexes to PAY_PER_REQUEST.
func (c *change) toPerRequest() {
	now := c.now
	c.next.Billing, c.reply.Billing = PayPerRequest, PayPerRequest
	c.next.PerRequestSince, c.reply.PerRequestSince = &now, nil
	free := func(of Capacity) Capacity {
		of = of.provision(Throughput{}, now)
		of.Warm = of.Warm.atLeast(&Throughput{initialRead, initialWrite})
		return of
	}
	c.next.Capacity = free(c.old.Capacity)
	c.reply.Capacity = c.next.Capacity
	for i, x := range c.next.Indexes {
		if x.Local {
			continue
		}
		y := *x
		y.Capacity = free(x.Capacity)
		c.next.Indexes[i] = &y
		z := y
		z.Status = Updating
		c.reply.Indexes[i] = &z
	}
}

// provision changes provisioned capacity. It sets reply to the capacity in the reply, in
// which only the time of the change is new.
func (c *change) provision(from Capacity, to Throughput, reply *Capacity) Capacity {
	reply.Increased, reply.Decreased = from.Increased, from.Decreased
	begun := from.provision(to, c.now)
	if begun.Increased != from.Increased {
		reply.Increased = begun.Increased
	}
	if begun.Decreased != from.Decreased {
		reply.Decreased = begun.Decreased
		reply.Decreases = from.decreases(c.now)
	}
	after := from.provision(to, c.now.Add(capacityChangeTime))
	after.OnDemand = Throughput{}
	return after
}

// setStream opens or closes the table's stream.
func (c *change) setStream() error {
	s := c.r.stream
	switch {
	case s == nil:
		return nil
	case s.enabled && c.old.Stream != nil:
		return wire.Invalid("Table already has an enabled stream: TableName: %s", c.old.Name)
	case !s.enabled && c.old.Stream == nil:
		return wire.Invalid("Table has no stream to disable: TableName: %s", c.old.Name)
	case s.enabled:
		c.next.openStream(s.view, c.now, c.streams)
	default:
		c.next.Stream = nil
	}
	c.reply.Status = Updating
	c.reply.Stream, c.reply.LatestStream = c.next.Stream, c.next.LatestStream
	return nil
}

// setFeatures makes the changes that the service allows only one at a time.
func (c *change) setFeatures() error {
	r, now := c.r, c.now
	if r.encryption != nil {
		if err := r.encryption.checkChange(c.old.Encryption); err != nil {
			return err
		}
		c.next.Encryption = r.encryption.result()
		c.reply.Encryption = c.next.Encryption
	}
	if r.class != "" {
		c.reply.Status = Updating
		if r.class != c.old.Class && (c.old.Class != "" || r.class != classes[0]) {
			c.next.Class, c.next.ClassChanged = r.class, &now
		}
	}
	if r.protected != nil {
		c.next.Protected, c.reply.Protected = *r.protected, *r.protected
	}
	if r.warm.requested != nil {
		if err := r.warm.checkChange(c.old.Capacity.Warm); err != nil {
			return err
		}
		c.next.Capacity.Warm = c.old.Capacity.Warm.atLeast(r.warm.requested)
	}
	return nil
}
