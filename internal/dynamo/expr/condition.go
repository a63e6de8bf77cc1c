package expr

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// ParseCondition reads an unescaped expression of the grammar that conditions, filters and
// key conditions share. which names it in errors: "Condition", "Filter" or "KeyCondition".
func ParseCondition(which string, text []byte, names *Names, values *Values) (*Condition, error) {
	if err := checkText(which, text); err != nil {
		return nil, err
	}
	p := newParser(which, text, names, values)
	root, ok := p.condition()
	if ok && p.kind != tokenEnd {
		p.unexpected()
	}
	if err := p.finish(conditionOrder); err != nil {
		return nil, err
	}
	return &Condition{Root: root}, nil
}

// part is a parsed piece of the text: a condition, or an operand that a comparison may still
// follow. "(" can begin either.
type part struct {
	node     *Node
	operand  *Operand
	enclosed bool // in its own parentheses
	twice    bool // an operand in two pairs of parentheses
}

// condition reads a whole condition.
func (p *parser) condition() (*Node, bool) {
	x, ok := p.disjunction()
	if !ok {
		return nil, false
	}
	return p.asNode(x)
}

// asNode converts x to a condition. An operand alone must be a boolean function.
func (p *parser) asNode(x part) (*Node, bool) {
	switch o := x.operand; {
	case o == nil:
		return x.node, true
	case o.Kind != CallOperand:
		return nil, p.unexpected()
	default:
		if s := findSignature(o.Function); s != nil && !s.boolean && !s.update {
			p.misused(o)
		}
		p.endTerm()
		return &Node{Kind: Call, Function: o.Function, Args: o.Args}, true
	}
}

func (p *parser) disjunction() (part, bool) { return p.chain(Or, keyOr, (*parser).conjunction) }

func (p *parser) conjunction() (part, bool) { return p.chain(And, keyAnd, (*parser).negation) }

// chain reads one or more operands of AND or OR.
func (p *parser) chain(kind NodeKind, word keyword, sub func(*parser) (part, bool)) (part, bool) {
	x, ok := sub(p)
	if !ok || p.keyword() != word {
		return x, ok
	}
	node := &Node{Kind: kind}
	for {
		n, ok := p.asNode(x)
		if !ok {
			return part{}, false
		}
		node.Nodes = append(node.Nodes, n)
		if !p.acceptWord(word) {
			return part{node: node}, true
		}
		p.operators++
		if x, ok = sub(p); !ok {
			return part{}, false
		}
	}
}

func (p *parser) negation() (part, bool) {
	if !p.acceptWord(keyNot) {
		return p.primary()
	}
	p.operators++
	x, ok := p.negation()
	if !ok {
		return part{}, false
	}
	n, ok := p.asNode(x)
	return part{node: &Node{Kind: Not, Nodes: []*Node{n}}}, ok
}

// primary reads a comparison, a function or an expression in parentheses.
func (p *parser) primary() (part, bool) {
	var x part
	var ok bool
	if p.kind == tokenOpen {
		p.take()
		if x, ok = p.disjunction(); !ok || !p.expect(tokenClose) {
			return part{}, false
		}
		if x.twice = x.enclosed; x.twice && (x.operand == nil || x.operand.Kind == CallOperand) {
			p.redundant()
		}
		x.enclosed = true
	} else if x.operand, ok = p.simple(); !ok {
		return part{}, false
	}
	if x.operand == nil {
		return x, true
	}
	return p.relation(x)
}

// relation reads the optional rest of an expression that begins with an operand: a
// comparison, BETWEEN or IN.
func (p *parser) relation(x part) (part, bool) {
	var n *Node
	var ok bool
	switch k := p.keyword(); {
	case p.kind >= tokenEqual:
		n, ok = p.comparison(x.operand)
	case k == keyBetween:
		n, ok = p.between(x.operand)
	case k == keyIn:
		n, ok = p.in(x.operand)
	default:
		return x, true
	}
	if x.twice { // an operand alone is not a condition; its parentheses don't matter
		p.redundant()
	}
	if ok && x.operand.Kind == CallOperand && isBoolean(x.operand.Function) {
		p.misused(x.operand)
	}
	p.endTerm()
	return part{node: n}, ok
}

