package partiql

import (
	"bytes"
	"strings"
)

// path reads a term and the steps after it. A simple path begins with a name and has no
// computed step.
func (s *syntax) path(simple bool) *node {
	var root *node
	switch {
	case !simple:
		root = s.term()
	case s.is(tokenWord), s.is(tokenQuoted):
		root = s.name()
	default:
		return s.fail("Expected identifier for simple path")
	}
	if root == nil {
		return nil
	}
	n := &node{kind: nodePath, nodes: []*node{root}}
	for {
		var step *node
		switch {
		case s.accept(tokenDot):
			step = s.dotStep(simple)
		case s.accept(tokenOpenBracket):
			step = s.indexStep(simple)
		case len(n.nodes) == 1:
			return root
		default:
			return n
		}
		if step == nil {
			return nil
		}
		n.nodes = append(n.nodes, step)
	}
}

func (s *syntax) dotStep(simple bool) *node {
	switch {
	case s.is(tokenWord), s.is(tokenQuoted):
		n := s.name()
		n.kind = nodeText
		return n
	case s.is(tokenStar) && simple:
		return s.fail("Invalid path dot component for simple path")
	case s.is(tokenStar):
		return &node{kind: nodeUnpivot, pos: s.take().pos}
	}
	return s.fail("Invalid path dot component")
}

// indexStep reads the step in brackets. In a simple path it must be a literal or a name.
func (s *syntax) indexStep(simple bool) *node {
	var n *node
	if s.is(tokenStar) {
		n = &node{kind: nodeWildcard, pos: s.take().pos}
	} else {
		n = s.expression(lowestPrecedence)
	}
	if n == nil || !s.expect(tokenCloseBracket) {
		return nil
	}
	if simple && !n.atom() {
		return s.fail("Invalid path component for simple path")
	}
	return n
}

// atom reports whether the node is one token.
func (n *node) atom() bool {
	switch n.kind {
	case nodeName, nodeText, nodeNumber, nodeBoolean, nodeNull, nodeMissing, nodeIon:
		return true
	}
	return false
}

// name reads a name, bare or in quotes.
func (s *syntax) name() *node {
	t := s.take()
	return &node{kind: nodeName, word: unquoted(t), pos: t.pos}
}

// unquoted returns the text of a name or a string literal.
func unquoted(t *token) string {
	if t.kind == tokenWord {
		return string(t.text)
	}
	quote := t.text[:1]
	return string(bytes.ReplaceAll(t.text[1:len(t.text)-1], []byte{quote[0], quote[0]}, quote))
}

// term reads an expression without operators outside brackets.
func (s *syntax) term() *node {
	t := s.head()
	switch t.kind {
	case tokenOperator:
		if t.word == "@" {
			return s.lexical()
		}
		return s.fail("Unexpected operator")
	case tokenKeyword:
		return s.keywordTerm()
	case tokenWord, tokenQuoted:
		if s.peekSecond().kind == tokenOpen {
			s.take()
			return s.call(t, strings.ToLower(unquoted(t)))
		}
		return s.name()
	case tokenOpen:
		n := s.list(tokenClose, nodeList)
		if n != nil && len(n.nodes) == 1 {
			return n.nodes[0]
		}
		return n
	case tokenOpenBracket:
		return s.collection(tokenCloseBracket, nodeList)
	case tokenOpenBag:
		return s.collection(tokenCloseBag, nodeBag)
	case tokenOpenBrace:
		return s.tuple()
	}
	return s.literal()
}

// literal reads one token that is a value.
func (s *syntax) literal() *node {
	t := s.head()
	n := &node{pos: t.pos, word: t.word}
	switch t.kind {
	case tokenText:
		n.kind, n.word = nodeText, unquoted(t)
	case tokenNumber:
		n.kind, n.word = nodeNumber, string(t.text)
	case tokenBoolean:
		n.kind = nodeBoolean
	case tokenNull:
		n.kind = nodeNull
	case tokenMissing:
		n.kind = nodeMissing
	case tokenIon:
		n.kind, n.word = nodeIon, ionType(t.text[1:len(t.text)-1])
		if n.word == "" {
			return s.fail("")
		}
	case tokenParameter:
		n.kind, n.index = nodeParameter, s.parameters
		s.parameters++
	default:
		return s.fail("Unexpected term")
	}
	s.take()
	return n
}

