package expr

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Clause is the verb of an action.
type Clause uint8

const (
	Set Clause = iota + 1
	Remove
	Add
	Delete
)

var clauses = map[keyword]Clause{keySet: Set, keyRemove: Remove, keyAdd: Add, keyDelete: Delete}

// Action is one action of an update. Value is nil for Remove and a constant for
// Add and Delete.
type Action struct {
	Clause Clause
	Path   Path
	Value  *Operand
}

// Update is a parsed UpdateExpression, or AttributeUpdates in the same terms.
// All its actions apply to the item as it was before.
type Update struct {
	Actions []Action
	// Legacy is set for AttributeUpdates, whose Add also appends to lists.
	Legacy bool

	updated *Projection
}

// ParseUpdate reads an unescaped UpdateExpression. The update aliases the
// values' text.
func ParseUpdate(text []byte, names *Names, values *Values) (*Update, error) {
	if err := checkText("Update", text); err != nil {
		return nil, err
	}
	p := newParser("Update", text, names, values)
	u := new(Update)
	for seen := [Delete + 1]bool{}; p.kind != tokenEnd; {
		word := p.keyword()
		clause := clauses[word]
		if clause == 0 {
			p.unexpected()
			break
		}
		if seen[clause] {
			p.fault(faultSection, `The "`+word.String()+`" section can only be used once in an update expression;`)
		}
		seen[clause] = true
		p.take()
		if !p.actions(clause, u) {
			break
		}
	}
	p.checkPaths(u.Paths())
	if err := p.finish(updateOrder); err != nil {
		return nil, err
	}
	return u, nil
}

// actions reads the actions of one clause.
func (p *parser) actions(clause Clause, u *Update) bool {
	for {
		a := Action{Clause: clause}
		var ok bool
		if a.Path, ok = p.path(); !ok {
			return false
		}
		switch clause {
		case Set:
			if !p.expect(tokenEqual) {
				return false
			}
			a.Value, ok = p.sum()
		case Add, Delete:
			if a.Value, ok = p.value(); ok {
				p.checkSetValue(clause, a.Value)
			}
		}
		if !ok {
			return false
		}
		u.Actions = append(u.Actions, a)
		if !p.accept(tokenComma) {
			return true
		}
	}
}

// sum reads a term, or two with + or - between them.
func (p *parser) sum() (*Operand, bool) {
	left, ok := p.term()
	if !ok {
		return nil, false
	}
	o := &Operand{Kind: SumOperand}
	switch p.kind {
	case tokenPlus:
	case tokenMinus:
		o.Kind = DifferenceOperand
	default:
		return left, true
	}
	operator := string(p.word())
	p.operators++
	p.take()
	right, ok := p.term()
	if !ok {
		return nil, false
	}
	for _, x := range []*Operand{left, right} {
		if typ := staticType(x); typ != "" && typ != "N" {
			p.wrongType(operator, typ)
		}
	}
	o.Args = []*Operand{left, right}
	return o, true
}

// term reads an operand, or a sum in parentheses.
func (p *parser) term() (*Operand, bool) {
	if p.kind != tokenOpen {
		return p.operand()
	}
	p.take()
	if p.kind == tokenOpen {
		if inner := p.matching(); inner.kind == tokenClose {
			p.redundant()
		}
	}
	o, ok := p.sum()
	return o, ok && p.expect(tokenClose)
}

// matching returns the token behind the parenthesis that closes the one which
// comes next.
func (p *parser) matching() token {
	l := p.lexer
	for depth := 1; ; {
		switch t := l.next(); t.kind {
		case tokenEnd:
			return t
		case tokenOpen:
			depth++
		case tokenClose:
			if depth--; depth == 0 {
				return l.next()
			}
		}
	}
}

// longTypes are the names that ADD and DELETE have for types.
var longTypes = map[string]string{"S": "STRING", "N": "NUMBER", "B": "BINARY", "NULL": "NULL", "BOOL": "BOOLEAN",
	"L": "LIST", "M": "MAP"}

// checkSetValue notes a constant that ADD or DELETE can't work with.
func (p *parser) checkSetValue(clause Clause, o *Operand) {
	typ := staticType(o)
	if typ == "" || longTypes[typ] == "" || clause == Add && typ == "N" {
		return
	}
	operator := "ADD"
	if clause == Delete {
		operator = "DELETE"
	}
	p.fault(faultType, "Incorrect operand type for operator or function; operator: "+operator+", operand type: "+longTypes[typ])
}

