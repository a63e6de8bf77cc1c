package expr

import "slices"

// CheckFilter refuses a Query's filter that uses a key attribute of the queried table or
// index. A Scan's filter may use one.
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

// CheckScalars refuses paths, of any expression, that lead into a key attribute of the table
// or of an index.
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