// ionType returns the type of an Ion literal, empty if text is not one.
func ionType(text []byte) string {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return ""
	case text[0] == '"':
		return "STRING"
	case text[0] == '[':
		return "LIST"
	case text[0] == '{':
		return "STRUCT"
	case string(text) == "true" || string(text) == "false":
		return "BOOL"
	case string(text) == "null":
		return "NULL"
	case isDigit(text[0]) && digits(text, 0) == len(text):
		return "INT"
	case isDigit(text[0]) && bytes.ContainsAny(text, "eE"):
		return "FLOAT"
	case isDigit(text[0]):
		return "DECIMAL"
	}
	return "SYMBOL"
}

// lexical reads a name after @.
func (s *syntax) lexical() *node {
	s.take()
	if s.is(tokenWord) || s.is(tokenQuoted) {
		return s.name()
	}
	return s.fail("Identifier must follow @-operator")
}

// collection reads a list or a bag.
func (s *syntax) collection(closing tokenKind, kind nodeKind) *node {
	if s.peekSecond().kind == closing {
		n := &node{kind: kind, pos: s.take().pos}
		s.take()
		return n
	}
	return s.list(closing, kind)
}

func (s *syntax) tuple() *node {
	n := &node{kind: nodeTuple, pos: s.take().pos}
	if s.accept(tokenCloseBrace) {
		return n
	}
	for {
		name := s.expression(lowestPrecedence)
		if name == nil || !s.expect(tokenColon) {
			return nil
		}
		v := s.expression(lowestPrecedence)
		if v == nil {
			return nil
		}
		n.nodes = append(n.nodes, name, v)
		if !s.accept(tokenComma) {
			break
		}
	}
	if !s.expect(tokenCloseBrace) {
		return nil
	}
	return n
}

// call reads the arguments of a function, after its name.
func (s *syntax) call(t *token, name string) *node {
	if aggregates()[name] {
		return s.aggregate(t, name)
	}
	n := &node{kind: nodeCall, word: name, pos: t.pos}
	switch second := s.peekSecond(); {
	case second.kind == tokenStar:
		return s.fail(functionName(t) + "(*) is not allowed")
	case second.kind == tokenClose:
		s.take()
		s.take()
	default:
		args := s.list(tokenClose, nodeList)
		if args == nil {
			return nil
		}
		n.nodes = args.nodes
	}
	switch name {
	case "list", "sexp":
		n.kind = nodeList
	case "bag":
		n.kind = nodeBag
	}
	return n
}

// functionName returns the name of a function in messages.
func functionName(t *token) string {
	if t.kind == tokenKeyword {
		return t.word
	}
	return unquoted(t)
}

// aggregate reads the arguments of an aggregate function.
func (s *syntax) aggregate(t *token, name string) *node {
	n := &node{kind: nodeOther, word: name, class: "CallAgg", pos: t.pos}
	s.take()
	if !s.acceptWord("distinct") {
		s.acceptWord("all")
	}
	switch {
	case s.is(tokenStar) && name == "count":
		s.take()
		if !s.expect(tokenClose) {
			return nil
		}
		return n
	case s.is(tokenStar):
		return s.fail(name + "(*) is not allowed")
	case s.is(tokenClose):
		return s.fail("Aggregate functions are always unary")
	}
	n.nodes = s.items(tokenClose)
	if n.nodes == nil {
		return nil
	}
	if len(n.nodes) != 1 && name != "count" {
		return s.fail("Aggregate functions are always unary")
	}
	return n
}
