package embedded

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// writeEntries updates the entries of the change's item in all indexes of the table, and
// records the cost.
func (e *edit) writeEntries(c *change) {
	for _, all := range [][]*catalog.Index{c.t.info.Indexes, c.t.info.Vectors} {
		for _, x := range all {
			if units := e.writeEntry(c, x); units > 0 {
				c.indexes = append(c.indexes, indexCost{index: x.Name, local: x.Local, vector: x.Vector != nil, units: units})
			}
		}
	}
}

// writeEntry updates an item's entry in one index, and returns the cost in capacity units,
// or in bytes for a vector index.
func (e *edit) writeEntry(c *change, x *catalog.Index) float64 {
	oldKey, old := c.t.entry(x, &c.old)
	if x.Backfilling && old.exists() && !e.hasEntry(oldKey) {
		old = image{}
	}
	newKey, new := c.t.entry(x, &c.new)
	if old.exists() && new.exists() && bytes.Equal(oldKey, newKey) && old.tree.Equal(new.tree) {
		return 0
	}
	cost := writeUnits
	if x.Vector != nil {
		cost = vectorBytes
	}
	units := 0.0
	switch {
	case old.exists() && new.exists() && bytes.Equal(oldKey, newKey):
		units = cost(max(old.size, new.size))
	default:
		if old.exists() {
			e.b.Delete(oldKey)
			units += cost(old.size)
		}
		if new.exists() {
			units += cost(new.size)
		}
	}
	if new.exists() {
		e.set(newKey, &new)
	}
	e.addCounts(c.t.id, x.ID, &old, &new)
	return units
}

// changesEntry reports whether an item's entry in an index differs between two images of it.
func (t *table) changesEntry(x *catalog.Index, old, new *image) bool {
	oldKey, before := t.entry(x, old)
	newKey, after := t.entry(x, new)
	if !before.exists() || !after.exists() {
		return before.exists() || after.exists()
	}
	return !bytes.Equal(oldKey, newKey) || !before.tree.Equal(after.tree)
}

// entry returns the entry of an item in an index: its key on disk, and the projected
// attributes. It returns the zero image if the item is not in the index.
func (t *table) entry(x *catalog.Index, m *image) ([]byte, image) {
	if !m.exists() {
		return nil, image{}
	}
	if x.Vector != nil {
		return t.vectorEntry(x, m)
	}
	key, ok := appendEntryKey(nil, t.info, x, m.tree)
	if !ok {
		return nil, image{}
	}
	if x.Projection.Type == catalog.ProjectAll {
		return key, *m
	}
	tree := project(t.info, x, m.tree)
	return key, image{there: true, size: tree.ItemSize(), text: tree.AppendItem(nil), tree: tree}
}

// project returns the projection of an item into the index.
func project(t *catalog.Table, x *catalog.Index, item *value.Value) *value.Value {
	entry := &value.Value{Type: value.Map}
	for i := range item.Members {
		if x.Projects(t, item.Members[i].Name) {
			entry.Members = append(entry.Members, item.Members[i])
		}
	}
	return entry
}
