package catalog

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// Attribute is a key attribute and the type that its values must have.
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

// All walks over the key's attributes, Hash before Range.
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

// Len is the number of attributes.
func (k *Key) Len() int { return len(k.Hash) + len(k.Range) }

// Find returns the type of the attribute called name; false if it is none of
// the key's.
func (k *Key) Find(name string) (value.Type, bool) {
	for a := range k.All() {
		if a.Name == name {
			return a.Type, true
		}
	}
	return 0, false
}

// Has tells whether the attribute called name belongs to the key.
func (k *Key) Has(name string) bool {
	_, ok := k.Find(name)
	return ok
}

// Status is the state of a table, an index, a stream or a time to live in the
// service's words.
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

// ProjectionType says which attributes an index holds.
type ProjectionType string

const (
	ProjectAll      ProjectionType = "ALL"
	ProjectKeysOnly ProjectionType = "KEYS_ONLY"
	ProjectInclude  ProjectionType = "INCLUDE"
)

// Projection is what an index holds beside its own and the table's key.
type Projection struct {
	Type   ProjectionType
	NonKey []string `json:",omitempty"` // of Include
}

// Throughput is a pair of capacities; a zero is one that was not given.
type Throughput struct {
	Read, Write int64
}

// Capacity is what a table or a global index is said to bear. Nothing here is
// enforced: it is described as it was asked for.
type Capacity struct {
	Provisioned Throughput // zeros when billed per request
	Increased   *time.Time `json:",omitempty"`
	Decreased   *time.Time `json:",omitempty"`
	Decreases   int        `json:",omitempty"` // on the day of Decreased, in UTC
	OnDemand    Throughput // the most per second when billed per request
	Warm        Throughput // never falls
}

// Index is a secondary index.
type Index struct {
	ID         uint32 // within its table, from 1; never given twice
	Name       string
	Local      bool
	Key        Key
	Projection Projection
	// Status is Active, or Creating while Backfilling.
	Status Status
	// Backfilling says that items of before the index was created are still being
	// entered: writers maintain the index, readers are refused.
	Backfilling bool `json:",omitempty"`
	Capacity    Capacity
	Vector      *Vector `json:",omitempty"` // of vector indexes
}

// Projects tells whether the index holds the attribute called name of table t.
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

// ViewType says which images the records of a stream have.
type ViewType string

const (
	ViewKeys ViewType = "KEYS_ONLY"
	ViewNew  ViewType = "NEW_IMAGE"
	ViewOld  ViewType = "OLD_IMAGE"
	ViewBoth ViewType = "NEW_AND_OLD_IMAGES"
)

// Old tells whether records show the item as it was before.
func (v ViewType) Old() bool { return v == ViewOld || v == ViewBoth }

// New tells whether records show the item as it is afterwards.
func (v ViewType) New() bool { return v == ViewNew || v == ViewBoth }

// Stream is a stream of a table's changes. It outlives its being disabled and
// its table by 24 hours.
type Stream struct {
	ID      uint64 // among all streams of the store, from 1; never given twice
	Table   string
	Label   string // last part of its ARN
	View    ViewType
	Key     Key // of the table
	Shard   string
	Created time.Time
	Start   uint64     // smaller than the number of each record
	Closed  *time.Time `json:",omitempty"` // when it was disabled or its table deleted; nil while it is open
	End     uint64     `json:",omitempty"` // of a closed stream: the greatest number of its records, at least Start
}

// TTL is a table's time to live.
type TTL struct {
	Attribute string
	// Backfilling says that items of before it was enabled are still being entered
	// into the order of expiry.
	Backfilling bool `json:",omitempty"`
}

// Encryption asks for a key of KMS instead of the service's own.
type Encryption struct {
	Key string // its ARN
}

// Tag is one tag.
type Tag struct {
	Key, Value string
}

// Table is a table without its items.
type Table struct {
	ID      uint64 // prefix of its keys on disk, from 1; never given twice
	Name    string
	UUID    string // TableId
	Created time.Time
	// Status is Active. Only what the reply to a change describes has another.
	Status Status

	Key       Key
	Indexes   []*Index `json:",omitempty"` // local ones first
	Vectors   []*Index `json:",omitempty"` // the vector indexes
	LastIndex uint32   `json:",omitempty"` // the greatest Index.ID so far

	Billing         Billing
	PerRequestSince *time.Time `json:",omitempty"` // when it was last switched to PayPerRequest
	Capacity        Capacity
	Class           string      `json:",omitempty"` // TableClass as asked for
	ClassChanged    *time.Time  `json:",omitempty"`
	Protected       bool        `json:",omitempty"` // DeletionProtectionEnabled
	Encryption      *Encryption `json:",omitempty"`

	Stream       *Stream     `json:",omitempty"` // the open stream; nil if there is none
	LatestStream string      `json:",omitempty"` // label of the newest stream, open or not
	TTL          *TTL        `json:",omitempty"` // nil if disabled
	TTLChanges   []time.Time `json:",omitempty"` // of the last hour
	Tags         []Tag       `json:",omitempty"` // by key
}

// Attributes are the key attributes of the table and its indexes by name:
// AttributeDefinitions. Those of search schemas are among them.
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

// Index returns the index called name, nil if there is none.
func (t *Table) Index(name string) *Index {
	for _, x := range t.Indexes {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// HasLocal tells whether the table has local indexes, and thus item collections.
func (t *Table) HasLocal() bool { return len(t.Indexes) > 0 && t.Indexes[0].Local }

// IndexKeys walks over the key attributes of all indexes with the index each
// belongs to, in the order of Indexes; an attribute may come several times.
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

// KeyOf tells whether the attribute called name is a key attribute of an index,
// of which one first, and of which type its values must be. All indexes agree
// on the type.
func (t *Table) KeyOf(name string) (*Index, value.Type) {
	for x, a := range t.IndexKeys() {
		if a.Name == name {
			return x, a.Type
		}
	}
	return nil, 0
}
