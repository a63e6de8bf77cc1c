package partiql

// update reads the rest of an UPDATE after its keyword.
func (s *syntax) update(pos Pos) *node {
	c := &change{pos: pos}
	if !s.target(c) || s.operations(c, pos) == nil {
		return nil
	}
	return s.conditions(c)
}

// delete reads the rest of a DELETE after its keyword.
func (s *syntax) delete(pos Pos) *node {
	c := &change{pos: pos}
	if !s.acceptWord("from") {
		return s.fail("Expected FROM after DELETE")
	}
	if !s.target(c) {
		return nil
	}
	c.ops = []operation{{kind: deleteOperation, pos: pos}}
	return s.conditions(c)
}

// target reads the table of an UPDATE or a DELETE.
func (s *syntax) target(c *change) (ok bool) {
	if c.from = s.path(true); c.from == nil {
		return false
	}
	c.alias, ok = s.aliases()
	return ok
}

// conditions reads the clauses after the operations.
func (s *syntax) conditions(c *change) *node {
	if s.acceptWord("where") {
		if c.where = s.expression(lowestPrecedence); c.where == nil {
			return nil
		}
	}
	return s.returning(c)
}

// fromFirst reads FROM table WHERE condition and then operations.
func (s *syntax) fromFirst(pos Pos) *node {
	q := query{}
	if !s.sources(&q) {
		return nil
	}
	c := &change{pos: pos, from: q.from, alias: q.alias}
	if s.acceptWord("where") {
		if c.where = s.expression(lowestPrecedence); c.where == nil {
			return nil
		}
	}
	if s.operations(c, pos) == nil {
		return nil
	}
	return s.returning(c)
}

// operations reads one or more operations into c. A nil c means an operation without a
// table, of which only one is read.
func (s *syntax) operations(c *change, pos Pos) *node {
	single := c == nil
	if single {
		c = &change{pos: pos}
	}
	for len(c.ops) == 0 || !single {
		ok := false
		switch t := s.head(); t.word {
		case "set":
			s.take()
			ok = s.assignments(c, t.pos)
		case "remove":
			s.take()
			path := s.path(true)
			c.ops = append(c.ops, operation{kind: removeOperation, pos: t.pos, target: path})
			ok = path != nil
		case "insert_into":
			s.take()
			ok = s.insert(c, t.pos)
		default:
			if len(c.ops) == 0 {
				return s.fail("Expected data manipulation")
			}
			return &node{kind: nodeChange, change: c, pos: c.pos}
		}
		if !ok {
			return nil
		}
	}
	return &node{kind: nodeChange, change: c, pos: c.pos}
}

func (s *syntax) assignments(c *change, pos Pos) bool {
	for {
		path := s.path(true)
		if path == nil {
			return false
		}
		if !s.acceptWord("=") {
			s.fail("Expected '='")
			return false
		}
		v := s.expression(lowestPrecedence)
		if v == nil {
			return false
		}
		c.ops = append(c.ops, operation{kind: setOperation, pos: pos, target: path, value: v})
		if !s.accept(tokenComma) {
			return true
		}
	}
}

// insert reads the rest of an INSERT after INTO.
func (s *syntax) insert(c *change, pos Pos) bool {
	op := operation{kind: insertOperation, pos: pos, target: s.path(true)}
	if op.target == nil {
		return false
	}
	if !s.acceptWord("value") {
		op.kind = insertAll
		op.value = s.expression(lowestPrecedence)
		c.ops = append(c.ops, op)
		return op.value != nil
	}
	if op.value = s.expression(lowestPrecedence); op.value == nil {
		return false
	}
	if s.accept(tokenAt) {
		if op.at = true; s.expression(lowestPrecedence) == nil {
			return false
		}
	}
	if s.acceptWord("on_conflict") {
		if op.conflict = true; !s.conflict() {
			return false
		}
	}
	c.ops = append(c.ops, op)
	return s.returning(c) != nil
}

func (s *syntax) conflict() bool {
	const complaint = "invalid ON CONFLICT syntax"
	if !s.acceptWord("where") {
		s.fail(complaint)
		return false
	}
	if s.expression(lowestPrecedence) == nil {
		return false
	}
	if !s.acceptWord("do_nothing") {
		s.fail(complaint)
		return false
	}
	return true
}

// returning reads RETURNING if it is next.
func (s *syntax) returning(c *change) *node {
	if s.acceptWord("returning") {
		for {
			r, ok := s.returned()
			if !ok {
				return nil
			}
			c.returning = append(c.returning, r)
			if !s.accept(tokenComma) {
				break
			}
		}
	}
	return &node{kind: nodeChange, change: c, pos: c.pos}
}

// returned reads one element of RETURNING.
func (s *syntax) returned() (r returning, ok bool) {
	switch r.mapping = s.head().word; r.mapping {
	case "all_old", "all_new", "modified_old", "modified_new":
		s.take()
	default:
		s.fail("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.")
		return r, false
	}
	if r.star = s.accept(tokenStar); r.star {
		return r, true
	}
	x := s.expression(lowestPrecedence)
	switch {
	case x == nil:
	case x.kind == nodePath && len(x.nodes) > 2:
		s.fail("More than two paths in RETURNING columns.")
	case x.kind != nodePath && !x.atom():
		s.fail("Unsupported syntax in RETURNING columns.")
	}
	return r, !s.failed
}
