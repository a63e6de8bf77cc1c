package expr

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// KeyOp is the operator of a key condition.
type KeyOp uint8

const (
	KeyEqual KeyOp = iota + 1
	KeyLess
	KeyLessEqual
	KeyGreater
	KeyGreaterEqual
	KeyBetween
	KeyBeginsWith
)

// mirrored maps an operator to the one with exchanged operands.
var mirrored = [...]KeyOp{KeyEqual: KeyEqual, KeyLess: KeyGreater, KeyLessEqual: KeyGreaterEqual,
	KeyGreater: KeyLess, KeyGreaterEqual: KeyLessEqual}

// KeyTerm is one comparison of a key condition: an attribute with a constant, or with two
// for KeyBetween. The slices alias the request.
type KeyTerm struct {
	Name []byte // decoded
	Op   KeyOp
	A, B []byte // attribute values
}

// maxKeyTerms is the maximum number of attributes in an index's key.
const maxKeyTerms = 8

// KeyCondition is a conjunction of comparisons, at most one per attribute.
type KeyCondition struct {
	Terms []KeyTerm
}

// Find returns the comparison of the attribute called name, or nil.
func (kc *KeyCondition) Find(name []byte) *KeyTerm {
	for i := range kc.Terms {
		if bytes.Equal(kc.Terms[i].Name, name) {
			return &kc.Terms[i]
		}
	}
	return nil
}

// add appends a comparison, and returns false if DynamoDB would refuse it.
func (kc *KeyCondition) add(t KeyTerm) bool {
	if len(kc.Terms) == maxKeyTerms || kc.Find(t.Name) != nil {
		return false
	}
	typ := scalarType(t.A)
	switch {
	case typ == 0, t.Op == KeyBeginsWith && typ == 'N':
		return false
	case t.Op == KeyBetween:
		if c, ok := compareScalars(t.A, t.B); !ok || c > 0 {
			return false
		}
	}
	kc.Terms = append(kc.Terms, t)
	return true
}

// complete reports whether the condition can identify a partition.
func (kc *KeyCondition) complete() bool {
	return slices.ContainsFunc(kc.Terms, func(t KeyTerm) bool { return t.Op == KeyEqual })
}

// scalarType returns 'S', 'N' or 'B', or 0 for another type of attribute value.
func scalarType(v []byte) byte {
	typ, _, ok := wire.Attribute(v)
	if !ok || len(typ) != 1 || typ[0] == 'M' || typ[0] == 'L' {
		return 0
	}
	return typ[0]
}

// compareScalars orders two attribute values of the same type, S, N or B.
func compareScalars(a, b []byte) (order int, ok bool) {
	typ := scalarType(a)
	if typ == 0 || scalarType(b) != typ {
		return 0, false
	}
	_, x, _ := wire.Attribute(a)
	_, y, _ := wire.Attribute(b)
	if typ == 'N' {
		var m, n wire.Number
		if m.Parse(x[1:len(x)-1]) != wire.NumberFine || n.Parse(y[1:len(y)-1]) != wire.NumberFine {
			return 0, false
		}
		return m.Compare(&n), true
	}
	decode := wire.AppendExact
	if typ == 'B' {
		decode = wire.AppendBinary
	}
	var bufX, bufY [128]byte
	left, okX := decode(bufX[:0], x)
	right, okY := decode(bufY[:0], y)
	return bytes.Compare(left, right), okX && okY
}

// ParseKeyCondition reads an unescaped KeyConditionExpression into kc, whose memory it
// reuses. It returns false if it doesn't understand the expression, or if DynamoDB would
// refuse it for all tables.
func ParseKeyCondition(text []byte, names *Names, values *Values, kc *KeyCondition) bool {
	kc.Terms = kc.Terms[:0]
	if len(text) > maxText {
		return false
	}
	p := keyParser{lexer: lexer{text: text}, names: names, values: values, kc: kc}
	p.take()
	_, ok := p.conjunction(0)
	return ok && p.kind == tokenEnd && kc.complete()
}

// keyParser reads comparisons joined by AND; token is the next one.
type keyParser struct {
	lexer
	token
	names  *Names
	values *Values
	kc     *KeyCondition
}

func (p *keyParser) take() { p.token = p.lexer.next() }

func (p *keyParser) word() []byte { return p.lexer.bytes(p.token) }

func (p *keyParser) accept(k tokenKind) bool {
	if p.kind != k {
		return false
	}
	p.take()
	return true
}

func (p *keyParser) acceptWord(k keyword) bool {
	if p.kind != tokenName || keywordOf(p.word()) != k {
		return false
	}
	p.take()
	return true
}

