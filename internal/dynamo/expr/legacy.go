package expr

import (
	"math"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const invalidParameter = "One or more parameter values were invalid: "

// legacyOperator describes a ComparisonOperator.
type legacyOperator struct {
	minValues, maxValues int          // number of values
	types                []value.Type // of the values; any if nil
	key                  KeyOp        // 0 if keys don't support it
	node                 func(attribute *Operand, values []*Operand) *Node
}

var (
	scalars = []value.Type{value.String, value.Number, value.Binary}
	texts   = []value.Type{value.String, value.Binary}
	members = []value.Type{value.String, value.Number, value.Binary, value.Bool, value.Null}
)

var legacyOperators = map[string]legacyOperator{
	"EQ":           {1, 1, nil, KeyEqual, comparing(Equal)},
	"NE":           {1, 1, nil, 0, comparing(NotEqual)},
	"LT":           {1, 1, scalars, KeyLess, comparing(Less)},
	"LE":           {1, 1, scalars, KeyLessEqual, comparing(LessEqual)},
	"GT":           {1, 1, scalars, KeyGreater, comparing(Greater)},
	"GE":           {1, 1, scalars, KeyGreaterEqual, comparing(GreaterEqual)},
	"BETWEEN":      {2, 2, scalars, KeyBetween, of(Between)},
	"IN":           {1, math.MaxInt, scalars, 0, of(In)},
	"BEGINS_WITH":  {1, 1, texts, KeyBeginsWith, calling(BeginsWith)},
	"CONTAINS":     {1, 1, members, 0, calling(Contains)},
	"NOT_CONTAINS": {1, 1, members, 0, notContains},
	"NULL":         {0, 0, nil, 0, calling(AttributeNotExists)},
	"NOT_NULL":     {0, 0, nil, 0, calling(AttributeExists)},
}

func comparing(op Comparator) func(*Operand, []*Operand) *Node {
	return func(attribute *Operand, values []*Operand) *Node {
		return &Node{Kind: Compare, Op: op, Args: []*Operand{attribute, values[0]}}
	}
}

func of(kind NodeKind) func(*Operand, []*Operand) *Node {
	return func(attribute *Operand, values []*Operand) *Node {
		return &Node{Kind: kind, Args: append([]*Operand{attribute}, values...)}
	}
}

func calling(f Function) func(*Operand, []*Operand) *Node {
	return func(attribute *Operand, values []*Operand) *Node {
		return &Node{Kind: Call, Function: f, Args: append([]*Operand{attribute}, values...)}
	}
}

// notContains differs from NOT contains() in being false for a missing attribute.
func notContains(attribute *Operand, values []*Operand) *Node {
	there := calling(AttributeExists)(attribute, nil)
	not := &Node{Kind: Not, Nodes: []*Node{calling(Contains)(attribute, values)}}
	return &Node{Kind: And, Nodes: []*Node{there, not}}
}

// legacyCondition is a condition on one attribute.
type legacyCondition struct {
	name     string
	operator string // as written
	legacyOperator
	values []*value.Value
}

// legacyMap calls member with each member of an object whose names are attributes; nil
// means an object that the request doesn't have.
func legacyMap(obj []byte, member func(name string, v []byte) error) error {
	if obj == nil {
		return nil
	}
	seen := make(map[string]bool)
	it := wire.Object(obj)
	for it.Next() {
		text, ok := wire.AppendName(nil, it.Name())
		name := string(text)
		switch {
		case !ok || name == "":
			return &Error{"Empty attribute name"}
		case len(name) > maxName:
			return &Error{nameTooLong}
		case seen[name]:
			return &Error{"An attribute is named twice: " + name}
		}
		seen[name] = true
		if err := member(name, it.Value()); err != nil {
			return err
		}
	}
	if it.Err() {
		return &Error{"Not a map of attributes"}
	}
	return nil
}

// legacyValue reads and checks an attribute value.
func legacyValue(text []byte) (*value.Value, error) {
	v, err := value.Parse(text)
	return &v, err
}

// legacyValues reads and checks a list of attribute values.
func legacyValues(list []byte) (values []*value.Value, err error) {
	it := wire.Array(list)
	for it.Next() {
		v, err := legacyValue(it.Value())
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if it.Err() {
		return nil, &Error{"AttributeValueList is not a list"}
	}
	return values, nil
}

// setOperator sets the operator of a condition whose values are set, and checks that they
// fit each other.
func (c *legacyCondition) setOperator(quoted []byte) error {
	text, _ := wire.AppendString(nil, quoted)
	c.operator = string(text)
	var ok bool
	c.legacyOperator, ok = legacyOperators[c.operator]
	if n := len(c.values); !ok || n < c.minValues || n > c.maxValues {
		return &Error{invalidParameter + "Invalid number of argument(s) for the " + c.operator + " ComparisonOperator"}
	}
	for _, v := range c.values {
		switch {
		case c.types != nil && !slices.Contains(c.types, v.Type):
			return &Error{invalidParameter + "ComparisonOperator " + c.operator + " is not valid for " + v.Type.String() + " AttributeValue type"}
		case v.Type != c.values[0].Type:
			return &Error{invalidParameter + "AttributeValues inside AttributeValueList must be of same type"}
		}
	}
	if c.operator == "BETWEEN" {
		if order, _ := value.Compare(c.values[0], c.values[1]); order > 0 {
			return &Error{"The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"}
		}
	}
	return nil
}

// condition returns the equivalent node of a tree.
func (c *legacyCondition) condition() *Node {
	values := make([]*Operand, len(c.values))
	for i, v := range c.values {
		values[i] = &Operand{Kind: ValueOperand, Value: v}
	}
	return c.node(&Operand{Kind: PathOperand, Path: Path{{Name: c.name, Index: -1}}}, values)
}

var conditionMembers = []string{"ComparisonOperator", "AttributeValueList"}

// read reads {"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}.
func (c *legacyCondition) read(obj []byte) (err error) {
	var m [2][]byte
	if !wire.Collect(obj, conditionMembers, m[:]) {
		return &Error{"Not a condition: " + c.name}
	}
	if m[1] != nil {
		if c.values, err = legacyValues(m[1]); err != nil {
			return err
		}
	}
	return c.setOperator(m[0])
}

// joinLegacy joins conditions; operator is ConditionalOperator, empty if the request has
// none.
func joinLegacy(nodes []*Node, operator string) (*Condition, error) {
	switch {
	case operator != "" && len(nodes) == 0:
		return nil, &Error{"ConditionalOperator cannot be used without Filter or Expected"}
	case operator != "" && len(nodes) == 1:
		return nil, &Error{"ConditionalOperator can only be used when Filter or Expected has two or more elements"}
	case len(nodes) == 0:
		return nil, nil
	case len(nodes) == 1:
		return &Condition{Root: nodes[0], Legacy: true}, nil
	}
	kind := And
	if operator == "OR" {
		kind = Or
	}
	return &Condition{Root: &Node{Kind: kind, Nodes: nodes}, Legacy: true}, nil
}

// LegacyFilter reads the object QueryFilter or ScanFilter, nil if the request has none, and
// ConditionalOperator, empty for none. It returns nil for a filter without conditions.
func LegacyFilter(obj []byte, operator string) (*Condition, error) {
	return legacyConditions(obj, operator, (*legacyCondition).read)
}

// legacyConditions reads an object of conditions by attribute, and joins them.
func legacyConditions(obj []byte, operator string, read func(c *legacyCondition, v []byte) error) (*Condition, error) {
	var nodes []*Node
	err := legacyMap(obj, func(name string, v []byte) error {
		c := legacyCondition{name: name}
		if err := read(&c, v); err != nil {
			return err
		}
		nodes = append(nodes, c.condition())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return joinLegacy(nodes, operator)
}

// LegacyKeyQuery reads the object KeyConditions; index reports whether the request names an
// index.
func LegacyKeyQuery(obj []byte, index bool) (*KeyQuery, error) {
	q := new(KeyQuery)
	err := legacyMap(obj, func(name string, v []byte) error {
		c := legacyCondition{name: name}
		if err := c.read(v); err != nil {
			return err
		}
		t := queryTerm{name: name, op: c.key}
		if t.op != 0 {
			t.a = c.values[0]
		}
		if t.op == KeyBetween {
			t.b = c.values[1]
		}
		q.terms = append(q.terms, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	limit := 2
	if index { // which may have more key attributes than a table
		limit = maxKeyTerms
	}
	if len(q.terms) == 0 || len(q.terms) > limit {
		return nil, &Error{errKeyCount}
	}
	return q, nil
}

// LegacyAttributes reads the list AttributesToGet.
func LegacyAttributes(list []byte) ([]Path, error) {
	var paths []Path
	seen := make(map[string]bool)
	it := wire.Array(list)
	for it.Next() {
		text, ok := wire.AppendString(nil, it.Value())
		name := string(text)
		switch {
		case !ok || name == "":
			return nil, &Error{"Empty attribute name"}
		case len(name) > maxName:
			return nil, &Error{nameTooLong}
		case seen[name]:
			return nil, &Error{invalidParameter + "Duplicate value in attribute name: " + name}
		}
		seen[name] = true
		paths = append(paths, Path{{Name: name, Index: -1}})
	}
	if it.Err() {
		return nil, &Error{"AttributesToGet is not a list"}
	}
	return paths, nil
}
