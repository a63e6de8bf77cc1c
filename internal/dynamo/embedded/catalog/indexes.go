package catalog

import (
	"slices"
)

// The maximum numbers of indexes of either kind in a table, and of non-key attributes in
// their projections together.
const (
	maxLocal   = 5
	maxGlobal  = 20
	maxNonKeys = 100
)

// indexSpec is the description of an index in a request.
type indexSpec struct {
	name       string
	local      bool
	schema     []element
	projection Projection // Type is empty and NonKey nil if they are missing
	throughput *Throughput
	onDemand   onDemandSpec
	warm       warmSpec
}

func readIndexes(v []byte, local bool) ([]indexSpec, error) {
	var out []indexSpec
	for _, e := range elements(v) {
		x, err := readIndex(e, local)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func readIndex(v []byte, local bool) (x indexSpec, err error) {
	m, err := members(v, "IndexName", "KeySchema", "Projection", "ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
	if err != nil {
		return x, err
	}
	x = indexSpec{name: text(m[0]), local: local}
	if x.schema, err = readKeySchema(m[1]); err != nil {
		return x, err
	}
	if x.projection, err = readProjection(m[2]); err != nil {
		return x, err
	}
	if local {
		return x, nil
	}
	return x, x.readCapacity(m[3], m[4], m[5])
}

func readProjection(v []byte) (Projection, error) {
	m, err := members(v, "ProjectionType", "NonKeyAttributes")
	if err != nil {
		return Projection{}, err
	}
	return Projection{ProjectionType(text(m[0])), texts(m[1])}, nil
}

// readCapacity reads the members that only global indexes have.
func (x *indexSpec) readCapacity(provisioned, onDemand, warm []byte) (err error) {
	if x.throughput, err = readThroughput(provisioned); err != nil {
		return err
	}
	if x.onDemand, err = readOnDemand(onDemand, "index : "+x.name, " for index: "+x.name); err != nil {
		return err
	}
	x.warm, err = readWarm(warm, "index "+x.name)
	return err
}

func (p *Projection) check() error {
	switch {
	case p.Type == "":
		return invalid("Unknown ProjectionType: null")
	case p.Type != ProjectInclude && p.NonKey != nil:
		return invalid("ProjectionType is %s, but NonKeyAttributes is specified", p.Type)
	case p.Type == ProjectInclude && p.NonKey == nil:
		return invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	}
	for i, name := range p.NonKey {
		if slices.Contains(p.NonKey[:i], name) {
			return invalid("Duplicate element in NonKeyAttributes: %s", name)
		}
	}
	return nil
}

// checkCapacity checks the capacity of a global index of a new table.
func (x *indexSpec) checkCapacity(billing Billing) error {
	switch {
	case billing == PayPerRequest && x.throughput != nil:
		return invalid("ProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", x.name)
	case billing == Provisioned && x.throughput == nil:
		return invalid("ProvisionedThroughput is not specified for index: %s", x.name)
	}
	return x.checkLimits(billing)
}

func (x *indexSpec) checkLimits(billing Billing) error {
	if err := x.throughput.checkBounds(" for index " + x.name); err != nil {
		return err
	}
	if err := x.onDemand.check(billing, false); err != nil {
		return err
	}
	var provisioned Throughput
	if x.throughput != nil {
		provisioned = *x.throughput
	}
	return x.warm.checkNew(billing, provisioned)
}

// index returns the index with the key that was made from its schema.
func (x *indexSpec) index(id uint32, key Key, billing Billing) *Index {
	slices.Sort(x.projection.NonKey)
	out := &Index{ID: id, Name: x.name, Local: x.local, Key: key, Projection: x.projection, Status: Active}
	if !x.local {
		out.Capacity = newCapacity(billing, x.throughput, x.onDemand.limit, x.warm.requested)
	}
	return out
}
