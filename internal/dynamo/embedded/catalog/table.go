package catalog

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// Attribute is a key attribute with the type of its values.
type Attribute struct {
	Name string
	Type value.Type // String, Number or Binary
}

// Key is the key schema of a table or of an index. Tables and local indexes
// have one Hash attribute and at most one Range attribute, global indexes one
// to four and none to four.
type Key struct {
	Hash  []Attribute
	Range []Attribute `json:",omitempty"`
}

// All iterates over the key's attributes, Hash before Range.
func (k *Key) All() iter.Seq[Attribute] {
	return func(yield func(Attribute) bool) {
		for _, a := range k.Hash {
			if !yield(a) {
				return
			}
		}
		for _, a := range k.Range {
			if !yield(a) {
				return
			}
		}
	}
}

// Len returns the number of attributes.
func (k *Key) Len() int { return len(k.Hash) + len(k.Range) }

// Multiple reports whether the key has several hash or several range attributes.
func (k *Key) Multiple() bool { return len(k.Hash) > 1 || len(k.Range) > 1 }

// Find returns the type of the attribute called name. It returns false if the key does not
// have that attribute.
func (k *Key) Find(name string) (value.Type, bool) {
	for a := range k.All() {
		if a.Name == name {
			return a.Type, true
		}
	}
	return 0, false
}

// Has reports whether the attribute called name belongs to the key.
func (k *Key) Has(name string) bool {
	_, ok := k.Find(name)
	return ok
}

// Status is the state of a table, an index, a stream or a time to live as the API names it.
type Status string

const (
	Creating  Status = "CREATING"
	Active    Status = "ACTIVE"
	Updating  Status = "UPDATING"
	Deleting  Status = "DELETING"
	Enabling  Status = "ENABLING"
	Enabled   Status = "ENABLED"
	Disabling Status = "DISABLING"
	Disabled  Status = "DISABLED"
)

// Billing is a table's BillingMode.
type Billing string

const (
	Provisioned   Billing = "PROVISIONED"
	PayPerRequest Billing = "PAY_PER_REQUEST"
)

// ProjectionType defines the attributes that an index holds.
type ProjectionType string

const (
	ProjectAll      ProjectionType = "ALL"
	ProjectKeysOnly ProjectionType = "KEYS_ONLY"
	ProjectInclude  ProjectionType = "INCLUDE"
)

// Projection defines the attributes of an index beside its own key and the table's key.
type Projection struct {
	Type   ProjectionType
	NonKey []string `json:",omitempty"` // for Include
}

// Throughput is a pair of capacities; zero means that one was not given.
type Throughput struct {
	Read, Write int64
}

// Capacity is the described capacity of a table or a global index. It is enforced
// only if a plan of faults asks for that.
type Capacity struct {
	Provisioned Throughput // zeros when billed per request
	Increased   *time.Time `json:",omitempty"`
	Decreased   *time.Time `json:",omitempty"`
	Decreases   int        `json:",omitempty"` // on the day of Decreased, in UTC
	OnDemand    Throughput // the limits per second when billed per request
	Warm        Throughput // never decreases
}

// Index is a secondary index.
type Index struct {
	ID         uint32 // within its table, from 1; never reused
	Name       string
	Local      bool
	Key        Key
	Projection Projection
	// Status is Active, or Creating while Backfilling.
	Status Status
	// Backfilling reports whether older items are still being added to the index: writers
	// maintain the index, readers are refused.
	Backfilling bool `json:",omitempty"`
	Capacity    Capacity
	Vector      *Vector `json:",omitempty"` // for vector indexes
}

// Projects reports whether the index holds the attribute called name of table t.
func (x *Index) Projects(t *Table, name string) bool {
	if x.Vector != nil {
		if _, ok := x.Vector.Find(name); ok {
			return true
		}
	}
	switch x.Projection.Type {
	case ProjectAll:
		return true
	case ProjectInclude:
		if slices.Contains(x.Projection.NonKey, name) {
			return true
		}
	}
	return x.Key.Has(name) || t.Key.Has(name)
}

// ViewType defines the images in the records of a stream.
type ViewType string

const (
	ViewKeys ViewType = "KEYS_ONLY"
	ViewNew  ViewType = "NEW_IMAGE"
	ViewOld  ViewType = "OLD_IMAGE"
	ViewBoth ViewType = "NEW_AND_OLD_IMAGES"
)

