package catalog

import (
	"fmt"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Bounds of vector indexes.
const (
	maxVectors    = 5 // per table
	maxDimensions = 4096
	maxFilters    = 18 // INLINE_FILTER attributes of an index
)

// Distance is the metric by which a vector index compares vectors.
type Distance string

const (
	Cosine     Distance = "COSINE"
	DotProduct Distance = "DOT_PRODUCT"
	Euclidean  Distance = "EUCLIDEAN"
)

// Vector has the properties that only vector indexes have. The Key of such an index is the
// HASH attribute of its search schema, or empty.
type Vector struct {
	Attribute  string // the attribute with the vector, a list of numbers
	Dimensions int
	Distance   Distance
	Schema     []SearchAttribute `json:",omitempty"` // in the order of the request
}

// SearchAttribute is an element of a search schema.
type SearchAttribute struct {
	Attribute Attribute
	Hash      bool `json:",omitempty"` // rather than INLINE_FILTER
}

// Find returns the attribute called name of the search schema.
func (v *Vector) Find(name string) (Attribute, bool) {
	for _, a := range v.Schema {
		if a.Attribute.Name == name {
			return a.Attribute, true
		}
	}
	return Attribute{}, false
}

// VectorIndex returns the vector index called name, or nil.
func (t *Table) VectorIndex(name string) *Index {
	for _, x := range t.Vectors {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// named reports whether the table has an index of any kind called name.
func (t *Table) named(name string) bool { return t.Index(name) != nil || t.VectorIndex(name) != nil }

// Filling returns the index that is being filled, or nil.
func (t *Table) Filling() *Index {
	for _, all := range [][]*Index{t.Indexes, t.Vectors} {
		for _, x := range all {
			if x.Backfilling {
				return x
			}
		}
	}
	return nil
}

// vectorSpec is the description of a vector index in a request.
type vectorSpec struct {
	name       string
	attribute  string
	dimensions int64
	distance   Distance
	schema     []element
	projection Projection
}

func readVectors(v []byte) ([]vectorSpec, error) {
	var out []vectorSpec
	for _, e := range elements(v) {
		x, err := readVector(e)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func readVector(v []byte) (x vectorSpec, err error) {
	m, err := members(v, "IndexName", "VectorAttribute", "Dimensions", "DistanceFunction", "SearchSchema", "Projection")
	if err != nil {
		return x, err
	}
	attribute, err := members(m[1], "AttributeName")
	if err != nil {
		return x, err
	}
	x = vectorSpec{name: text(m[0]), attribute: text(attribute[0]), dimensions: whole(m[2]), distance: Distance(text(m[3]))}
	for _, e := range elements(m[4]) {
		a, err := members(e, "AttributeName", "SearchSchemaElementType")
		if err != nil {
			return x, err
		}
		x.schema = append(x.schema, element{text(a[0]), text(a[1]) == "HASH"})
	}
	x.projection, err = readProjection(m[5])
	return x, err
}

// nonKeys returns the number of projected attributes that count towards the limit of all
// indexes.
func (x *vectorSpec) nonKeys() int {
	n := 1 + len(x.projection.NonKey)
	for _, e := range x.schema {
		if !e.hash {
			n++
		}
	}
	return n
}

// check checks an index whose attributes are defined in defs; others are the table's other
// vector indexes.
func (x *vectorSpec) check(defs definitions, others []vectorSpec) error {
	if x.dimensions > maxDimensions {
		return invalid("Number of dimensions must be between 1 and %d inclusive.", maxDimensions)
	}
	hashes, seen := 0, map[string]bool{}
	for _, e := range x.schema {
		if _, ok := defs.find(e.name); !ok {
			return invalid("One element in SearchSchema is not defined in attribute definitions")
		}
		if seen[e.name] {
			return invalid("SearchSchema contains a duplicate AttributeName")
		}
		seen[e.name] = true
		if e.hash {
			hashes++
		}
	}
	switch filters := len(x.schema) - hashes; {
	case hashes > 1:
		return invalid("Value '%d' at 'SearchSchema' failed to satisfy constraint: Member must have HASH count less than or equal to 1", hashes)
	case filters > maxFilters:
		return invalid("Value '%d' at 'SearchSchema' failed to satisfy constraint: Member must have INLINE_FILTER count less than or equal to %d", filters, maxFilters)
	}
	if _, ok := defs.find(x.attribute); ok {
		return invalid("Conflicting attribute definition for '%s'. An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute.", x.attribute)
	}
	for i := range others {
		if y := &others[i]; y.attribute == x.attribute && y.dimensions != x.dimensions {
			return invalid("Conflicting attribute definition for '%s'. All VectorIndexes on the same vector attribute must use the same dimensions.", x.attribute)
		}
	}
	return x.projection.check()
}

// index returns the index; defs define its search attributes.
func (x *vectorSpec) index(id uint32, defs definitions) *Index {
	slices.Sort(x.projection.NonKey)
	v := &Vector{Attribute: x.attribute, Dimensions: int(x.dimensions), Distance: x.distance}
	out := &Index{ID: id, Name: x.name, Projection: x.projection, Status: Active, Vector: v}
	for _, e := range x.schema {
		a, _ := defs.find(e.name)
		v.Schema = append(v.Schema, SearchAttribute{a, e.hash})
		if e.hash {
			out.Key.Hash = []Attribute{a}
		}
	}
	return out
}

var errVectorBilling = invalid("Vector indexes are only supported for PAY_PER_REQUEST tables")

// checkVectors checks the vector indexes of a new table.
func (r *creation) checkVectors() error {
	switch {
	case r.vectors == nil:
		return nil
	case len(r.vectors) == 0:
		return invalid("List of VectorIndexes is empty")
	case len(r.vectors) > maxVectors:
		return invalid("VectorIndex count exceeds the per-table limit of %d", maxVectors)
	case r.billing != PayPerRequest:
		return errVectorBilling
	}
	for i := range r.vectors {
		if err := r.vectors[i].check(r.definitions, r.vectors[:i]); err != nil {
			return err
		}
	}
	return nil
}

// vectorUpdate is an element of VectorIndexUpdates: one of two.
type vectorUpdate struct {
	create *vectorSpec
	remove string
}

func (r *UpdateRequest) readVectorUpdates(v []byte) error {
	updates := elements(v)
	if v != nil && len(updates) == 0 {
		return invalid("List of VectorIndexUpdates is empty")
	}
	for _, e := range updates {
		m, err := members(e, "Create", "Delete")
		if err != nil {
			return err
		}
		var u vectorUpdate
		switch {
		case m[0] == nil && m[1] == nil:
			return invalid("One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null")
		case m[0] != nil && m[1] != nil:
			return invalid("Only one vector index action is allowed per VectorIndexUpdate object")
		case m[0] != nil:
			x, err := readVector(m[0])
			if err != nil {
				return err
			}
			u.create = &x
		default:
			name, err := members(m[1], "IndexName")
			if err != nil {
				return err
			}
			u.remove = text(name[0])
		}
		r.vectors = append(r.vectors, u)
	}
	return nil
}

// setVectors creates and deletes vector indexes.
func (c *change) setVectors() error {
	for i := range c.r.vectors {
		u := &c.r.vectors[i]
		var err error
		if u.create != nil {
			err = c.createVector(u.create)
		} else {
			err = c.deleteVector(u.remove)
		}
		if err != nil {
			return err
		}
	}
	if len(c.next.Vectors) > 0 && c.next.Billing != PayPerRequest {
		return errVectorBilling
	}
	return nil
}

// createVector adds a vector index, which must be filled.
func (c *change) createVector(x *vectorSpec) error {
	if c.next.named(x.name) {
		return wire.Invalid("Attempting to create an index which already exists")
	}
	known := definitions(c.old.Attributes())
	if _, ok := known.find(x.attribute); ok {
		return invalid("Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "+
			"Existing schema: %s New schema: VectorIndexSchema:[VectorAttribute: key{%s:L:%d}]", c.schemaWith(x.attribute), x.attribute, x.dimensions)
	}
	defs := slices.Concat(c.r.definitions, known)
	others := make([]vectorSpec, len(c.next.Vectors))
	nonKeys := x.nonKeys()
	for i, y := range c.next.Vectors {
		others[i] = vectorSpec{attribute: y.Vector.Attribute, dimensions: int64(y.Vector.Dimensions)}
		nonKeys += 1 + len(y.Projection.NonKey) + len(y.Vector.Schema) - len(y.Key.Hash)
	}
	for _, y := range c.next.Indexes {
		nonKeys += len(y.Projection.NonKey)
	}
	if err := x.check(defs, others); err != nil {
		return err
	}
	for _, e := range x.schema {
		a, _ := defs.find(e.name)
		if old, ok := known.find(e.name); ok && old.Type != a.Type {
			return invalid("Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "+
				"Existing schema: %s New schema: %s", c.schemaWith(e.name), describeSchema(Key{Hash: []Attribute{a}}))
		}
	}
	if len(c.next.Vectors) >= maxVectors {
		return limitExceeded(fmt.Sprintf("Number of vector secondary indexes exceeds per-table limit of %d", maxVectors))
	}
	if err := checkNonKeys(nonKeys); err != nil {
		return err
	}
	c.next.LastIndex++
	created := x.index(c.next.LastIndex, defs)
	c.next.Vectors = append(c.next.Vectors, created)
	c.reply.Vectors = append(c.reply.Vectors, c.creating(created))
	return nil
}

// deleteVector removes a vector index.
func (c *change) deleteVector(name string) error {
	at := slices.IndexFunc(c.next.Vectors, func(x *Index) bool { return x.Name == name })
	if at < 0 {
		return c.noIndex(name)
	}
	c.reply.Vectors[at] = c.deleting(c.next.Vectors[at], c.reply.Vectors[at])
	c.next.Vectors = slices.Delete(c.next.Vectors, at, at+1)
	return nil
}

// appendVector writes the description of a vector index.
func (d *Describer) appendVector(o *object, t *Table, x *Index) {
	o.text("IndexName", x.Name)
	o.name("VectorAttribute")
	in := open(o.dst)
	in.text("AttributeName", x.Vector.Attribute)
	o.dst = in.close()
	o.number("Dimensions", int64(x.Vector.Dimensions))
	o.text("DistanceFunction", string(x.Vector.Distance))
	if x.Vector.Schema != nil {
		each(o, "SearchSchema", x.Vector.Schema, func(o *object, a SearchAttribute) {
			o.text("AttributeName", a.Attribute.Name)
			kind := "INLINE_FILTER"
			if a.Hash {
				kind = "HASH"
			}
			o.text("SearchSchemaElementType", kind)
		})
	}
	appendProjection(o, &x.Projection)
	d.appendIndexState(o, t, x)
}
