package item

// Path leads to a value in an item.
type Path []Step

// Step is a part of a path: an attribute's or a member's name, or an element's index if
// Name is empty and Index is not negative. Index is -1 with a name.
type Step struct {
	Name  string
	Index int
}

// extends tells whether p goes on behind the first n steps of other.
func (p Path) extends(other Path, n int) bool {
	if len(p) <= n {
		return false
	}
	for i := range n {
		if p[i] != other[i] {
			return false
		}
	}
	return true
}
