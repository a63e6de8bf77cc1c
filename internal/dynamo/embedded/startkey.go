package embedded

import (
	"bytes"
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const startInvalid = "The provided starting key is invalid"

// A starting key holds the key of an item and, in a read of an index, the index key as well.
// The service checks it in steps, with other checks between them: the number of its
// attributes (checkStartLength), the attributes of the key that is read, one by one
// (checkStartPart), the table's key (checkStartKey), and whether the read includes it
// (setStart, setScanStart).

// checkStartLength checks the number of attributes in the starting key.
func (r *reading) checkStartLength() error {
	if r.req.Start == nil || len(r.req.Start.Members) == len(r.keyNames) {
		return nil
	}
	if r.req.Scan && r.x == nil {
		return wire.Invalid("%s: %s", startInvalid, errKeySchema.Message)
	}
	return wire.Invalid(startInvalid)
}

// checkStartPart checks the starting key's value for attribute i of the key that is read.
func (r *reading) checkStartPart(i int) error {
	if r.req.Start == nil {
		return nil
	}
	a, limit, tooLong := r.part(i), maxHashKey, errHashSize
	if i >= len(r.key.Hash) {
		limit, tooLong = maxRangeKey, errRangeSize
	}
	v := r.req.Start.Get(a.Name)
	switch {
	case v == nil:
		return wire.Invalid(startInvalid)
	case v.Type != a.Type:
		return errKeySchema
	case isEmpty(v):
		return wire.Invalid("%s%s Key: %s", emptyKeyPrefix, emptyValueName(v), a.Name)
	case keyLength(v) > limit:
		return tooLong
	}
	return nil
}

// part returns attribute i of the key that is read.
func (r *reading) part(i int) catalog.Attribute {
	if i < len(r.key.Hash) {
		return r.key.Hash[i]
	}
	return r.key.Range[i-len(r.key.Hash)]
}

// checkStartKey checks the table's key in the starting key.
func (r *reading) checkStartKey() error {
	if r.req.Start == nil {
		return nil
	}
	key := value.Value{Type: value.Map}
	for a := range r.t.info.Key.All() {
		if v := r.req.Start.Get(a.Name); v != nil {
			key.Members = append(key.Members, value.Member{Name: a.Name, Value: *v})
		}
	}
	var e *wire.Error
	if err := checkKey(r.t.info, &key); errors.As(err, &e) {
		return wire.Invalid("%s: %s", startInvalid, e.Message)
	}
	return nil
}

// setStart makes a query begin after its starting key, whose parts have been checked.
func (r *reading) setStart() error {
	if r.req.Start == nil {
		return nil
	}
	r.start = append(r.start[:0], r.lower[:r.partition]...)
	r.appendStartRest()
	ranged := len(r.cond.Range) > 0 || r.cond.Op != 0
	samePartition := true
	for i := range r.key.Hash {
		samePartition = samePartition && r.req.Start.Get(r.key.Hash[i].Name).Equal(&r.cond.Hash[i])
	}
	switch {
	case ranged && !r.inBounds():
		return wire.Invalid("The provided starting key does not match the range key predicate")
	case !samePartition && ranged:
		return wire.Invalid("The query can return at most one row and cannot be restarted")
	case !samePartition:
		return wire.Invalid("The provided starting key is outside query boundaries based on provided conditions")
	case r.single():
		name := r.key.Hash[0].Name
		return wire.Invalid("The provided exclusive start key is invalid: ExclusiveStartKey: {%s=%s}", name, expr.AttributeText(r.req.Start.Get(name)))
	}
	r.skip()
	return nil
}

// setScanStart makes a scan begin after its starting key, whose parts have been checked.
func (r *reading) setScanStart() error {
	if r.req.Start == nil {
		return nil
	}
	var buf [maxHashParts]*value.Value
	partition := buf[:0]
	for i := range r.key.Hash {
		partition = append(partition, r.req.Start.Get(r.key.Hash[i].Name))
	}
	r.start = appendPartition(r.start[:0], r.t.id, r.number(), partition...)
	r.appendStartRest()
	if !r.inBounds() {
		return wire.Invalid("%s: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d",
			startInvalid, r.req.Segments, r.req.Segment)
	}
	r.skip()
	return nil
}

// appendStartRest appends the part after the partition of the starting key: the sort key
// and, in an index, the key of the item.
func (r *reading) appendStartRest() {
	for i := range r.key.Range {
		r.start = r.req.Start.Get(r.key.Range[i].Name).AppendKey(r.start)
	}
	if r.x != nil {
		r.start = appendTieBreaker(r.start, r.t.info, r.req.Start)
	}
}

func (r *reading) inBounds() bool {
	return bytes.Compare(r.start, r.lower) >= 0 && bytes.Compare(r.start, r.upper) < 0
}

// skip narrows the bounds to the keys after the starting key.
func (r *reading) skip() {
	if r.req.Backward {
		r.upper = append(r.upper[:0], r.start...)
	} else {
		r.lower = append(append(r.lower[:0], r.start...), 0)
	}
}
