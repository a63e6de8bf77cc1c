package embedded

import (
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// keyTerms are the values that a WHERE clause requires of key attributes, in terms joined by
// AND.
type keyTerms struct {
	values map[string][]*value.Value // by attribute
	others bool                      // there are other terms
}

// keyTermsOf returns the key terms of a condition, nil for none. If in is set, IN with one
// value counts as a term.
func keyTermsOf(where *expr.Condition, key *catalog.Key, in bool) keyTerms {
	terms := keyTerms{values: map[string][]*value.Value{}}
	if where != nil {
		terms.add(where.Root, key, in)
	}
	return terms
}

func (k *keyTerms) add(n *expr.Node, key *catalog.Key, in bool) {
	if n.Kind == expr.And {
		for _, sub := range n.Nodes {
			k.add(sub, key, in)
		}
		return
	}
	name, v := n.Equality()
	if v == nil && in && n.Kind == expr.In && len(n.Args) == 2 {
		name, v = expr.AttributeAndValue(n.Args[0], n.Args[1])
	}
	if v == nil || !key.Has(name) {
		k.others = true
		return
	}
	k.values[name] = append(k.values[name], v)
}

// complete reports whether there is a term for each key attribute.
func (k *keyTerms) complete(key *catalog.Key) bool { return len(k.values) == key.Len() }

// key returns the Key of the one item that the terms name.
func (k *keyTerms) key(key *catalog.Key) (value.Value, error) {
	item := value.Value{Type: value.Map}
	if !k.complete(key) {
		return item, partiql.ErrNoKey
	}
	for a := range key.All() {
		values := k.values[a.Name]
		if slices.ContainsFunc(values, func(v *value.Value) bool { return !v.Equal(values[0]) }) {
			return item, wire.Invalid("Multiple conditions on same key %s. Only single item Update/Insert/Delete are supported", a.Name)
		}
		item.Members = append(item.Members, value.Member{Name: a.Name, Value: *values[0]})
	}
	for a := range key.All() {
		if err := checkStatementKey(a, item.Get(a.Name)); err != nil {
			return item, err
		}
	}
	return item, nil
}

// checkStatementKey refuses a value that is invalid for a key attribute of the table, with
// the error for statements.
func checkStatementKey(a catalog.Attribute, v *value.Value) error {
	switch {
	case v.Type != value.String && v.Type != value.Number && v.Type != value.Binary:
		return wire.Invalid("Key value must be of type S, N, or B. Key name: %s, Key type: %s", a.Name, v.Type)
	case v.Type != a.Type:
		return wire.Invalid("Key attribute's data type should match its data type in table's schema: Key %s", a.Name)
	case isEmpty(v):
		return emptyKeyError{wire.Invalid("%s%s Key: %s", emptyKeyPrefix, emptyValueName(v), a.Name)}
	}
	return nil
}

// checkStatementItem checks the keys of an item to be inserted against the schema, with the
// errors for statements.
func checkStatementItem(key *catalog.Key, item *value.Value) error {
	for a := range key.All() {
		v := item.Get(a.Name)
		if v == nil {
			return wire.Invalid("Key attribute should be present in the item: Key %s", a.Name)
		}
		if err := checkStatementKey(a, v); err != nil {
			return err
		}
	}
	return nil
}
