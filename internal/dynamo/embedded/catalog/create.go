package catalog

import (
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// creation is a parsed CreateTable request.
type creation struct {
	name        string
	definitions definitions
	schema      []element
	local       []indexSpec // nil if the request has no such member
	global      []indexSpec
	vectors     []vectorSpec
	billing     Billing
	throughput  *Throughput
	demand      onDemandSpec
	warm        warmSpec
	stream      *streamSpec
	encryption  *encryptionSpec
	class       string
	protected   bool
	tags        tagList
	policy      bool // the request has a ResourcePolicy
	foreign     bool // it has a GlobalTableSourceArn
}

// Create returns the table that a CreateTable request describes, after all checks that need
// no other table. name is separate because the request may have an ARN instead; latest is
// the label of the store's newest stream. The store sets the rest: ID and UUID, and the
// stream's ID.
func Create(name string, body []byte, p Place, now time.Time, streams Streams) (*Table, error) {
	r, err := readCreation(body, p)
	if err != nil {
		return nil, err
	}
	r.name = name
	if r.foreign {
		return nil, invalid("GlobalTableSourceArn is not supported")
	}
	if err := r.checkBilling(); err != nil {
		return nil, err
	}
	key, err := tableKey(r.schema, r.definitions)
	if err != nil {
		return nil, err
	}
	keys, err := r.indexKeys(key)
	if err != nil {
		return nil, err
	}
	if err := r.checkVectors(); err != nil {
		return nil, err
	}
	if err := r.checkUnused(keys); err != nil {
		return nil, err
	}
	if err := r.checkIndexes(); err != nil {
		return nil, err
	}
	if err := r.checkRest(); err != nil {
		return nil, err
	}
	return r.table(key, keys, now, streams), nil
}

func readCreation(body []byte, p Place) (*creation, error) {
	m, err := members(body, "AttributeDefinitions", "KeySchema", "LocalSecondaryIndexes", "GlobalSecondaryIndexes",
		"BillingMode", "ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput", "StreamSpecification",
		"SSESpecification", "TableClass", "DeletionProtectionEnabled", "Tags", "ResourcePolicy", "VectorIndexes", "GlobalTableSourceArn")
	if err != nil {
		return nil, err
	}
	r := &creation{billing: Provisioned, class: text(m[10]), protected: flag(m[11]), policy: m[13] != nil, foreign: m[15] != nil}
	if m[4] != nil {
		r.billing = Billing(text(m[4]))
	}
	steps := []func() error{
		func() (err error) { r.definitions, err = readDefinitions(m[0]); return },
		func() (err error) { r.schema, err = readKeySchema(m[1]); return },
		func() (err error) { r.local, err = readIndexes(m[2], true); return },
		func() (err error) { r.global, err = readIndexes(m[3], false); return },
		func() (err error) { r.throughput, err = readThroughput(m[5]); return },
		func() (err error) { r.demand, err = readOnDemand(m[6], "table", ""); return },
		func() (err error) { r.warm, err = readWarm(m[7], "table"); return },
		func() (err error) { r.stream, err = readStreamSpec(m[8]); return },
		func() (err error) { r.encryption, err = readEncryption(m[9], p); return },
		func() (err error) { r.tags, err = readTags(m[12]); return },
		func() (err error) { r.vectors, err = readVectors(m[14]); return },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	// A list that is present and empty has an error of its own.
	if m[2] != nil && r.local == nil {
		r.local = []indexSpec{}
	}
	if m[3] != nil && r.global == nil {
		r.global = []indexSpec{}
	}
	if m[14] != nil && r.vectors == nil {
		r.vectors = []vectorSpec{}
	}
	return r, nil
}

// checkBilling checks the capacity of the table itself.
func (r *creation) checkBilling() error {
	switch {
	case r.billing == PayPerRequest && r.throughput != nil:
		return invalid("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case r.billing == Provisioned && r.throughput == nil:
		return invalid("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}
	return r.throughput.checkBounds("")
}

// indexKeys returns the keys of the indexes, local ones first.
func (r *creation) indexKeys(table Key) ([]Key, error) {
	var keys []Key
	if r.local != nil {
		switch {
		case len(r.local) == 0:
			return nil, invalid("List of LocalSecondaryIndexes is empty")
		case len(table.Range) == 0:
			return nil, invalid("Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
		}
	}
	for _, x := range r.local {
		key, err := localKey(x.name, x.schema, r.definitions, table.Hash[0].Name)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if r.global != nil && len(r.global) == 0 {
		return nil, invalid("List of GlobalSecondaryIndexes is empty")
	}
	for _, x := range r.global {
		key, err := globalKey(x.schema, r.definitions)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// checkUnused checks that each defined attribute belongs to a key.
func (r *creation) checkUnused(keys []Key) error {
	if keys == nil && r.vectors == nil {
		if len(r.definitions) != len(r.schema) {
			return invalid("Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
		}
		return nil
	}
	used := names(r.schema)
	use := func(name string) {
		if !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	for _, k := range keys {
		for a := range k.All() {
			use(a.Name)
		}
	}
	for i := range r.vectors {
		for _, e := range r.vectors[i].schema {
			use(e.name)
		}
	}
	if len(used) < len(r.definitions) {
		return invalid("Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys used: %s", r.definitions, list(used))
	}
	return nil
}

// checkIndexes checks all properties of the indexes except their keys.
func (r *creation) checkIndexes() error {
	seen := map[string]bool{}
	nonKeys := 0
	check := func(all []indexSpec, capacity func(x *indexSpec) error) error {
		for i := range all {
			x := &all[i]
			if err := x.projection.check(); err != nil {
				return err
			}
			if err := capacity(x); err != nil {
				return err
			}
			if seen[x.name] {
				return invalid("Duplicate index name: %s", x.name)
			}
			seen[x.name] = true
			nonKeys += len(x.projection.NonKey)
		}
		return nil
	}
	if err := check(r.local, func(*indexSpec) error { return nil }); err != nil {
		return err
	}
	if len(r.local) > maxLocal {
		return invalid("Number of LocalSecondaryIndexes exceeds per-table limit of %d", maxLocal)
	}
	if err := check(r.global, func(x *indexSpec) error { return x.checkCapacity(r.billing) }); err != nil {
		return err
	}
	if len(r.global) > maxGlobal {
		return invalid("GlobalSecondaryIndex count exceeds the per-table limit of %d", maxGlobal)
	}
	for i := range r.vectors {
		x := &r.vectors[i]
		if seen[x.name] {
			return invalid("Duplicate index name: %s", x.name)
		}
		seen[x.name] = true
		nonKeys += x.nonKeys()
	}
	return checkNonKeys(nonKeys)
}

func checkNonKeys(n int) error {
	if n > maxNonKeys {
		return invalid("Number of NonKeyAttributes over all indexes exceeds per-table limit of %d", maxNonKeys)
	}
	return nil
}

// checkRest checks the members that have no relation to keys.
func (r *creation) checkRest() error {
	if err := r.stream.checkNew(); err != nil {
		return err
	}
	if err := r.encryption.check(); err != nil {
		return err
	}
	if err := checkClass(r.class); err != nil {
		return err
	}
	if err := r.demand.check(r.billing, false); err != nil {
		return err
	}
	var provisioned Throughput
	if r.throughput != nil {
		provisioned = *r.throughput
	}
	if err := r.warm.checkNew(r.billing, provisioned); err != nil {
		return err
	}
	if r.policy {
		return ErrNoPolicies
	}
	return r.tags.check()
}

// ErrNoPolicies refuses a policy for a table or stream, since the store would not enforce
// it.
var ErrNoPolicies = invalid("ResourcePolicy is not supported")

// Classes of tables. They differ in price only.
var classes = []string{"STANDARD", "STANDARD_INFREQUENT_ACCESS"}

func checkClass(class string) error {
	if class != "" && !slices.Contains(classes, class) {
		return wire.Invalid("Invalid table-class parameter provided. Please try again with a valid table-class value: %s.", list(classes))
	}
	return nil
}

func (r *creation) table(key Key, keys []Key, now time.Time, streams Streams) *Table {
	t := &Table{
		Name: r.name, Created: now, Status: Active, Key: key,
		Billing: r.billing, Capacity: newCapacity(r.billing, r.throughput, r.demand.limit, r.warm.requested),
		Class: r.class, Protected: r.protected, Encryption: r.encryption.result(), Tags: sortTags(r.tags.tags),
	}
	if r.billing == PayPerRequest {
		t.PerRequestSince = &now
	}
	for i, x := range slices.Concat(r.local, r.global) {
		t.LastIndex++
		t.Indexes = append(t.Indexes, x.index(t.LastIndex, keys[i], r.billing))
	}
	for i := range r.vectors {
		t.LastIndex++
		t.Vectors = append(t.Vectors, r.vectors[i].index(t.LastIndex, r.definitions))
	}
	if r.stream != nil && r.stream.enabled {
		t.openStream(r.stream.view, now, streams)
	}
	return t
}

// Creating returns the table as the reply to its creation describes it: being created,
// without the values that the service sets later.
func (t *Table) Creating(body []byte) *Table {
	warm, _ := wire.Lookup(body, "WarmThroughput")
	next := *t
	next.Status = Creating
	next.PerRequestSince = nil
	if wire.Kind(warm) != '{' {
		next.Capacity.Warm = Throughput{}
	}
	next.Indexes = make([]*Index, len(t.Indexes))
	for i, x := range t.Indexes {
		y := *x
		y.Status = Creating
		if !y.Local {
			y.Capacity.Warm = Throughput{}
		}
		next.Indexes[i] = &y
	}
	next.Vectors = make([]*Index, len(t.Vectors))
	for i, x := range t.Vectors {
		y := *x
		y.Status = Creating
		next.Vectors[i] = &y
	}
	return &next
}
