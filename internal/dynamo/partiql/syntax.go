package partiql

// syntax reads the full grammar of PartiQL, most of which DynamoDB refuses later with other
// errors. Its purpose is to find the detail with which a malformed statement is refused. The
// reading methods return nil once fail has been called, which ends the parse.
//
// Expressions are read by operator precedence. In the grammar statements are expressions, so
// a SELECT or an UPDATE may be in any place of an expression.
type syntax struct {
	tokens     []token // the last is tokenEnd, which is never skipped
	at         int
	parameters int
	failed     bool
	detail     string // of the first failure
}

// parse reads a whole statement and counts its question marks.
func parse(stmt []byte) (n *node, marks int, err *Error) {
	tokens, ok := tokenize(stmt)
	if !ok {
		return nil, 0, malformed("")
	}
	s := syntax{tokens: tokens}
	n = s.expression(lowestPrecedence)
	if n != nil && !s.ends() {
		if s.is(tokenSemicolon) {
			s.fail("Unexpected token after semicolon. (Only one query is allowed.)")
		} else {
			s.fail("Unexpected token after expression")
		}
	}
	if !s.failed && n != nil {
		s.nested(n, true)
	}
	if s.failed {
		return nil, 0, malformed(s.detail)
	}
	return n, s.parameters, nil
}

func (s *syntax) fail(detail string) *node {
	if !s.failed {
		s.failed, s.detail = true, detail
	}
	return nil
}

func (s *syntax) head() *token { return &s.tokens[s.at] }

// peekSecond returns the token after the next.
func (s *syntax) peekSecond() *token { return &s.tokens[min(s.at+1, len(s.tokens)-1)] }

func (s *syntax) take() *token {
	t := &s.tokens[s.at]
	if t.kind != tokenEnd {
		s.at++
	}
	return t
}

func (s *syntax) is(k tokenKind) bool { return s.head().kind == k }

// word reports whether the next token is the keyword or operator.
func (s *syntax) word(w string) bool { return s.head().word == w && w != "" }

func (s *syntax) accept(k tokenKind) bool {
	if !s.is(k) {
		return false
	}
	s.take()
	return true
}

func (s *syntax) acceptWord(w string) bool {
	if !s.word(w) {
		return false
	}
	s.take()
	return true
}

func (s *syntax) expect(k tokenKind) bool {
	if !s.accept(k) {
		s.fail("Expected " + tokenNames[k])
		return false
	}
	return true
}

// ends reports whether at most one semicolon remains.
func (s *syntax) ends() bool {
	return s.is(tokenEnd) || s.is(tokenSemicolon) && s.peekSecond().kind == tokenEnd
}

// expression reads an expression whose operators bind tighter than precedence.
func (s *syntax) expression(precedence int) *node {
	left := s.unary()
	for left != nil {
		op := s.head()
		if op.kind != tokenOperator && op.kind != tokenStar || precedences[op.word] <= max(precedence, 0) {
			return left
		}
		left = s.infix(left)
	}
	return nil
}

// infix reads an operator and its right operand.
func (s *syntax) infix(left *node) *node {
	op := s.take()
	n := &node{kind: nodeOperator, word: op.word, pos: op.pos, nodes: []*node{left}}
	var right *node
	switch {
	case op.word == "is" || op.word == "is_not":
		return s.typeTest(n)
	case (op.word == "in" || op.word == "not_in") && s.is(tokenOpen) && s.peekSecond().word != "select" && s.peekSecond().word != "values":
		right = s.list(tokenClose, nodeList)
	case s.is(tokenEnd):
		return s.fail("Missing right-hand side expression of infix operator")
	default:
		right = s.expression(precedences[op.word])
	}
	if right == nil {
		return nil
	}
	n.nodes = append(n.nodes, right)
	switch op.word {
	case "between", "not_between":
		return s.thirdOperand(n, "AND", "and")
	case "like", "not_like":
		if s.word("escape") {
			return s.thirdOperand(n, "ESCAPE", "escape")
		}
	}
	return negatable(n)
}

// thirdOperand reads the third operand of an operator, after its keyword.
func (s *syntax) thirdOperand(n *node, capitals, keyword string) *node {
	if !s.acceptWord(keyword) {
		return s.fail("Expected " + capitals + " keyword")
	}
	if s.ends() {
		return s.fail("Expected expression after " + capitals)
	}
	x := s.expression(precedences[n.word])
	if x == nil {
		return nil
	}
	n.nodes = append(n.nodes, x)
	return negatable(n)
}

