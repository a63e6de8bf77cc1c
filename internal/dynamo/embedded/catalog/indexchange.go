package catalog

import (
	"fmt"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// setIndexes creates, changes and deletes global indexes.
func (c *change) setIndexes() error {
	for i := range c.r.indexes {
		u := &c.r.indexes[i]
		var err error
		switch {
		case u.create != nil:
			err = c.createIndex(u.create)
		case u.change != nil:
			err = c.changeIndex(u.change)
		default:
			err = c.deleteIndex(u.remove)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// createIndex adds an index, which must be filled.
func (c *change) createIndex(x *indexSpec) error {
	key, err := c.checkIndex(x)
	if err != nil {
		return err
	}
	c.next.LastIndex++
	created := x.index(c.next.LastIndex, key, c.next.Billing)
	c.next.Indexes = append(c.next.Indexes, created)
	c.reply.Indexes = append(c.reply.Indexes, c.creating(created))
	return nil
}

// creating starts the creation of x and returns x as the reply describes it.
func (c *change) creating(x *Index) *Index {
	x.Status, x.Backfilling = Creating, true
	c.Created = x
	c.reply.Status = Updating
	reply := *x
	reply.Backfilling = false
	return &reply
}

// deleting starts the deletion of x. It returns x as the reply describes it, given its
// description before.
func (c *change) deleting(x, reply *Index) *Index {
	c.Deleted = x
	c.reply.Status = Updating
	deleted := *reply
	deleted.Status, deleted.Backfilling = Deleting, false
	return &deleted
}

// checkIndex checks an index to be created and returns its key.
func (c *change) checkIndex(x *indexSpec) (Key, error) {
	if !c.r.defined {
		return Key{}, invalid("AttributeDefinitions is not specified for index: %s", x.name)
	}
	key, err := globalKey(x.schema, c.r.definitions)
	if err != nil {
		return Key{}, err
	}
	if err := x.projection.check(); err != nil {
		return Key{}, err
	}
	switch billing := c.next.Billing; {
	case billing == PayPerRequest && x.throughput != nil:
		return Key{}, invalid("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: %s when BillingMode is PAY_PER_REQUEST", x.name)
	case billing == Provisioned && x.throughput == nil:
		return Key{}, invalid("Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: %s", x.name)
	}
	if err := x.checkLimits(c.next.Billing); err != nil {
		return Key{}, err
	}
	if c.next.named(x.name) {
		return Key{}, wire.Invalid("Attempting to create an index which already exists")
	}
	if err := c.checkTypes(key); err != nil {
		return Key{}, err
	}
	return key, c.checkCount(x)
}

// checkTypes checks that attributes have the same type in all keys.
func (c *change) checkTypes(key Key) error {
	known := definitions(c.old.Attributes())
	for a := range key.All() {
		old, ok := known.find(a.Name)
		if ok && old.Type != a.Type {
			return invalid("Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "+
				"Existing schema: %s New schema: %s", c.schemaWith(a.Name), describeSchema(key))
		}
	}
	return nil
}

// schemaWith describes the first key that contains the attribute called name.
func (c *change) schemaWith(name string) string {
	if c.old.Key.Has(name) {
		return describeSchema(c.old.Key)
	}
	if x, _ := c.old.KeyOf(name); x != nil {
		return describeSchema(x.Key)
	}
	a, _ := definitions(c.old.Attributes()).find(name) // an attribute of a search schema
	return describeSchema(Key{Hash: []Attribute{a}})
}

// describeSchema formats a key as the service's messages do.
func describeSchema(key Key) string {
	out := "Schema:[SchemaElement: key{"
	write := func(attributes []Attribute, kind string) {
		for _, a := range attributes {
			if out[len(out)-1] != '{' {
				out += ", "
			}
			out += fmt.Sprintf("%s:%s:%s", a.Name, a.Type, kind)
		}
	}
	write(key.Hash, "HASH")
	write(key.Range, "RANGE")
	return out + "}]"
}

func (c *change) checkCount(x *indexSpec) error {
	global, nonKeys := 1, len(x.projection.NonKey)
	for _, y := range c.old.Indexes {
		if !y.Local {
			global++
		}
		nonKeys += len(y.Projection.NonKey)
	}
	if global > maxGlobal {
		return limitExceeded(fmt.Sprintf("Number of global secondary indexes exceeds per-table limit of %d", maxGlobal))
	}
	return checkNonKeys(nonKeys)
}

// globalIndex returns the position of the global index called name, which the request wants
// to verb.
func (c *change) globalIndex(name, verb string) (int, error) {
	at := slices.IndexFunc(c.next.Indexes, func(x *Index) bool { return x.Name == name })
	switch {
	case at < 0:
		return 0, c.noIndex(name)
	case c.next.Indexes[at].Local:
		return 0, wire.Invalid("Cannot %s an index that is not a GlobalSecondaryIndex: %s", verb, name)
	}
	return at, nil
}

func (c *change) noIndex(name string) error {
	return &wire.Error{Type: "ResourceNotFoundException",
		Message: fmt.Sprintf("Requested resource not found: Index %s for table %s", name, c.old.Name)}
}

// deleteIndex removes an index.
func (c *change) deleteIndex(name string) error {
	at, err := c.globalIndex(name, "delete")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.reply.Indexes, func(x *Index) bool { return x.Name == name })
	c.reply.Indexes[i] = c.deleting(c.next.Indexes[at], c.reply.Indexes[i])
	c.next.Indexes = slices.Delete(c.next.Indexes, at, at+1)
	return nil
}

// changeIndex changes the capacity of an index.
func (c *change) changeIndex(u *indexSpec) error {
	at, err := c.globalIndex(u.name, "update")
	if err != nil {
		return err
	}
	if err := c.checkIndexChange(u, c.next.Indexes[at]); err != nil {
		return err
	}
	x, reply := *c.next.Indexes[at], *c.reply.Indexes[at]
	if u.throughput != nil {
		x.Capacity = c.provision(x.Capacity, *u.throughput, &reply.Capacity)
	}
	if u.onDemand.limit != nil {
		x.Capacity.OnDemand, reply.Capacity.OnDemand = x.Capacity.OnDemand.restrict(u.onDemand.limit)
	}
	if u.warm.requested != nil {
		x.Capacity.Warm = x.Capacity.Warm.atLeast(u.warm.requested)
	}
	reply.Status = Updating
	c.next.Indexes[at], c.reply.Indexes[at] = &x, &reply
	return nil
}

func (c *change) checkIndexChange(u *indexSpec, x *Index) error {
	if u.throughput == nil && u.onDemand.given == [2]bool{} && u.warm.requested == nil || u.throughput != nil && c.next.Billing == PayPerRequest {
		return invalid("The only Updates for index: %s when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput", u.name)
	}
	if u.throughput != nil {
		if err := u.throughput.checkBounds(" for index " + u.name); err != nil {
			return err
		}
		if err := sameThroughput("the index "+u.name, "the index", x.Capacity.Provisioned, *u.throughput); err != nil {
			return err
		}
	}
	if err := u.onDemand.check(c.next.Billing, true); err != nil {
		return err
	}
	return u.warm.checkChange(x.Capacity.Warm)
}

// Filled returns the table after all items have been added to the index with the id.
func (t *Table) Filled(id uint32) *Table {
	next := *t
	next.Indexes, next.Vectors = slices.Clone(t.Indexes), slices.Clone(t.Vectors)
	for _, all := range [][]*Index{next.Indexes, next.Vectors} {
		for i, x := range all {
			if x.ID == id {
				y := *x
				y.Status, y.Backfilling = Active, false
				all[i] = &y
			}
		}
	}
	return &next
}