// Paths are the paths that the update touches, in the order of the text.
func (u *Update) Paths() []Path {
	paths := make([]Path, len(u.Actions))
	for i := range u.Actions {
		paths[i] = u.Actions[i].Path
	}
	return paths
}

// Effect says what an update makes of a top-level attribute.
type Effect uint8

const (
	SetTo    Effect = iota + 1 // it becomes a value that the request names
	Removed                    // it goes
	Computed                   // what it becomes depends on the item
)

// Target is a top-level attribute that an update touches.
type Target struct {
	Name   string
	Effect Effect
	Value  []byte // of SetTo: the attribute value's text
}

// Targets are the top-level attributes that the update touches, each once.
func (u *Update) Targets() []Target {
	targets := make([]Target, 0, len(u.Actions))
	at := make(map[string]bool, len(u.Actions))
	for i := range u.Actions {
		t := u.Actions[i].target()
		if !at[t.Name] { // a second path in the attribute is Computed as the first is
			at[t.Name] = true
			targets = append(targets, t)
		}
	}
	return targets
}

func (a *Action) target() Target {
	t := Target{Name: a.Path[0].Name, Effect: Computed}
	if len(a.Path) > 1 {
		return t
	}
	switch {
	case a.Clause == Remove:
		t.Effect = Removed
	case a.Clause == Set && a.Value.Kind == ValueOperand:
		t.Effect, t.Value = SetTo, a.Value.Value
	}
	return t
}

// ProjectUpdated appends what ReturnValues UPDATED_NEW shows of the item after
// the update, UPDATED_OLD of the item before it: the values at the update's
// paths, {} if there is none. It returns false if the text is no item or the
// update has more paths than a projection can hold. It isn't safe for concurrent
// use.
func (u *Update) ProjectUpdated(dst, item []byte) (out []byte, ok bool) {
	if u.updated == nil {
		p := new(Projection)
		if !p.fromPaths(u.Paths()) {
			return dst, false
		}
		u.updated = p
	}
	return u.updated.Append(dst, item)
}

// LegacyUpdates reads the object AttributeUpdates.
func LegacyUpdates(obj []byte) (*Update, error) {
	u := &Update{Legacy: true}
	seen := make(map[string]bool)
	it := wire.Object(obj)
	for it.Next() {
		name, ok := wire.AppendName(nil, it.Name())
		switch {
		case !ok || len(name) == 0 || len(name) > maxName:
			return nil, &Error{"One or more parameter values were invalid: Empty attribute name"}
		case seen[string(name)]:
			return nil, &Error{"AttributeUpdates contains an attribute twice: " + string(name)}
		}
		seen[string(name)] = true
		a := Action{Path: Path{{Name: string(name), Index: -1}}}
		if err := a.legacy(it.Value()); err != nil {
			return nil, err
		}
		u.Actions = append(u.Actions, a)
	}
	if it.Err() {
		return nil, &Error{"AttributeUpdates is not an object"}
	}
	return u, nil
}

var updateMembers = []string{"Action", "Value"}

// legacy reads {"Action":"PUT","Value":{"S":"x"}}.
func (a *Action) legacy(update []byte) error {
	const invalid = "One or more parameter values were invalid: "
	var m [2][]byte
	if !wire.Collect(update, updateMembers, m[:]) {
		return &Error{"AttributeUpdates contains no single update for " + a.Path[0].Name}
	}
	verb := []byte("PUT")
	if m[0] != nil {
		verb, _ = wire.AppendString(nil, m[0])
	}
	typ := ""
	if m[1] != nil {
		t, _, ok := wire.Attribute(m[1])
		if !ok {
			return &Error{attributeFault(m[1])}
		}
		typ = string(t)
		a.Value = &Operand{Kind: ValueOperand, Value: m[1]}
	}
	set := strings.HasSuffix(typ, "S") && typ != "S"
	switch string(verb) {
	case "PUT":
		a.Clause = Set
	case "ADD":
		if a.Clause = Add; a.Value != nil && !set && typ != "N" && typ != "L" {
			return &Error{invalid + "ADD action is not supported for the type " + typ}
		}
	case "DELETE":
		if a.Clause = Delete; a.Value == nil {
			a.Clause = Remove
			return nil
		}
		if !set {
			return &Error{invalid + "DELETE action with value is not supported for the type " + typ}
		}
	default:
		return &Error{"1 validation error detected: Value '" + string(verb) + "' at 'attributeUpdates." + a.Path[0].Name +
			".member.action' failed to satisfy constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]"}
	}
	if a.Value == nil {
		return &Error{invalid + "Only DELETE action is allowed when no attribute value is specified"}
	}
	return nil
}
