package expr

import "slices"

// CheckFilter refuses the filter of a Query that looks at an attribute of the
// key that the Query goes by. A Scan's filter may.
func (c *Condition) CheckFilter(s *KeySchema) error {
	paths := c.Paths()
	for _, key := range slices.Concat(s.Hash, s.Range) {
		if !slices.ContainsFunc(paths, func(p Path) bool { return p[0].Name == key.Name }) {
			continue
		}
		filter := "Filter Expression"
		if c.Legacy {
			filter = "QueryFilter"
		}
		return &Error{filter + " can only contain non-primary key attributes: Primary key attribute: " + key.Name}
	}
	return nil
}

// CheckScalars refuses paths, of any expression, that lead into an attribute of
// the table's key or of an index's.
func CheckScalars(paths []Path, table *KeySchema, indexes []KeySchema) error {
	if err := checkScalars(paths, table, "Key: "); err != nil {
		return err
	}
	for i := range indexes {
		if err := checkScalars(paths, &indexes[i], "IndexKey: "); err != nil {
			return err
		}
	}
	return nil
}

func checkScalars(paths []Path, s *KeySchema, what string) error {
	for _, p := range paths {
		if len(p) == 1 {
			continue
		}
		leads := func(key KeyAttribute) bool { return key.Name == p[0].Name }
		if slices.ContainsFunc(s.Hash, leads) || slices.ContainsFunc(s.Range, leads) {
			return &Error{"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: " + what + p[0].Name}
		}
	}
	return nil
}
