package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// KeyAttribute is an attribute of a key with its declared type.
type KeyAttribute struct {
	Name string
	Type value.Type
}

// KeySchema is the key of a table or an index. Only a global index has more than one
// partition or sort attribute.
type KeySchema struct {
	Index string // the index's name, empty for a table
	Hash  []KeyAttribute
	Range []KeyAttribute
	// Visit, if not nil, is called with an attribute's index before its condition is
	// checked; its error ends Against. A Query checks its ExclusiveStartKey in this order.
	Visit func(attribute int) error
}

func (s *KeySchema) visit(attribute int) error {
	if s.Visit == nil {
		return nil
	}
	return s.Visit(attribute)
}

func (s *KeySchema) multiple() bool { return len(s.Hash) > 1 || len(s.Range) > 1 }

// KeyRange is the part of a table or an index that a Query reads: the items with the
// partition Hash whose first sort attributes equal Range and, if Op is not 0, whose next
// sort attribute meets Op.
type KeyRange struct {
	Hash  []value.Value
	Range []value.Value
	Op    KeyOp
	A, B  value.Value // B is set for KeyBetween
}

var (
	errKeyCondition  = &Error{"Query key condition not supported"}
	errNotIndexable  = &Error{"Attempted conditional constraint is not an indexable operation"}
	errConditionType = &Error{"One or more parameter values were invalid: Condition parameter type does not match schema type"}
)

const (
	missedKey     = "Query condition missed key schema element: "
	rangeEquality = "RANGE key attributes must be specified from left to right, with an equality condition on all but the last one specified: "
	hashEquality  = "All HASH key attributes must be specified with an equality condition: "
)

// Against checks the query against the key of the table or index, and returns the range to
// read.
func (q *KeyQuery) Against(s *KeySchema) (*KeyRange, error) {
	if s.multiple() {
		return q.againstMany(s)
	}
	if err := s.visit(0); err != nil {
		return nil, err
	}
	if err := q.checkCount(s); err != nil {
		return nil, err
	}
	hash := q.find(s.Hash[0].Name)
	if hash == nil {
		return nil, &Error{missedKey + s.Hash[0].Name}
	}
	if err := hash.check(s, &s.Hash[0]); err != nil {
		return nil, err
	}
	if hash.op != KeyEqual {
		return nil, errKeyCondition
	}
	r := &KeyRange{Hash: []value.Value{*hash.a}}
	if len(q.terms) == 1 {
		return r, nil
	}
	if err := s.visit(1); err != nil {
		return nil, err
	}
	rng := q.find(s.Range[0].Name)
	if rng == nil {
		return nil, &Error{missedKey + s.Range[0].Name}
	}
	if err := rng.check(s, &s.Range[0]); err != nil {
		return nil, err
	}
	r.narrow(rng)
	return r, nil
}

// againstMany is Against for a key with several partition or sort attributes. All partition
// attributes need an equality. Sort attributes may be omitted from the right, and only the
// last given one may have another comparison.
func (q *KeyQuery) againstMany(s *KeySchema) (*KeyRange, error) {
	r := new(KeyRange)
	for i := range s.Hash {
		if err := s.visit(i); err != nil {
			return nil, err
		}
		t := q.find(s.Hash[i].Name)
		switch {
		case t == nil:
			return nil, &Error{missedKey + s.Hash[i].Name + ". " + hashEquality + nameList(s.Hash)}
		case t.op != KeyEqual:
			return nil, &Error{errKeyCondition.Text + ". " + hashEquality + nameList(s.Hash)}
		}
		if err := t.check(s, &s.Hash[i]); err != nil {
			return nil, err
		}
		r.Hash = append(r.Hash, *t.a)
	}
	left := len(q.terms) - len(s.Hash)
	var unequal []string // the sort attributes so far without an equality
	for i := range s.Range {
		if left == 0 {
			break
		}
		if err := s.visit(len(s.Hash) + i); err != nil {
			return nil, err
		}
		t := q.find(s.Range[i].Name)
		switch {
		case t == nil:
			unequal = append(unequal, s.Range[i].Name)
			continue
		case len(unequal) > 0:
			return nil, &Error{"RANGE key attributes " + strings.Join(unequal, ", ") +
				" must have equality conditions specified in the query because a condition is present on key attribute " + s.Range[i].Name}
		}
		if err := t.check(s, &s.Range[i]); err != nil {
			return nil, err
		}
		if t.op != KeyEqual {
			unequal = append(unequal, s.Range[i].Name)
		}
		r.narrow(t)
		left--
	}
	if err := q.checkCount(s); err != nil || left == 0 {
		return r, err
	}
	missing := slices.IndexFunc(s.Range, func(a KeyAttribute) bool { return q.find(a.Name) == nil })
	return nil, &Error{missedKey + s.Range[missing].Name + ". " + rangeEquality + nameList(s.Range)}
}

// checkCount refuses more comparisons than the key has attributes.
func (q *KeyQuery) checkCount(s *KeySchema) error {
	n := len(s.Hash) + len(s.Range)
	if len(q.terms) <= n {
		return nil
	}
	return &Error{fmt.Sprintf("The number of query conditions (%d) exceeds the number of key attributes defined in the schema (%d)", len(q.terms), n)}
}

func nameList(attributes []KeyAttribute) string {
	names := make([]string, len(attributes))
	for i := range attributes {
		names[i] = attributes[i].Name
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// narrow adds the comparison of the next sort attribute to the range.
func (r *KeyRange) narrow(t *queryTerm) {
	if t.op == KeyEqual {
		r.Range = append(r.Range, *t.a)
		return
	}
	r.Op, r.A = t.op, *t.a
	if t.b != nil {
		r.B = *t.b
	}
}

// check checks a comparison against its key attribute.
func (t *queryTerm) check(s *KeySchema, key *KeyAttribute) error {
	if t.op == 0 {
		return errNotIndexable
	}
	if t.a.Type != key.Type {
		return errConditionType
	}
	if len(t.a.Text) == 0 { // and b is greater
		return emptyKey(s, key)
	}
	return nil
}

func emptyKey(s *KeySchema, key *KeyAttribute) error {
	kind := "string"
	if key.Type == value.Binary {
		kind = "binary"
	}
	text := "The AttributeValue for a key attribute cannot contain an empty " + kind + " value. "
	if s.Index == "" {
		return &Error{"One or more parameter values are not valid. " + text + "Key: " + key.Name}
	}
	return &Error{"One or more parameter values are not valid. A value specified for a secondary index key is not supported. " +
		text + "IndexName: " + s.Index + ", IndexKey: " + key.Name}
}
