package model

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// The supported expressions: conditions with comparisons, BETWEEN, attribute_exists,
// attribute_not_exists, begins_with, AND, OR, NOT and parentheses; updates with SET (with +,
// - and if_not_exists), REMOVE and ADD; all on top-level attributes.

// scope holds an expression's placeholders.
type scope struct {
	names  map[string]string
	values map[string]json.RawMessage
}

// lexer splits an expression into tokens; next is the next one, "" at the end.
type lexer struct {
	rest, next string
}

func lex(text string) *lexer {
	l := &lexer{rest: text}
	l.take()
	return l
}

// take returns the next token and advances.
func (l *lexer) take() string {
	token := l.next
	l.rest = strings.TrimLeft(l.rest, " \t\r\n")
	n := 0
	for n < len(l.rest) && isWord(l.rest[n]) {
		n++
	}
	if n == 0 && l.rest != "" {
		n = 1
		if len(l.rest) > 1 && (l.rest[:2] == "<>" || l.rest[:2] == "<=" || l.rest[:2] == ">=") {
			n = 2
		}
	}
	l.next, l.rest = l.rest[:n], l.rest[n:]
	return token
}

func isWord(c byte) bool {
	return c == '_' || c == '#' || c == ':' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (l *lexer) accept(token string) bool {
	if strings.EqualFold(l.next, token) {
		l.take()
		return true
	}
	return false
}

func (l *lexer) expect(token string) error {
	if !l.accept(token) {
		return fmt.Errorf("syntax error; token: %q, expected %q", l.next, token)
	}
	return nil
}

// cond is a parsed condition.
type cond func(item Item) bool

func parseCond(text string, s *scope) (cond, error) {
	l := lex(text)
	c, err := s.or(l)
	if err == nil && l.next != "" {
		err = fmt.Errorf("syntax error; token: %q", l.next)
	}
	return c, err
}

func (s *scope) or(l *lexer) (cond, error) {
	left, err := s.and(l)
	for err == nil && l.accept("OR") {
		var right cond
		right, err = s.and(l)
		a, b := left, right
		left = func(item Item) bool { return a(item) || b(item) }
	}
	return left, err
}

func (s *scope) and(l *lexer) (cond, error) {
	left, err := s.not(l)
	for err == nil && l.accept("AND") {
		var right cond
		right, err = s.not(l)
		a, b := left, right
		left = func(item Item) bool { return a(item) && b(item) }
	}
	return left, err
}

func (s *scope) not(l *lexer) (cond, error) {
	if l.accept("NOT") {
		c, err := s.not(l)
		return func(item Item) bool { return !c(item) }, err
	}
	if l.accept("(") {
		c, err := s.or(l)
		if err == nil {
			err = l.expect(")")
		}
		return c, err
	}
	switch strings.ToLower(l.next) {
	case "attribute_exists", "attribute_not_exists", "begins_with":
		return s.function(l)
	}
	return s.comparison(l)
}

func (s *scope) function(l *lexer) (cond, error) {
	name := strings.ToLower(l.take())
	if err := l.expect("("); err != nil {
		return nil, err
	}
	arg, err := s.operand(l)
	if err != nil {
		return nil, err
	}
	var c cond
	switch name {
	case "attribute_exists":
		c = func(item Item) bool { return arg(item).typ != "" }
	case "attribute_not_exists":
		c = func(item Item) bool { return arg(item).typ == "" }
	case "begins_with":
		if err := l.expect(","); err != nil {
			return nil, err
		}
		prefix, err := s.operand(l)
		if err != nil {
			return nil, err
		}
		c = func(item Item) bool {
			v, p := arg(item), prefix(item)
			return v.typ == p.typ && strings.HasPrefix(v.text, p.text)
		}
	}
	return c, l.expect(")")
}

func (s *scope) comparison(l *lexer) (cond, error) {
	left, err := s.operand(l)
	if err != nil {
		return nil, err
	}
	op := strings.ToUpper(l.take())
	right, err := s.operand(l)
	if err != nil {
		return nil, err
	}
	if op == "BETWEEN" {
		if err := l.expect("AND"); err != nil {
			return nil, err
		}
		high, err := s.operand(l)
		return func(item Item) bool {
			v, lo, hi := left(item), right(item), high(item)
			return v.typ == lo.typ && v.typ == hi.typ && v.compare(lo) >= 0 && v.compare(hi) <= 0
		}, err
	}
	holds, ok := comparators[op]
	if !ok {
		return nil, fmt.Errorf("syntax error; token: %q", op)
	}
	return func(item Item) bool {
		v, w := left(item), right(item)
		if v.typ == "" || w.typ == "" || v.typ != w.typ {
			return op == "<>"
		}
		return holds(v.compare(w))
	}, nil
}

var comparators = map[string]func(int) bool{
	"=":  func(d int) bool { return d == 0 },
	"<>": func(d int) bool { return d != 0 },
	"<":  func(d int) bool { return d < 0 },
	"<=": func(d int) bool { return d <= 0 },
	">":  func(d int) bool { return d > 0 },
	">=": func(d int) bool { return d >= 0 },
}

// operand returns a function that returns the value of a name or a placeholder.
func (s *scope) operand(l *lexer) (func(Item) value, error) {
	token := l.take()
	if strings.HasPrefix(token, ":") {
		raw, ok := s.values[token]
		if !ok {
			return nil, fmt.Errorf("an expression attribute value used in expression is not defined; attribute value: %s", token)
		}
		v := parseValue(raw)
		return func(Item) value { return v }, nil
	}
	name, err := s.name(token)
	return func(item Item) value { return parseValue(item[name]) }, err
}

func (s *scope) name(token string) (string, error) {
	if strings.HasPrefix(token, "#") {
		name, ok := s.names[token]
		if !ok {
			return "", fmt.Errorf("an expression attribute name used in the document path is not defined; attribute name: %s", token)
		}
		return name, nil
	}
	if token == "" || !isWord(token[0]) {
		return "", fmt.Errorf("syntax error; token: %q", token)
	}
	return token, nil
}

// update changes an item in place. The caller has copied it.
type update func(item Item) error

func parseUpdate(text string, s *scope) (update, error) {
	l := lex(text)
	var steps []update
	for l.next != "" {
		clause := strings.ToUpper(l.take())
		for {
			step, err := s.action(l, clause)
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
			if !l.accept(",") {
				break
			}
		}
	}
	// Every right-hand side uses the original item.
	return func(item Item) error {
		before := clone(item)
		for _, step := range steps {
			change := clone(before)
			if err := step(change); err != nil {
				return err
			}
			merge(item, before, change)
		}
		return nil
	}, nil
}

// merge applies the difference between before and after to item.
func merge(item, before, after Item) {
	for name := range before {
		if _, ok := after[name]; !ok {
			delete(item, name)
		}
	}
	for name, v := range after {
		if string(before[name]) != string(v) {
			item[name] = v
		}
	}
}

func (s *scope) action(l *lexer, clause string) (update, error) {
	name, err := s.name(l.take())
	if err != nil {
		return nil, err
	}
	switch clause {
	case "REMOVE":
		return func(item Item) error { delete(item, name); return nil }, nil
	case "ADD":
		by, err := s.rawOperand(l)
		if err != nil {
			return nil, err
		}
		return func(item Item) error {
			old := item[name]
			if old == nil {
				old = json.RawMessage(`{"N":"0"}`)
			}
			sum, err := arithmetic(old, by(item), "+")
			item[name] = sum
			return err
		}, nil
	case "SET":
		if err := l.expect("="); err != nil {
			return nil, err
		}
		return s.set(l, name)
	}
	return nil, fmt.Errorf("syntax error; token: %q", clause)
}

func (s *scope) set(l *lexer, name string) (update, error) {
	left, err := s.rawOperand(l)
	if err != nil {
		return nil, err
	}
	op := l.next
	if op != "+" && op != "-" {
		return func(item Item) error { item[name] = left(item); return nil }, nil
	}
	l.take()
	right, err := s.rawOperand(l)
	return func(item Item) error {
		sum, err := arithmetic(left(item), right(item), op)
		item[name] = sum
		return err
	}, err
}

// rawOperand is like operand, for values that are stored. They are JSON text.
func (s *scope) rawOperand(l *lexer) (func(Item) json.RawMessage, error) {
	token := l.take()
	if strings.HasPrefix(token, ":") {
		raw, ok := s.values[token]
		if !ok {
			return nil, fmt.Errorf("an expression attribute value used in expression is not defined; attribute value: %s", token)
		}
		return func(Item) json.RawMessage { return raw }, nil
	}
	if strings.EqualFold(token, "if_not_exists") {
		return s.ifNotExists(l)
	}
	name, err := s.name(token)
	return func(item Item) json.RawMessage { return item[name] }, err
}

func (s *scope) ifNotExists(l *lexer) (func(Item) json.RawMessage, error) {
	if err := l.expect("("); err != nil {
		return nil, err
	}
	name, err := s.name(l.take())
	if err != nil {
		return nil, err
	}
	if err := l.expect(","); err != nil {
		return nil, err
	}
	otherwise, err := s.rawOperand(l)
	if err != nil {
		return nil, err
	}
	return func(item Item) json.RawMessage {
		if v := item[name]; v != nil {
			return v
		}
		return otherwise(item)
	}, l.expect(")")
}

func arithmetic(a, b json.RawMessage, op string) (json.RawMessage, error) {
	x, y := parseValue(a), parseValue(b)
	if x.num == nil || y.num == nil {
		return nil, fmt.Errorf("an operand in the update expression has an incorrect data type")
	}
	if op == "-" {
		return number(new(big.Rat).Sub(x.num, y.num)), nil
	}
	return number(new(big.Rat).Add(x.num, y.num)), nil
}

func clone(item Item) Item {
	c := make(Item, len(item)+1)
	for k, v := range item {
		c[k] = v
	}
	return c
}
