package expr

import (
	"cmp"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// Selection selects the parts of an item that document paths lead to. Maps are rebuilt, and
// lists lose their unselected elements. Unlike a Projection it may have any number of paths.
// It may be used concurrently.
type Selection struct {
	root       branch
	projection *Projection // for items as text; nil if there are too many paths
}

// branch is a step of one or more paths.
type branch struct {
	whole   bool // a path ends here
	names   map[string]*branch
	indexes []element // ascending
}

type element struct {
	index  int
	branch *branch
}

// NewSelection makes a selection of paths that do not overlap or conflict.
func NewSelection(paths []Path) *Selection {
	s := new(Selection)
	for _, path := range paths {
		at := &s.root
		for _, step := range path {
			at = at.child(step)
		}
		at.whole = true
	}
	if p := new(Projection); p.fromPaths(paths) {
		s.projection = p
	}
	return s
}

func (b *branch) child(step Step) *branch {
	if step.Index < 0 {
		c := b.names[step.Name]
		if c == nil {
			c = new(branch)
			if b.names == nil {
				b.names = make(map[string]*branch)
			}
			b.names[step.Name] = c
		}
		return c
	}
	at, found := slices.BinarySearchFunc(b.indexes, step.Index, func(e element, index int) int { return cmp.Compare(e.index, index) })
	if !found {
		b.indexes = slices.Insert(b.indexes, at, element{step.Index, new(branch)})
	}
	return b.indexes[at].branch
}

// Of returns the selected part of an item, a Map. It shares its values with the item.
func (s *Selection) Of(item *value.Value) value.Value {
	kept, _ := s.root.keep(item)
	kept.Type = value.Map
	return kept
}

// Append appends the selected part of an item as text; value.AppendItem must have written
// item. It returns false if item is not an item.
func (s *Selection) Append(dst, item []byte) (out []byte, ok bool) {
	if s.projection != nil {
		return s.projection.Append(dst, item)
	}
	v, err := value.Stored(item)
	if err != nil {
		return dst, false
	}
	kept := s.Of(&v)
	return kept.AppendItem(dst), true
}

// keep returns the part of v that the paths after this step select, and false if there is
// none.
func (b *branch) keep(v *value.Value) (kept value.Value, ok bool) {
	if b.whole {
		return *v, true
	}
	kept.Type = v.Type
	switch v.Type {
	case value.Map:
		for i := range v.Members {
			m := &v.Members[i]
			if c := b.names[m.Name]; c != nil {
				if some, ok := c.keep(&m.Value); ok {
					kept.Members = append(kept.Members, value.Member{Name: m.Name, Value: some})
				}
			}
		}
	case value.List:
		for _, e := range b.indexes {
			if e.index >= len(v.Items) {
				break
			}
			if some, ok := e.branch.keep(&v.Items[e.index]); ok {
				kept.Items = append(kept.Items, some)
			}
		}
	}
	return kept, len(kept.Members)+len(kept.Items) > 0
}
