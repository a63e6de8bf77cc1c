// Package item converts items between DynamoDB's JSON and the formats of the DAX protocol.
//
//	whole      number of the list of its attribute names, then their values in the
//	           list's order. Key attributes are separate, as key bytes
//	projected  a map: the position of a path in the projection to its value
//	partial    attributes changed by an update: number of a list of names, then a map
//	           of positions in that list to values
package item

// Lists numbers lists of attribute names.
type Lists interface {
	// ID returns the number of a list, whose order matters. The list without names is 1.
	ID(names [][]byte) (uint64, error)
	// Names returns the list with the given number.
	Names(id uint64) ([]string, bool)
}
