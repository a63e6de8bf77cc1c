package expr

import (
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// ParseCondition reads an unescaped expression of the grammar that conditions,
// filters and key conditions share; which ("Condition", "Filter",
// "KeyCondition") names it in errors.
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

// part is what a stretch of the text has turned out to be: a condition, or an
// operand that a comparison may yet follow. "(" may begin either.
type part struct {
	node     *Node
	operand  *Operand
	enclosed bool // in parentheses of its own
}

// condition reads a whole condition.
func (p *parser) condition() (*Node, bool) {
	x, ok := p.disjunction()
	if !ok {
		return nil, false
	}
	return p.asNode(x)
}

// asNode makes a condition of x; a bare operand must be a boolean function.
func (p *parser) asNode(x part) (*Node, bool) {
	switch o := x.operand; {
	case o == nil:
		return x.node, true
	case o.Kind != CallOperand:
		return nil, p.unexpected()
	default:
		if s := findSignature(o.Function); s != nil && !s.boolean && !s.update {
			p.misused(o.Function)
		}
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

// primary reads a comparison, a function or what is in parentheses.
func (p *parser) primary() (part, bool) {
	var x part
	var ok bool
	if p.kind == tokenOpen {
		p.take()
		if x, ok = p.disjunction(); !ok || !p.expect(tokenClose) {
			return part{}, false
		}
		if x.enclosed {
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

// relation reads what may follow an operand: a comparison, BETWEEN or IN.
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
	if ok && x.operand.Kind == CallOperand && isBoolean(x.operand.Function) {
		p.misused(x.operand.Function)
	}
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

// checkOrdered notes constants of a type that has no order.
func (p *parser) checkOrdered(operator string, operands ...*Operand) {
	for _, o := range operands {
		if typ := staticType(o); typ != "" && typ != "S" && typ != "N" && typ != "B" {
			p.wrongType(operator, typ)
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
	return &Node{Kind: Between, Args: []*Operand{x, low, high}}, true
}

// checkBounds notes constant bounds that nothing is between.
func (p *parser) checkBounds(low, high *Operand) {
	if low.Kind != ValueOperand || high.Kind != ValueOperand || scalarType(low.Value) == 0 || scalarType(high.Value) == 0 {
		return
	}
	bounds := "; lower bound operand: " + attributeText(low.Value) + ", upper bound operand: " + attributeText(high.Value)
	if scalarType(low.Value) != scalarType(high.Value) {
		p.fault(faultType, "The BETWEEN operator requires same data type for lower and upper bounds"+bounds)
		return
	}
	if order, ok := compareScalars(low.Value, high.Value); ok && order > 0 {
		p.fault(faultType, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound"+bounds)
	}
}

// attributeText writes a scalar as DynamoDB's messages do.
func attributeText(v []byte) string {
	typ, quoted, _ := wire.Attribute(v)
	text, _ := wire.AppendString(nil, quoted)
	return "AttributeValue: {" + string(typ) + ":" + string(text) + "}"
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
	if len(n.Args) > maxOperandsIn+1 {
		p.wrongCount("IN", len(n.Args)-1)
	}
	p.checkDistinct("IN", x, n.Args[1:]...)
	return n, p.expect(tokenClose)
}

// KeyCondition makes the comparisons of a key condition out of a condition that
// was parsed as "KeyCondition"; the checks that need the table's keys are left
// to the caller.
func (c *Condition) KeyCondition() (*KeyCondition, error) {
	kc := new(KeyCondition)
	if detail := c.Root.keyTerms(kc); detail != "" {
		return nil, refuse("KeyCondition", detail)
	}
	if len(kc.Terms) > maxKeyTerms {
		return nil, refuse("KeyCondition", "Conditions can be of length 1 or 2 only")
	}
	return kc, nil
}

// keyTerms appends the comparisons of n, or says what a key can't be asked.
func (n *Node) keyTerms(kc *KeyCondition) (detail string) {
	switch n.Kind {
	case And:
		for _, sub := range n.Nodes {
			if detail = sub.keyTerms(kc); detail != "" {
				return detail
			}
		}
		return ""
	case Or, Not, In:
		return "Invalid operator used in KeyConditionExpression: " + [...]string{Or: "OR", Not: "NOT", In: "IN"}[n.Kind]
	}
	t, detail := n.keyTerm()
	if detail != "" {
		return detail
	}
	if kc.Find(t.Name) != nil {
		return "KeyConditionExpressions must only contain one condition per key"
	}
	kc.Terms = append(kc.Terms, t)
	return ""
}

var keyOps = map[Comparator]KeyOp{Equal: KeyEqual, Less: KeyLess, LessEqual: KeyLessEqual, Greater: KeyGreater,
	GreaterEqual: KeyGreaterEqual}

// keyTerm makes a comparison of Compare, Between or Call.
func (n *Node) keyTerm() (t KeyTerm, detail string) {
	switch {
	case n.Kind == Compare && keyOps[n.Op] == 0:
		return t, "Invalid operator used in KeyConditionExpression: " + string(n.Op)
	case n.Kind == Call && n.Function != BeginsWith:
		return t, "Invalid operator used in KeyConditionExpression: " + string(n.Function)
	}
	var path Path
	at := -1
	for i, arg := range n.Args {
		switch {
		case arg.Kind == CallOperand:
			return t, "KeyConditionExpressions cannot contain nested operations"
		case arg.Kind == PathOperand && path != nil:
			return t, "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
		case arg.Kind == PathOperand:
			path, at = arg.Path, i
		}
	}
	switch {
	case path == nil:
		return t, "Invalid condition in KeyConditionExpression: No key attribute specified"
	case len(path) > 1:
		return t, "KeyConditionExpressions cannot have conditions on nested attributes"
	case n.Kind != Compare && at != 0:
		return t, "Invalid condition in KeyConditionExpression: No key attribute specified"
	}
	t.Name = []byte(path[0].Name)
	switch n.Kind {
	case Compare:
		t.Op, t.A = keyOps[n.Op], n.Args[1-at].Value
		if at == 1 {
			t.Op = mirrored[t.Op]
		}
	case Between:
		t.Op, t.A, t.B = KeyBetween, n.Args[1].Value, n.Args[2].Value
	case Call:
		t.Op, t.A = KeyBeginsWith, n.Args[1].Value
	}
	return t, ""
}
