package accel

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// ownUpdate is an update through this process whose images the origin doesn't return. It refers to no
// memory of its request.
type ownUpdate struct {
	expression, names, values []byte // the members of the request; nil if absent
	statement, parameters     []byte // of PartiQL, in place of them
	key                       []byte // the item's
}

// newOwnUpdate returns the update of the item with the given key, with copies of its arguments.
func newOwnUpdate(key, expression, names, values []byte) *ownUpdate {
	return &ownUpdate{
		expression: bytes.Clone(expression), names: bytes.Clone(names), values: bytes.Clone(values), key: bytes.Clone(key),
	}
}

func (u *ownUpdate) size() int {
	return len(u.expression) + len(u.names) + len(u.values) + len(u.statement) + len(u.parameters) + len(u.key)
}

// parse returns the update's expression, nil if it isn't understood.
func (u *ownUpdate) parse() *expr.Update {
	if u.statement == nil {
		return parseUpdate(u.expression, nil, u.names, u.values)
	}
	s := statement{text: u.statement, parameters: u.parameters}
	cmd, ok := s.translate(true)
	if !ok {
		return nil
	}
	return cmd.Update
}

// makes reports whether the update changes the old image of r, if that is known, into the new one.
func (u *ownUpdate) makes(r *recordHashes) bool {
	if !r.oldKnown || !r.newKnown || r.old == r.new || r.oldItem == nil && r.old != absentHash {
		return false
	}
	after, ok := imageHash(u.apply(r.oldItem))
	return ok && after == r.new
}

// apply returns the image after the update. It is unknown if the update fails. item is nil if the item
// doesn't exist.
func (u *ownUpdate) apply(item []byte) image {
	update := u.parse()
	key, err := value.ParseItem(u.key)
	if update == nil || err != nil {
		return image{}
	}
	var before *value.Value
	if item != nil {
		v, err := value.ParseItem(item)
		if err != nil {
			return image{}
		}
		before = &v
	}
	after, err := update.Apply(before, &key)
	switch {
	case err != nil:
		return image{}
	case after == nil:
		return image{known: true}
	}
	return image{known: true, item: after.AppendItem(nil)}
}