// conjunction reads comparisons. enclosed reports whether they were in a single pair of
// parentheses; a second pair is an error.
func (p *keyParser) conjunction(depth int) (enclosed, ok bool) {
	for terms := 0; ; terms++ {
		inner := false
		if p.kind == tokenOpen && depth < maxKeyTerms {
			p.take()
			if inner, ok = p.conjunction(depth + 1); !ok || inner || !p.accept(tokenClose) {
				return false, false
			}
			inner = true
		} else if !p.comparison() {
			return false, false
		}
		if !p.acceptWord(keyAnd) {
			return inner && terms == 0, true
		}
	}
}

func (p *keyParser) comparison() bool {
	if p.kind == tokenValueRef {
		var t KeyTerm
		var ok bool
		if t.A, ok = p.value(); !ok {
			return false
		}
		if t.Op, ok = p.operator(); !ok {
			return false
		}
		t.Op = mirrored[t.Op]
		if t.Name, ok = p.name(); !ok {
			return false
		}
		return p.kc.add(t)
	}
	if p.kind == tokenName && string(p.word()) == "begins_with" && p.peek().kind == tokenOpen {
		return p.beginsWith()
	}
	t := KeyTerm{}
	var ok bool
	if t.Name, ok = p.name(); !ok {
		return false
	}
	if p.acceptWord(keyBetween) {
		t.Op = KeyBetween
		if t.A, ok = p.value(); !ok || !p.acceptWord(keyAnd) {
			return false
		}
		if t.B, ok = p.value(); !ok {
			return false
		}
		return p.kc.add(t)
	}
	if t.Op, ok = p.operator(); !ok {
		return false
	}
	if t.A, ok = p.value(); !ok {
		return false
	}
	return p.kc.add(t)
}

func (p *keyParser) beginsWith() bool {
	t := KeyTerm{Op: KeyBeginsWith}
	var ok bool
	p.take()
	p.take()
	if t.Name, ok = p.name(); !ok || !p.accept(tokenComma) {
		return false
	}
	if t.A, ok = p.value(); !ok || !p.accept(tokenClose) {
		return false
	}
	return p.kc.add(t)
}

func (p *keyParser) name() (name []byte, ok bool) {
	name, ok = resolveName(p.word(), p.kind, p.names)
	p.take()
	return name, ok
}

func (p *keyParser) value() (v []byte, ok bool) {
	if p.kind != tokenValueRef {
		return nil, false
	}
	v, ok = p.values.Lookup(p.word())
	p.take()
	return v, ok
}

func (p *keyParser) operator() (op KeyOp, ok bool) {
	switch p.kind {
	case tokenEqual:
		op = KeyEqual
	case tokenLess:
		op = KeyLess
	case tokenLessEqual:
		op = KeyLessEqual
	case tokenGreater:
		op = KeyGreater
	case tokenGreaterEqual:
		op = KeyGreaterEqual
	default:
		return 0, false
	}
	p.take()
	return op, true
}

// legacyKeyOps are the comparison operators that KeyConditions allows.
var legacyKeyOps = map[string]KeyOp{"EQ": KeyEqual, "LT": KeyLess, "LE": KeyLessEqual, "GT": KeyGreater,
	"GE": KeyGreaterEqual, "BETWEEN": KeyBetween, "BEGINS_WITH": KeyBeginsWith}

// LegacyKeyConditions reads the object KeyConditions into kc. It returns false if it doesn't
// understand the object, or if DynamoDB would refuse it for all tables.
func LegacyKeyConditions(obj []byte, kc *KeyCondition) bool {
	kc.Terms = kc.Terms[:0]
	it := wire.Object(obj)
	for it.Next() {
		name, ok := wire.AppendName(nil, it.Name())
		if !ok || len(name) == 0 {
			return false
		}
		t := KeyTerm{Name: name}
		if !t.legacy(it.Value()) || !kc.add(t) {
			return false
		}
	}
	return !it.Err() && kc.complete()
}

var legacyMembers = []string{"ComparisonOperator", "AttributeValueList"}

// legacy reads {"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}.
func (t *KeyTerm) legacy(condition []byte) bool {
	var m [2][]byte
	if !wire.Collect(condition, legacyMembers, m[:]) || m[0] == nil || m[1] == nil {
		return false
	}
	op, ok := wire.Plain(m[0])
	if !ok {
		return false
	}
	if t.Op = legacyKeyOps[string(op)]; t.Op == 0 {
		return false
	}
	list := wire.Array(m[1])
	if list.Next() {
		t.A = list.Value()
	}
	if t.Op == KeyBetween && list.Next() {
		t.B = list.Value()
	}
	return !list.Next() && !list.Err()
}