func (p *parser) comparison(left *Operand) (*Node, bool) {
	op := comparators[p.kind]
	p.operators++
	p.take()
	right, ok := p.operand()
	if !ok {
		return nil, false
	}
	p.checkDistinct(string(op), left, right)
	if op != Equal && op != NotEqual {
		p.checkOrdered(string(op), left, right)
	}
	return &Node{Kind: Compare, Op: op, Args: []*Operand{left, right}}, true
}

// checkOrdered records a fault for constants of a type without an order.
func (p *parser) checkOrdered(operator string, operands ...*Operand) {
	for _, o := range operands {
		if typ := o.StaticType(); typ != 0 && !ordered(typ) {
			p.wrongType(operator, typ.String())
		}
	}
}

func (p *parser) between(x *Operand) (*Node, bool) {
	p.operators++
	p.take()
	low, ok := p.operand()
	if !ok {
		return nil, false
	}
	if !p.acceptWord(keyAnd) {
		return nil, p.unexpected()
	}
	high, ok := p.operand()
	if !ok {
		return nil, false
	}
	p.checkOrdered("BETWEEN", x, low, high)
	p.checkBounds(low, high)
	p.endTerm()
	p.checkDistinct("BETWEEN", x, low, high)
	return &Node{Kind: Between, Args: []*Operand{x, low, high}}, true
}

// ordered reports whether values of the type can be less or greater.
func ordered(t value.Type) bool { return t == value.String || t == value.Number || t == value.Binary }

// checkBounds records a fault for constant bounds in the wrong order.
func (p *parser) checkBounds(low, high *Operand) {
	if low.Value == nil || high.Value == nil || !ordered(low.Value.Type) || !ordered(high.Value.Type) {
		return
	}
	bounds := "; lower bound operand: " + low.attributeText() + ", upper bound operand: " + high.attributeText()
	switch order, comparable := value.Compare(low.Value, high.Value); {
	case !comparable:
		p.fault(faultType, "The BETWEEN operator requires same data type for lower and upper bounds"+bounds)
	case order > 0:
		p.fault(faultType, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound"+bounds)
	}
}

// attributeText returns a constant scalar as DynamoDB's messages write it. A number is
// written as in the request.
func (o *Operand) attributeText() string {
	if o.Value.Type == value.Number {
		if _, quoted, ok := wire.Attribute(o.Text); ok {
			written, _ := wire.AppendString(nil, quoted)
			return AttributeText(&value.Value{Type: value.Number, Text: written})
		}
	}
	return AttributeText(o.Value)
}

// AttributeText returns a scalar as DynamoDB's messages write it. For a binary that is its
// size.
func AttributeText(v *value.Value) string {
	text := string(v.Text)
	if v.Type == value.Binary {
		n := strconv.Itoa(len(text))
		text = "java.nio.HeapByteBuffer[pos=0 lim=" + n + " cap=" + n + "]"
	}
	return "AttributeValue: {" + v.Type.String() + ":" + text + "}"
}

func (p *parser) in(x *Operand) (*Node, bool) {
	p.operators++
	p.take()
	if !p.expect(tokenOpen) {
		return nil, false
	}
	n := &Node{Kind: In, Args: []*Operand{x}}
	for {
		o, ok := p.operand()
		if !ok {
			return nil, false
		}
		n.Args = append(n.Args, o)
		if !p.accept(tokenComma) {
			break
		}
	}
	p.checkDistinct("IN", x, n.Args[1:]...)
	if count := len(n.Args) - 1; count > maxOperandsIn {
		p.fault(faultType, "The IN operator is provided with too many operands; number of operands: "+strconv.Itoa(count))
	}
	return n, p.expect(tokenClose)
}
