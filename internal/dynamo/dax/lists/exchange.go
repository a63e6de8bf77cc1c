package lists

import "errors"

// Nodes exchange lists as bodies of records: the access key that added the list, and the
// names.

// errOther is the error of a list that does not have the number it was requested by.
var errOther = errors.New("the list has another number")

// Encode returns the list with the given number in the form that Adopt takes, if there is one.
func (r *Registry) Encode(id uint64) ([]byte, bool) {
	l := r.find(id)
	if l == nil {
		return nil, false
	}
	names := make([][]byte, len(l.names))
	for i, name := range l.names {
		names[i] = []byte(name)
	}
	return appendBody(nil, l.owner, appendNames(nil, names)), true
}

// Verify reports whether encoded is the list with the given number.
func Verify(id uint64, encoded []byte) bool {
	_, _, err := verify(id, encoded)
	return err == nil
}

// verify decodes a list, whose number must be id.
func verify(id uint64, encoded []byte) (*list, [][]byte, error) {
	if len(encoded) > maxBytes+maxOwner {
		return nil, nil, errNames
	}
	l, err := decode(encoded, true)
	if err != nil {
		return nil, nil, err
	}
	names := make([][]byte, len(l.names))
	for i, name := range l.names {
		names[i] = []byte(name)
	}
	if len(names) == 0 || idOf(appendNames(nil, names)) != id {
		return nil, nil, errOther
	}
	return l, names, nil
}

// Adopt adds a list of another node, and returns its names. The list must have the given
// number. It is charged to the access key that added it there, whose share does not limit it:
// clients have the number already. If the list can't be added, for example because there are
// too many, Adopt returns the names and the error.
func (r *Registry) Adopt(id uint64, encoded []byte) ([]string, error) {
	l, names, err := verify(id, encoded)
	if err != nil {
		return nil, err
	}
	_, err = r.ID(names, Owner{Key: []byte(l.owner)})
	return l.names, err
}
