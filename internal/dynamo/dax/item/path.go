package item

import "slices"

// Path is the path to a value in an item.
type Path []Step

// Step is a step of a path: the name of an attribute or a member, or the index of an element
// if Name is empty. Index is -1 with a name.
type Step struct {
	Name  string
	Index int
}

// extends reports whether p shares the first n steps of other and has more steps.
func (p Path) extends(other Path, n int) bool {
	return len(p) > n && slices.Equal(p[:n], other[:n])
}
