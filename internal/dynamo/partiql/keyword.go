package partiql

// keywordTerm reads a term that begins with a keyword, which may be a statement.
func (s *syntax) keywordTerm() *node {
	t := s.head()
	switch t.word {
	case "insert_into", "set", "remove":
		return s.operations(nil, t.pos)
	case "update":
		s.take()
		return s.update(t.pos)
	case "delete":
		s.take()
		return s.delete(t.pos)
	case "from":
		s.take()
		return s.fromFirst(t.pos)
	case "select":
		s.take()
		return s.selection(t.pos)
	case "pivot":
		s.take()
		return s.pivot(t.pos)
	case "values":
		s.take()
		return s.tableValues(t.pos)
	case "case":
		s.take()
		return s.caseOf(t.pos)
	case "cast":
		s.take()
		return s.cast()
	case "create", "drop":
		s.take()
		return s.define(t)
	case "exec":
		s.take()
		return s.execute(t.pos)
	case "date", "time", "date_add", "date_diff":
		s.take()
		return s.temporal(t)
	}
	if functions()[t.word] && s.peekSecond().kind == tokenOpen {
		s.take()
		return s.call(t, t.word)
	}
	return s.fail("Unexpected keyword")
}

// tableValues reads rows: (1, 2), (3, 4).
func (s *syntax) tableValues(pos Pos) *node {
	n := &node{kind: nodeBag, pos: pos}
	for {
		if !s.is(tokenOpen) {
			return s.fail("Expected LEFT_PAREN for row value constructor")
		}
		row := s.list(tokenClose, nodeList)
		if row == nil {
			return nil
		}
		n.nodes = append(n.nodes, row)
		if !s.accept(tokenComma) {
			return n
		}
	}
}

// caseOf reads a CASE, with or without a value to compare.
func (s *syntax) caseOf(pos Pos) *node {
	n := &node{kind: nodeOther, word: "CASE", class: "SearchedCase", pos: pos}
	if !s.word("when") {
		if n.class = "SimpleCase"; s.expression(lowestPrecedence) == nil {
			return nil
		}
	}
	branches := 0
	for ; s.acceptWord("when"); branches++ {
		if s.expression(lowestPrecedence) == nil {
			return nil
		}
		if !s.acceptWord("then") {
			return s.fail("Expected THEN keyword")
		}
		if s.expression(lowestPrecedence) == nil {
			return nil
		}
	}
	if branches == 0 {
		return s.fail("Expected a WHEN clause in CASE")
	}
	if s.acceptWord("else") && s.expression(lowestPrecedence) == nil {
		return nil
	}
	if !s.acceptWord("end") {
		return s.fail("Expected END keyword")
	}
	return n
}

func (s *syntax) cast() *node {
	n := &node{kind: nodeOther, word: "cast", class: "Cast", pos: s.head().pos}
	if !s.accept(tokenOpen) {
		return s.fail("Missing left parenthesis after CAST")
	}
	if s.expression(lowestPrecedence) == nil || !s.expect(tokenAs) || s.typeName() == nil || !s.expect(tokenClose) {
		return nil
	}
	return n
}

// define reads CREATE and DROP.
func (s *syntax) define(t *token) *node {
	n := &node{kind: nodeOther, word: t.word, pos: t.pos}
	what := s.head().word
	switch {
	case what != "table" && what != "index":
		return s.fail("Unexpected token following " + map[string]string{"create": "CREATE", "drop": "DROP"}[t.word])
	case t.word == "create":
		n.class = map[string]string{"table": "CreateTable", "index": "CreateIndex"}[what]
	default:
		n.class = map[string]string{"table": "DropTable", "index": "DropIndex"}[what]
	}
	s.take()
	if n.class == "CreateIndex" {
		return s.createIndex(n)
	}
	if !s.identifier("Expected identifier!") {
		return nil
	}
	if n.class == "DropIndex" && !s.on("Table target must be an identifier") {
		return nil
	}
	if !s.ends() {
		return s.fail("Unexpected tokens after " + map[string]string{"create": "CREATE", "drop": "DROP"}[t.word] + " statement!")
	}
	return n
}

func (s *syntax) createIndex(n *node) *node {
	if !s.on("Index target must be an identifier") {
		return nil
	}
	if !s.accept(tokenOpen) {
		return s.fail("Expected parenthesis for keys")
	}
	for {
		if s.path(true) == nil {
			return nil
		}
		if !s.accept(tokenComma) {
			break
		}
	}
	if !s.expect(tokenClose) {
		return nil
	}
	return n
}

// on reads ON and a name.
func (s *syntax) on(complaint string) bool {
	if !s.acceptWord("on") {
		s.fail("Expected ON")
		return false
	}
	return s.identifier(complaint)
}

func (s *syntax) identifier(complaint string) bool {
	if !s.is(tokenWord) && !s.is(tokenQuoted) {
		s.fail(complaint)
		return false
	}
	s.take()
	return true
}

// execute reads the call of a stored procedure after EXEC.
func (s *syntax) execute(pos Pos) *node {
	n := &node{kind: nodeOther, word: "exec", class: "Exec", pos: pos}
	if s.is(tokenEnd) {
		return s.fail("No stored procedure provided")
	}
	switch s.take(); {
	case s.is(tokenEnd):
		return n
	case s.is(tokenOpen):
		return s.fail("Unexpected LEFT_PAREN found following stored procedure call")
	}
	for {
		if s.expression(lowestPrecedence) == nil {
			return nil
		}
		if !s.accept(tokenComma) {
			return n
		}
	}
}

// temporal reads a DATE or TIME literal and the functions of dates.
func (s *syntax) temporal(t *token) *node {
	n := &node{kind: nodeOther, word: "UNKNOWN", class: "Date", pos: s.head().pos}
	text := "date string followed by the keyword DATE"
	switch t.word {
	case "date_add", "date_diff":
		if !s.is(tokenOpen) {
			return s.fail("Expected LEFT_PAREN")
		}
		return s.call(t, t.word)
	case "time":
		n.class, text = "LitTime", "time string followed by the keyword TIME OR TIME WITH TIME ZONE"
	}
	if !s.is(tokenText) {
		return s.fail("Expected " + text + ", found " + s.head().ionName())
	}
	s.take()
	return n
}

// ionName returns the name of the Ion type that the parser reports for a token.
func (t *token) ionName() string {
	switch t.kind {
	case tokenNumber:
		if digits(t.text, 0) < len(t.text) {
			return "DECIMAL"
		}
		return "INT"
	case tokenParameter:
		return "INT"
	case tokenBoolean:
		return "BOOL"
	case tokenNull, tokenMissing:
		return "NULL"
	}
	return "SYMBOL"
}
