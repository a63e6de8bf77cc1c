// Package item translates items between DynamoDB's JSON and the forms that they have in
// the DAX protocol.
//
//	whole      number of the list of its attributes' names, then their values in the
//	           list's order. Key attributes stand apart, as key bytes
//	projected  a map: the position of a path in the projection to the value there
//	partial    what an update changed: number of a list of names, then a map of
//	           positions in that list to values
package item

// Lists numbers lists of attribute names.
type Lists interface {
	// ID returns the number of a list, whose order counts. The list without names is 1.
	ID(names [][]byte) (uint64, error)
	// Names returns a list by its number.
	Names(id uint64) ([]string, bool)
}
