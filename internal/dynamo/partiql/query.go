package partiql

// selection reads the rest of a SELECT after its keyword.
func (s *syntax) selection(pos Pos) *node {
	q := &query{pos: pos}
	if s.acceptWord("distinct") {
		q.otherClause = "DISTINCT"
	} else {
		s.acceptWord("all")
	}
	if s.acceptWord("value") {
		q.value = true
		if s.expression(lowestPrecedence) == nil {
			return nil
		}
	} else if !s.columns(q) {
		return nil
	}
	return s.clauses(q)
}

// pivot reads PIVOT value AT name.
func (s *syntax) pivot(pos Pos) *node {
	if s.expression(lowestPrecedence) == nil {
		return nil
	}
	if !s.accept(tokenAt) {
		return s.fail("Expected AT keyword")
	}
	if s.expression(lowestPrecedence) == nil {
		return nil
	}
	return s.clauses(&query{pos: pos, value: true})
}

func (s *syntax) columns(q *query) bool {
	stars := 0
	for {
		c, ok := s.column()
		if !ok {
			return false
		}
		if c.expr == nil {
			stars++
		}
		q.columns = append(q.columns, c)
		if !s.accept(tokenComma) {
			break
		}
	}
	if stars > 0 && len(q.columns) > 1 {
		s.fail("Other expressions may not be present in the select list when '*' is used without dot notation.")
		return false
	}
	return true
}

func (s *syntax) column() (c column, ok bool) {
	if s.accept(tokenStar) {
		return c, true
	}
	if c.expr = s.expression(lowestPrecedence); c.expr == nil || !s.starred(&c) {
		return c, false
	}
	c.alias = s.alias()
	return c, !s.failed
}

// starred checks a column's path for wildcards.
func (s *syntax) starred(c *column) bool {
	if c.expr.kind != nodePath {
		return true
	}
	last := len(c.expr.nodes) - 1
	brackets := false
	for i, step := range c.expr.nodes {
		switch {
		case step.kind == nodeWildcard, step.kind == nodeUnpivot && i < last:
			s.fail("Invalid use of * in select list")
			return false
		case i > 0 && step.kind != nodeText && step.kind != nodeUnpivot:
			brackets = true
		}
	}
	if c.star = c.expr.nodes[last].kind == nodeUnpivot; c.star && brackets {
		s.fail("Cannot use [] and * together in SELECT list expression")
		return false
	}
	return true
}

// alias skips an alias, with or without AS.
func (s *syntax) alias() bool {
	switch {
	case s.accept(tokenAs):
		return s.identifier("Expected identifier for AS-alias")
	case s.is(tokenWord), s.is(tokenQuoted):
		s.take()
		return true
	}
	return false
}

// aliases skips all names that a source of rows may have.
func (s *syntax) aliases() (some, ok bool) {
	some = s.alias()
	if s.accept(tokenAt) {
		some = s.identifier("Expected identifier for AT-alias")
	}
	if s.accept(tokenBy) {
		some = s.identifier("Expected identifier for BY-alias")
	}
	return some, !s.failed
}

// clauses reads the clauses after the columns of a SELECT.
func (s *syntax) clauses(q *query) *node {
	if !s.acceptWord("from") {
		return s.fail("Expected FROM after SELECT list")
	}
	if !s.sources(q) || s.word("let") && !s.let() {
		return nil
	}
	if s.acceptWord("where") {
		if q.where = s.expression(clausePrecedence); q.where == nil {
			return nil
		}
	}
	if s.acceptWord("order") && !s.orderBy(q) || s.acceptWord("group") && !s.groupBy(q) {
		return nil
	}
	if s.acceptWord("having") {
		if q.having = s.expression(clausePrecedence); q.having == nil {
			return nil
		}
	}
	if s.acceptWord("limit") {
		if q.limit = s.expression(clausePrecedence); q.limit == nil {
			return nil
		}
	}
	return &node{kind: nodeQuery, query: q, pos: q.pos}
}

// sources reads the sources of the rows.
func (s *syntax) sources(q *query) bool {
	source, alias, ok := s.source()
	if !ok {
		return false
	}
	q.from, q.alias = source, alias
	for {
		on, join := s.joins()
		if !join {
			return true
		}
		q.from = nil
		if _, _, ok := s.source(); !ok {
			return false
		}
		if on && (!s.onClause() || s.expression(clausePrecedence) == nil) {
			return false
		}
	}
}

func (s *syntax) onClause() bool {
	if !s.acceptWord("on") {
		s.fail("Expected 'ON'")
		return false
	}
	return true
}

// joins skips the keywords of a join, and reports whether it needs an ON.
func (s *syntax) joins() (on, ok bool) {
	switch s.head().word {
	case "cross_join", "left_cross_join", "right_cross_join", "outer_cross_join":
		s.take()
		return false, true
	case "join", "inner_join", "left_join", "right_join", "outer_join":
		s.take()
		return true, true
	}
	return false, s.accept(tokenComma)
}

// source reads one source of rows. from is nil if it is not a table.
func (s *syntax) source() (from *node, alias, ok bool) {
	switch {
	case s.acceptWord("unpivot"):
		if s.expression(clausePrecedence) == nil {
			return nil, false, false
		}
	case s.is(tokenOpen) && !s.inParentheses():
		s.take()
		inner := query{}
		if !s.sources(&inner) || !s.expect(tokenClose) {
			return nil, false, false
		}
		from, alias = inner.from, inner.alias
	default:
		if from = s.expression(clausePrecedence); from == nil {
			return nil, false, false
		}
	}
	named, ok := s.aliases()
	return from, alias || named, ok
}

// inParentheses reports whether a query or a literal follows the next token, a parenthesis.
func (s *syntax) inParentheses() bool {
	switch second := s.peekSecond(); second.kind {
	case tokenText, tokenNumber, tokenBoolean:
		return true
	default:
		return second.word == "select"
	}
}

// let skips LET x AS y.
func (s *syntax) let() bool {
	s.take()
	for {
		if s.expression(lowestPrecedence) == nil {
			return false
		}
		if !s.accept(tokenAs) {
			s.fail("Expected AS following LET expr")
			return false
		}
		if !s.identifier("Expected identifier for AS-alias") {
			return false
		}
		if !s.accept(tokenComma) {
			return true
		}
	}
}

func (s *syntax) orderBy(q *query) bool {
	if !s.expect(tokenBy) {
		return false
	}
	for {
		x := s.expression(lowestPrecedence)
		if x == nil {
			return false
		}
		o := order{expr: x, descending: s.accept(tokenDesc)}
		if !o.descending {
			s.accept(tokenAsc)
		}
		q.order = append(q.order, o)
		if !s.accept(tokenComma) {
			return true
		}
	}
}

// groupBy reads GROUP [PARTIAL] BY a, b [GROUP AS g].
func (s *syntax) groupBy(q *query) bool {
	q.group = true
	s.acceptWord("partial")
	if !s.expect(tokenBy) {
		return false
	}
	literal := false
	for {
		x := s.expression(clausePrecedence)
		if x == nil {
			return false
		}
		literal = literal || x.kind == nodeText || x.kind == nodeNumber || x.kind == nodeBoolean
		s.alias()
		if !s.accept(tokenComma) {
			break
		}
	}
	if literal {
		s.fail("Literals (including ordinals) not supported in GROUP BY")
	}
	if s.acceptWord("group") {
		if !s.accept(tokenAs) {
			s.fail("Expected AS keyword")
		} else {
			s.identifier("Expected identifier for GROUP name")
		}
	}
	return !s.failed
}