// negatable converts a NOT IN b to NOT (a IN b).
func negatable(n *node) *node {
	const not = "not_"
	if len(n.word) > len(not) && n.word[:len(not)] == not {
		n.word = n.word[len(not):]
		return &node{kind: nodeOperator, word: "not", pos: n.pos, nodes: []*node{n}}
	}
	return n
}

// typeTest reads the type after IS.
func (s *syntax) typeTest(n *node) *node {
	t := s.typeName()
	if t == nil {
		return nil
	}
	is := &node{kind: nodeIs, word: t.word, pos: n.pos, nodes: n.nodes}
	if n.word == "is_not" {
		return &node{kind: nodeOperator, word: "not", pos: n.pos, nodes: []*node{is}}
	}
	return is
}

// typeName reads the name of a type with its arguments.
func (s *syntax) typeName() *token {
	t := s.head()
	limit, ok := types[t.word]
	if !ok {
		s.fail("Expected type name")
		return nil
	}
	s.take()
	if !s.is(tokenOpen) {
		return t
	}
	args := s.list(tokenClose, nodeList)
	if args == nil {
		return nil
	}
	if len(args.nodes) > limit {
		s.fail("CAST for " + t.word + " must have arity of 0.." + string(rune('0'+limit)))
		return nil
	}
	for _, a := range args.nodes {
		if a.kind != nodeNumber || digits([]byte(a.word), 0) != len(a.word) {
			s.fail("Type parameter must be an unsigned integer literal")
			return nil
		}
	}
	return t
}

// list reads the next token, an opening bracket, and then items.
func (s *syntax) list(closing tokenKind, kind nodeKind) *node {
	n := &node{kind: kind, pos: s.take().pos}
	if n.nodes = s.items(closing); n.nodes == nil {
		return nil
	}
	return n
}

// items reads one or more expressions, separated by commas, and the closing token.
func (s *syntax) items(closing tokenKind) (items []*node) {
	for {
		x := s.expression(lowestPrecedence)
		if x == nil {
			return nil
		}
		items = append(items, x)
		if !s.accept(tokenComma) {
			break
		}
	}
	if !s.expect(closing) {
		return nil
	}
	return items
}

// unary reads a term with the operators before it. A sign before a number becomes part of
// it.
func (s *syntax) unary() *node {
	t := s.head()
	if t.kind != tokenOperator || t.word != "+" && t.word != "-" && t.word != "not" {
		return s.path(false)
	}
	s.take()
	if t.word == "not" {
		x := s.expression(notPrecedence)
		if x == nil {
			return nil
		}
		return &node{kind: nodeOperator, word: "not", pos: t.pos, nodes: []*node{x}}
	}
	x := s.unary()
	switch {
	case x == nil:
		return nil
	case x.kind != nodeNumber:
		return &node{kind: nodeOperator, word: t.word, pos: t.pos, nodes: []*node{x}}
	case t.word == "-":
		signed := *x
		signed.word = negated(x.word)
		return &signed
	}
	return x
}

func negated(number string) string {
	if number[0] == '-' {
		return number[1:]
	}
	return "-" + number
}

// keyword returns the keyword that identifies the statement in the parser, empty if it begins
// with UPDATE or FROM.
func (c *change) keyword() string {
	kind := c.ops[0].kind
	switch {
	case kind == deleteOperation:
		return "delete"
	case c.from != nil:
		return "null"
	}
	return map[operationKind]string{setOperation: "set", removeOperation: "remove", insertOperation: "insert_into", insertAll: "insert_into"}[kind]
}

// nested refuses statements that can't be nested if n is part of another one.
func (s *syntax) nested(n *node, top bool) {
	if n == nil {
		return
	}
	if !top && n.kind == nodeChange {
		s.fail("Keyword " + n.change.keyword() + " only expected at the top level in the query")
	}
	if !top && n.kind == nodeOther && (n.word == "create" || n.word == "drop" || n.word == "exec") {
		s.fail("Keyword " + n.word + " only expected at the top level in the query")
	}
	for _, x := range n.nodes {
		s.nested(x, false)
	}
	if n.query != nil {
		for i := range n.query.columns {
			s.nested(n.query.columns[i].expr, false)
		}
		s.nested(n.query.from, false)
		s.nested(n.query.where, false)
		for i := range n.query.order {
			s.nested(n.query.order[i].expr, false)
		}
	}
	if n.change != nil {
		for i := range n.change.ops {
			s.nested(n.change.ops[i].value, false)
		}
		s.nested(n.change.where, false)
	}
}
