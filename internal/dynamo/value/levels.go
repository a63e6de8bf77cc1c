package value

// maxLevels is how deep documents nest: an attribute's value is at level 1,
// what that contains at level 2.
const maxLevels = 32

// CheckLevels returns the error for an item that nests deeper than DynamoDB
// stores, which an update can make of one that doesn't; nil for others.
func (v *Value) CheckLevels() error {
	if v.fitsLevels(maxLevels) {
		return nil
	}
	mine := *errNesting
	return &mine
}

// fitsLevels tells whether what v contains takes no more than so many levels.
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