// Old reports whether records have the item as it was before the change.
func (v ViewType) Old() bool { return v == ViewOld || v == ViewBoth }

// New reports whether records have the item as it was after the change.
func (v ViewType) New() bool { return v == ViewNew || v == ViewBoth }

// Stream is a stream of a table's changes. It can be read for 24 hours after it is disabled
// or its table is deleted.
type Stream struct {
	ID      uint64 // among all streams of the store, from 1; never reused
	Table   string
	Label   string // last part of its ARN
	View    ViewType
	Key     Key // of the table
	Created time.Time
	Start   uint64     // less than the number of each record
	Closed  *time.Time `json:",omitempty"` // when it was disabled or its table deleted; nil while it is open
	End     uint64     `json:",omitempty"` // of a closed stream: the greatest number of its records, at least Start
	Shards  []Shard    `json:",omitempty"` // by age
	// OnlyShard is the ID of its shard, written by versions without Shards.
	OnlyShard string `json:"Shard,omitempty"`
}

// TTL is a table's time to live.
type TTL struct {
	Attribute string
	// Backfilling reports whether older items are still being added to the expiry index.
	Backfilling bool `json:",omitempty"`
}

// Encryption is encryption with a KMS key instead of the service's own.
type Encryption struct {
	Key string // its ARN
}

// Tag is one tag.
type Tag struct {
	Key, Value string
}

// Table describes a table; it does not hold its items.
type Table struct {
	ID      uint64 // prefix of its keys on disk, from 1; never reused
	Name    string
	UUID    string // TableId
	Created time.Time
	// Status is Active, except in the reply to a change.
	Status Status

	Key       Key
	Indexes   []*Index `json:",omitempty"` // local ones first
	Vectors   []*Index `json:",omitempty"` // the vector indexes
	LastIndex uint32   `json:",omitempty"` // the greatest Index.ID so far

	Billing         Billing
	PerRequestSince *time.Time `json:",omitempty"` // when it was last switched to PayPerRequest
	Capacity        Capacity
	Class           string      `json:",omitempty"` // TableClass as requested
	ClassChanged    *time.Time  `json:",omitempty"`
	Protected       bool        `json:",omitempty"` // DeletionProtectionEnabled
	Encryption      *Encryption `json:",omitempty"`

	Stream       *Stream     `json:",omitempty"` // the open stream; nil if there is none
	LatestStream string      `json:",omitempty"` // label of the newest stream, open or not
	TTL          *TTL        `json:",omitempty"` // nil if disabled
	TTLChanges   []time.Time `json:",omitempty"` // in the last hour
	Tags         []Tag       `json:",omitempty"` // by key
}

// Attributes returns the key attributes of the table and its indexes by name, including the
// attributes of search schemas: AttributeDefinitions.
func (t *Table) Attributes() []Attribute {
	all := slices.Collect(t.Key.All())
	for _, a := range t.IndexKeys() {
		all = append(all, a)
	}
	for _, x := range t.Vectors {
		for _, a := range x.Vector.Schema {
			all = append(all, a.Attribute)
		}
	}
	slices.SortFunc(all, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Attribute) bool { return a.Name == b.Name })
}

// Index returns the index called name, or nil.
func (t *Table) Index(name string) *Index {
	for _, x := range t.Indexes {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// HasLocal reports whether the table has local indexes, and thus item collections.
func (t *Table) HasLocal() bool { return len(t.Indexes) > 0 && t.Indexes[0].Local }

// IndexKeys iterates over the key attributes of all indexes, each with its index, in the
// order of Indexes. An attribute may occur several times.
func (t *Table) IndexKeys() iter.Seq2[*Index, Attribute] {
	return func(yield func(*Index, Attribute) bool) {
		for _, x := range t.Indexes {
			for a := range x.Key.All() {
				if !yield(x, a) {
					return
				}
			}
		}
	}
}

// KeyOf returns the first index that has the attribute called name in its key, and the type
// of its values, which all indexes agree on. It returns nil if there is no such index.
func (t *Table) KeyOf(name string) (*Index, value.Type) {
	for x, a := range t.IndexKeys() {
		if a.Name == name {
			return x, a.Type
		}
	}
	return nil, 0
}
