package value

// maxLevels is the maximum nesting of documents: an attribute's value is at level 1, its
// elements are at level 2.
const maxLevels = 32

// CheckLevels returns an error if the item nests deeper than DynamoDB stores, which an
// update can cause.
func (v *Value) CheckLevels() error {
	if v.fitsLevels(maxLevels) {
		return nil
	}
	mine := *errNesting
	return &mine
}

// fitsLevels reports whether the contents of v nest at most so many levels deep.
func (v *Value) fitsLevels(levels int) bool {
	if levels == 0 {
		return len(v.Members) == 0 && (v.Type != List || len(v.Items) == 0)
	}
	for i := range v.Members {
		if !v.Members[i].Value.fitsLevels(levels - 1) {
			return false
		}
	}
	if v.Type != List {
		return true
	}
	for i := range v.Items {
		if !v.Items[i].fitsLevels(levels - 1) {
			return false
		}
	}
	return true
}
