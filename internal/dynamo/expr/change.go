package expr

import (
	"cmp"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// change is the effect of an update on one place of an item. It either ends there (to is the
// new value, nil to remove the old one) or changes values below.
type change struct {
	step  Step
	ends  bool
	to    *value.Value
	below []change
	at    map[Step]int // index of below, if it is long
}

// indexThreshold is the number of names from which on they are looked up in a map.
const indexThreshold = 16

// add records the new value at a path. Paths don't overlap: no other path ends at a step of
// this one.
func (c *change) add(path Path, to *value.Value) {
	for _, step := range path {
		c = c.child(step)
	}
	c.ends, c.to = true, to
}

func (c *change) child(step Step) *change {
	if i, ok := c.find(step); ok {
		return &c.below[i]
	}
	c.below = append(c.below, change{step: step})
	last := len(c.below) - 1
	if c.at != nil {
		c.at[step] = last
	} else if last == indexThreshold {
		c.at = make(map[Step]int, 2*indexThreshold)
		for i := range c.below {
			c.at[c.below[i].step] = i
		}
	}
	return &c.below[last]
}

func (c *change) find(step Step) (i int, ok bool) {
	if c.at != nil {
		i, ok = c.at[step]
		return i, ok
	}
	i = slices.IndexFunc(c.below, func(b change) bool { return b.step == step })
	return i, i >= 0
}

// apply returns the value that replaces old; nil means no value. If values below are
// changed, the paths have checked the type of old.
func (c *change) apply(old *value.Value) *value.Value {
	switch {
	case c.ends:
		return c.to
	case old.Type == value.List:
		return c.elements(old)
	}
	return c.members(old)
}

// members returns the new Map for an old one.
func (c *change) members(old *value.Value) *value.Value {
	v := &value.Value{Type: value.Map, Members: make([]value.Member, len(old.Members), len(old.Members)+len(c.below))}
	copy(v.Members, old.Members)
	find := finder(old.Members, len(c.below))
	removed := false
	for i := range c.below {
		b := &c.below[i]
		at := find(b.step.Name)
		if at < 0 {
			if is := b.apply(nil); is != nil {
				v.Members = append(v.Members, value.Member{Name: b.step.Name, Value: *is})
			}
			continue
		}
		if is := b.apply(&old.Members[at].Value); is != nil {
			v.Members[at].Value = *is
		} else {
			v.Members[at].Value, removed = value.Value{}, true
		}
	}
	if removed {
		v.Members = slices.DeleteFunc(v.Members, func(m value.Member) bool { return m.Value.Type == 0 })
	}
	return v
}

// finder returns a function that finds a member by name, -1 for none. lookups is the
// expected number of calls.
func finder(members []value.Member, lookups int) func(name string) int {
	if lookups < indexThreshold || len(members) < indexThreshold {
		return func(name string) int {
			return slices.IndexFunc(members, func(m value.Member) bool { return m.Name == name })
		}
	}
	table := make(map[string]int, len(members))
	for i := range members {
		table[members[i].Name] = i
	}
	return func(name string) int {
		if i, ok := table[name]; ok {
			return i
		}
		return -1
	}
}

// elements returns the new List for an old one. All indexes refer to the old list; values
// for indexes after its end are appended in the order of the indexes.
func (c *change) elements(old *value.Value) *value.Value {
	below := slices.Clone(c.below)
	slices.SortFunc(below, func(a, b change) int { return cmp.Compare(a.step.Index, b.step.Index) })
	v := &value.Value{Type: value.List, Items: make([]value.Value, 0, len(old.Items)+len(below))}
	next := 0 // of the old elements
	for i := range below {
		b := &below[i]
		end := min(b.step.Index, len(old.Items))
		v.Items = append(v.Items, old.Items[next:end]...)
		next = end
		var was *value.Value
		if next < len(old.Items) {
			was = &old.Items[next]
			next++
		}
		if is := b.apply(was); is != nil {
			v.Items = append(v.Items, *is)
		}
	}
	v.Items = append(v.Items, old.Items[next:]...)
	return v
}
