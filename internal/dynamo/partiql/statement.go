// Package partiql reads PartiQL statements. It does not evaluate them.
//
// Translate returns a statement as a Command for the native operations, or the service's
// error. Parse only returns the kind of a statement and its table, for authorisation and
// invalidation; it refuses a statement whose table is not certain.
package partiql

import (
	"bytes"
	"slices"
)

// maxStatement is the maximum length of a statement.
const maxStatement = 8192

// Kind is a statement's verb.
type Kind uint8

const (
	Unknown Kind = iota
	Select
	Insert
	Update
	Delete
	Exists // a condition of a transaction: it reads
)

var kinds = [...]string{"unknown", "select", "insert", "update", "delete", "exists"}

func (k Kind) String() string { return kinds[k] }

// Statement is the summary of a statement that Parse returns. It names one table: DynamoDB
// has no joins. The slices alias the statement.
type Statement struct {
	Kind  Kind
	Table []byte // name or ARN, as in the statement, without quotes
	Index []byte // nil unless FROM "table"."index"
}

// Parse reads an unescaped statement. It returns false if the statement's kind or table is
// not certain.
func Parse(stmt []byte) (Statement, bool) {
	if len(stmt) > maxStatement {
		return Statement{}, false
	}
	p := parser{lexer: newLexer(stmt)}
	p.take()
	if !p.statement() || !p.tail() {
		return Statement{}, false
	}
	return p.out, true
}

// parser reads as much of a statement as Parse needs. It refuses tokens that two parsers may
// read differently: a comment, a literal in backticks, a second statement.
type parser struct {
	lexer
	token // the next one
	out   Statement
}

func (p *parser) take() {
	before := p.token
	p.token = p.lexer.next()
	adjacent := before.kind == tokenNumber && p.kind == tokenWord && p.pos.Column == before.pos.Column+before.pos.Length
	if p.hadComment || adjacent || p.kind == tokenIon || p.kind == tokenSemicolon {
		p.kind = tokenBad
	}
}

// is reports whether the next token is the keyword, given in capitals.
func (p *parser) is(keyword string) bool {
	return p.kind == tokenWord && bytes.EqualFold(p.text, []byte(keyword))
}

func (p *parser) accept(keyword string) bool {
	if !p.is(keyword) {
		return false
	}
	p.take()
	return true
}

func (p *parser) acceptSign(k tokenKind) bool {
	if p.kind != k {
		return false
	}
	p.take()
	return true
}

// statement reads the statement through the keyword that follows the table.
func (p *parser) statement() bool {
	switch {
	case p.accept("SELECT"):
		p.out.Kind = Select
		return p.selection()
	case p.accept("EXISTS"):
		p.out.Kind = Exists
		return p.acceptSign(tokenOpen) && p.accept("SELECT") && p.selection()
	case p.accept("INSERT"):
		p.out.Kind = Insert
		return p.accept("INTO") && p.table(false) && p.accept("VALUE")
	case p.accept("UPDATE"):
		p.out.Kind = Update
		return p.table(false) && (p.accept("SET") || p.accept("REMOVE"))
	case p.accept("DELETE"):
		p.out.Kind = Delete
		return p.accept("FROM") && p.table(false) && p.accept("WHERE")
	}
	return false
}

// selection reads the rest of a SELECT up to the clauses after its table.
func (p *parser) selection() bool {
	for depth := 0; !p.is("FROM"); p.take() {
		if depth += p.nesting(); depth < 0 || !p.harmless() || p.kind == tokenEnd {
			return false
		}
	}
	p.take()
	if !p.table(true) {
		return false
	}
	switch {
	case p.accept("WHERE"), p.accept("ORDER"):
		return true
	case p.out.Kind == Exists:
		return p.kind == tokenClose
	}
	return p.kind == tokenEnd
}

// table reads the name of a table and, if indexed, of an optional index.
func (p *parser) table(indexed bool) (ok bool) {
	if p.out.Table, ok = p.name(); !ok {
		return false
	}
	if indexed && p.acceptSign(tokenDot) {
		p.out.Index, ok = p.name()
	}
	return ok
}

// name reads a bare or a quoted name.
func (p *parser) name() (name []byte, ok bool) {
	name = p.text
	switch {
	case p.kind == tokenQuoted:
		name = name[1 : len(name)-1]
		ok = bytes.IndexByte(name, '"') < 0 // no table has such a name
	case p.kind == tokenWord:
		ok = p.harmless() && !p.structural()
	}
	p.take()
	return name, ok && len(name) > 0
}

// structural reports whether the next token is a keyword around a table's name.
func (p *parser) structural() bool {
	return slices.ContainsFunc([]string{"WHERE", "ORDER", "SET", "REMOVE", "VALUE", "AS", "AT", "BY", "RETURNING"}, p.is)
}

// harmless returns false for tokens that may name another table, and for invalid ones.
func (p *parser) harmless() bool {
	if p.kind == tokenBad {
		return false
	}
	for _, k := range []string{"SELECT", "FROM", "INTO", "INSERT", "UPDATE", "DELETE", "EXISTS", "JOIN", "UNION",
		"INTERSECT", "EXCEPT", "PIVOT", "UNPIVOT", "LET", "WITH", "EXEC", "REPLACE", "UPSERT"} {
		if p.is(k) {
			return false
		}
	}
	return true
}

// nesting returns 1 for an opening bracket and -1 for a closing one.
func (p *parser) nesting() int {
	switch p.kind {
	case tokenOpen, tokenOpenBracket, tokenOpenBrace:
		return 1
	case tokenClose, tokenCloseBracket, tokenCloseBrace:
		return -1
	}
	return 0
}

// tail reads the rest of the statement, which must not name a table.
func (p *parser) tail() bool {
	depth := 0
	if p.out.Kind == Exists {
		depth = 1
	}
	for ; p.kind != tokenEnd; p.take() {
		if depth == 0 && p.out.Kind == Exists {
			return false // text after EXISTS(...)
		}
		if depth += p.nesting(); depth < 0 || !p.harmless() {
			return false
		}
	}
	return depth == 0
}
