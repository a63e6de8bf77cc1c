package embedded

import (
	"cmp"
	"errors"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxItem is the maximum size of an item.
const maxItem = 400 << 10

var (
	errKeySchema  = wire.Invalid("The provided key element does not match the schema")
	errItemSize   = wire.Invalid("Item size has exceeded the maximum allowed size")
	errUpdateSize = wire.Invalid("Item size to update has exceeded the maximum allowed size")
	errHashSize   = wire.Invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", maxHashKey)
	errRangeSize  = wire.Invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", maxRangeKey)
	errIndexType  = wire.Invalid("The update expression attempted to update the secondary index key to unsupported type")
	errIndexSize  = wire.Invalid("The update expression attempted to update the secondary index key beyond allowed size limits.")
)

// emptyKeyError is the error for an empty key value. A transaction reports it directly, not
// as a cancellation reason.
type emptyKeyError struct{ fault *wire.Error }

func (e emptyKeyError) Error() string { return e.fault.Error() }
func (e emptyKeyError) Unwrap() error { return e.fault }

// isEmptyKey reports whether an error is about an empty key value.
func isEmptyKey(err error) bool {
	var e emptyKeyError
	return errors.As(err, &e)
}

const emptyKeyPrefix = "One or more parameter values are not valid. "

// emptyValueName names the kind of the empty value, for the middle of a message.
func emptyValueName(v *value.Value) string {
	if v.Type == value.Binary {
		return "The AttributeValue for a key attribute cannot contain an empty binary value."
	}
	return "The AttributeValue for a key attribute cannot contain an empty string value."
}

// invalid converts an error of package expr to a reply.
func invalid(err error) error {
	var e *expr.Error
	if errors.As(err, &e) {
		return wire.Invalid("%s", e.Text)
	}
	return err
}

// checkKey checks a Key against the table's schema.
func checkKey(t *catalog.Table, key *value.Value) error {
	if len(key.Members) != t.Key.Len() {
		return errKeySchema
	}
	for a := range t.Key.All() {
		if v := key.Get(a.Name); v == nil || v.Type != a.Type {
			return errKeySchema
		}
	}
	return checkKeyValues(t, key)
}

// checkItem checks an item to be put against the schemas of the table and its indexes.
func checkItem(t *catalog.Table, item *value.Value) error {
	for a := range t.Key.All() {
		v := item.Get(a.Name)
		switch {
		case v == nil:
			return wire.Invalid("One or more parameter values were invalid: Missing the key %s in the item", a.Name)
		case v.Type != a.Type:
			return wire.Invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", a.Name, a.Type, v.Type)
		}
	}
	if err := checkKeyValues(t, item); err != nil {
		return err
	}
	if err := checkIndexKeys(t, item); err != nil {
		return err
	}
	if err := checkVectors(t, item, nil); err != nil {
		return err
	}
	if collectionSize(t, item, item.ItemSize()) > maxItem {
		return errItemSize
	}
	return nil
}

// collectionSize returns the size of an item with its entries in the local indexes, which
// share the limit of one item. An entry is never larger than its item.
func collectionSize(t *catalog.Table, item *value.Value, size int) int {
	if !t.HasLocal() || size*(1+len(t.Indexes)) <= maxItem {
		return size
	}
	return size + localSize(t, item)
}

// localSize returns the size of an item's entries in the local indexes.
func localSize(t *catalog.Table, item *value.Value) (sum int) {
	for _, x := range t.Indexes {
		if x.Local && indexes(x, item) {
			sum += project(t, x, item).ItemSize()
		}
	}
	return sum
}

// checkKeyValues checks that key attributes, whose types are right, are not empty
// or too long.
func checkKeyValues(t *catalog.Table, item *value.Value) error {
	for a := range t.Key.All() {
		if v := item.Get(a.Name); isEmpty(v) {
			return emptyKeyError{wire.Invalid("%s%s Key: %s", emptyKeyPrefix, emptyValueName(v), a.Name)}
		}
	}
	if keyLength(item.Get(t.Key.Hash[0].Name)) > maxHashKey {
		return errHashSize
	}
	for _, a := range t.Key.Range {
		if keyLength(item.Get(a.Name)) > maxRangeKey {
			return errRangeSize
		}
	}
	return nil
}

func isEmpty(v *value.Value) bool {
	return len(v.Text) == 0 && (v.Type == value.String || v.Type == value.Binary)
}

// keyLength returns the length that counts towards the limits of key lengths. Numbers are
// always short enough.
func keyLength(v *value.Value) int {
	if v.Type == value.Number {
		return 0
	}
	return len(v.Text)
}

// checkIndexKeys checks the attributes of an item to be put against the keys of all indexes:
// first their types, then their values.
func checkIndexKeys(t *catalog.Table, item *value.Value) error {
	if len(t.Indexes) == 0 {
		return nil
	}
	byName := indexesByName(t)
	for _, x := range byName {
		for a := range x.Key.All() {
			if v := item.Get(a.Name); v != nil && v.Type != a.Type {
				return indexTypeError(x, a, v.Type)
			}
		}
	}
	for _, x := range byName {
		for a := range x.Key.All() {
			if v := item.Get(a.Name); v != nil && isEmpty(v) {
				return emptyIndexKey(v, x.Name, a.Name)
			}
		}
	}
	for _, x := range byName {
		if err := checkIndexLengths(x, item); err != nil {
			return err
		}
	}
	return nil
}

func indexTypeError(x *catalog.Index, a catalog.Attribute, actual value.Type) error {
	return wire.Invalid("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", a.Name, a.Type, actual, x.Name)
}

// checkIndexLengths checks the sizes of the item's index key attributes.
func checkIndexLengths(x *catalog.Index, item *value.Value) error {
	length := func(attributes []catalog.Attribute) (n int) {
		for _, a := range attributes {
			if v := item.Get(a.Name); v != nil {
				n += keyLength(v)
			}
		}
		return n
	}
	switch {
	case length(x.Key.Hash) > maxHashKey:
		return errHashSize
	case length(x.Key.Range) > maxRangeKey:
		return errRangeSize
	}
	return nil
}

// indexesByName returns the indexes in the order in which errors report them.
func indexesByName(t *catalog.Table) []*catalog.Index {
	list := slices.Clone(t.Indexes)
	slices.SortFunc(list, func(a, b *catalog.Index) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// checkUpdate makes the checks of an update against the schemas that don't need the item.
func checkUpdate(t *catalog.Table, u *expr.Update) error {
	if u == nil {
		return nil
	}
	for a := range t.Key.All() {
		for i := range u.Actions {
			if u.Actions[i].Path[0].Name == a.Name {
				return wire.Invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", a.Name)
			}
		}
	}
	if len(t.Indexes) > 0 {
		if err := checkIndexUpdate(t, u); err != nil {
			return err
		}
	}
	return checkScalars(t, u.AllPaths())
}

// checkIndexUpdate checks the values that the update writes to key attributes of indexes, as
// far as they are known without the item.
func checkIndexUpdate(t *catalog.Table, u *expr.Update) error {
	byName := indexesByName(t)
	each := func(check func(x *catalog.Index, a catalog.Attribute, written *expr.Operand) error) error {
		for _, x := range byName {
			for a := range x.Key.All() {
				if written := writtenTo(u, a.Name); written != nil {
					if err := check(x, a, written); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	err := each(func(x *catalog.Index, a catalog.Attribute, written *expr.Operand) error {
		if typ := written.StaticType(); typ != 0 && typ != a.Type {
			return indexTypeError(x, a, typ)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return each(func(x *catalog.Index, a catalog.Attribute, written *expr.Operand) error {
		v := written.Value
		if v == nil {
			return nil
		}
		if isEmpty(v) {
			return emptyIndexUpdate(v)
		}
		one := value.Value{Type: value.Map, Members: []value.Member{{Name: a.Name, Value: *v}}}
		return checkIndexLengths(x, &one)
	})
}

func emptyIndexKey(v *value.Value, index, attribute string) error {
	return emptyKeyError{wire.Invalid("%sA value specified for a secondary index key is not supported. %s IndexName: %s, IndexKey: %s",
		emptyKeyPrefix, emptyValueName(v), index, attribute)}
}

func emptyIndexUpdate(v *value.Value) error {
	return emptyKeyError{wire.Invalid("%sThe update expression attempted to update a secondary index key to a value that is not supported. %s", emptyKeyPrefix, emptyValueName(v))}
}

// writtenTo returns the value that the update writes to the whole attribute; nil if it
// writes none.
func writtenTo(u *expr.Update, attribute string) *expr.Operand {
	for i := range u.Actions {
		a := &u.Actions[i]
		if len(a.Path) == 1 && a.Path[0].Name == attribute && (a.Clause == expr.Set || a.Clause == expr.Add) {
			return a.Value
		}
	}
	return nil
}

// checkUpdated checks an updated item against the keys of the indexes that the update has
// changed.
func checkUpdated(t *catalog.Table, u *expr.Update, item *value.Value) error {
	for i := range u.Actions {
		path := u.Actions[i].Path
		x, typ := t.KeyOf(path[0].Name)
		if x == nil {
			continue
		}
		switch v := item.Get(path[0].Name); {
		case v == nil:
		case v.Type != typ:
			return errIndexType
		case isEmpty(v):
			return emptyIndexUpdate(v)
		}
	}
	for _, x := range t.Indexes {
		if touches(u, x) && checkIndexLengths(x, item) != nil {
			return errIndexSize
		}
	}
	return nil
}

// checkCost refuses an UpdateExpression that costs more than the largest item, whatever the
// item is. Only UpdateItem is limited so.
func (w *writeRequest) checkCost() error {
	if w.Update != nil && !w.Update.Legacy && w.Update.Cost() > maxItem {
		return errUpdateSize
	}
	return nil
}

// checkUpdatedSize refuses an update after which the item is too large.
func checkUpdatedSize(t *catalog.Table, item *value.Value) error {
	if collectionSize(t, item, item.ItemSize()) > maxItem {
		return errUpdateSize
	}
	return nil
}

func touches(u *expr.Update, x *catalog.Index) bool {
	return slices.ContainsFunc(u.Actions, func(a expr.Action) bool { return x.Key.Has(a.Path[0].Name) })
}

// checkScalars refuses paths that lead into key attributes.
func checkScalars(t *catalog.Table, paths []expr.Path) error {
	if !slices.ContainsFunc(paths, func(p expr.Path) bool { return len(p) > 1 }) {
		return nil
	}
	schema := func(k *catalog.Key) (s expr.KeySchema) {
		for _, a := range k.Hash {
			s.Hash = append(s.Hash, expr.KeyAttribute{Name: a.Name, Type: a.Type})
		}
		for _, a := range k.Range {
			s.Range = append(s.Range, expr.KeyAttribute{Name: a.Name, Type: a.Type})
		}
		return s
	}
	table := schema(&t.Key)
	var indexes []expr.KeySchema
	for _, x := range t.Indexes {
		indexes = append(indexes, schema(&x.Key))
	}
	return invalid(expr.CheckScalars(paths, &table, indexes))
}

// asFault returns the reply in an error that the client caused; nil for another error.
func asFault(err error) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
