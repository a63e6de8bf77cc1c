package expr

import "github.com/kasoku/kasoku/internal/dynamo/value"

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

// Update is a parsed UpdateExpression, or the legacy AttributeUpdates. All its actions read
// the item as it was before.
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
			a.Value, _, ok = p.sum()
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

// sum reads an operand, or two with + or - between them, neither of which is a sum. enclosed
// reports whether it is in its own parentheses.
func (p *parser) sum() (o *Operand, enclosed, ok bool) {
	left, enclosed, ok := p.term()
	if !ok || left.isSum() || p.kind != tokenPlus && p.kind != tokenMinus {
		return left, enclosed, ok
	}
	o = &Operand{Kind: SumOperand}
	if p.kind == tokenMinus {
		o.Kind = DifferenceOperand
	}
	operator := string(p.word())
	p.operators++
	p.take()
	right, ok := p.operand()
	if !ok {
		return nil, false, false
	}
	for _, x := range []*Operand{left, right} {
		p.checkInner(x)
		if typ := x.StaticType(); typ != 0 && typ != value.Number {
			p.wrongType(operator, typ.String())
		}
	}
	o.Args = []*Operand{left, right}
	return o, false, true
}

// term reads an operand, or a sum in parentheses.
func (p *parser) term() (o *Operand, enclosed, ok bool) {
	if !p.accept(tokenOpen) {
		o, ok = p.operand()
		return o, false, ok
	}
	o, enclosed, ok = p.sum()
	if ok = ok && p.expect(tokenClose); ok && enclosed {
		p.redundant()
	}
	return o, true, ok
}

func (o *Operand) isSum() bool { return o.Kind == SumOperand || o.Kind == DifferenceOperand }

// longTypes are the names of types in messages about ADD and DELETE.
var longTypes = map[value.Type]string{value.String: "STRING", value.Number: "NUMBER", value.Binary: "BINARY",
	value.Null: "NULL", value.Bool: "BOOLEAN", value.List: "LIST", value.Map: "MAP"}

// checkSetValue records a fault for a constant that ADD or DELETE doesn't support.
func (p *parser) checkSetValue(clause Clause, o *Operand) {
	typ := o.StaticType()
	if longTypes[typ] == "" || clause == Add && typ == value.Number {
		return
	}
	operator := "ADD"
	if clause == Delete {
		operator = "DELETE"
	}
	p.fault(faultOperand, "Incorrect operand type for operator or function; operator: "+operator+", operand type: "+longTypes[typ]+
		", typeSet: ALLOWED_FOR_"+operator+"_OPERAND")
}

// Paths returns the paths that the update changes, in the order of the text.
func (u *Update) Paths() []Path {
	paths := make([]Path, len(u.Actions))
	for i := range u.Actions {
		paths[i] = u.Actions[i].Path
	}
	return paths
}

// AllPaths returns Paths and the paths of the values that the update reads.
func (u *Update) AllPaths() []Path {
	paths := u.Paths()
	for i := range u.Actions {
		if v := u.Actions[i].Value; v != nil {
			paths = v.paths(paths)
		}
	}
	return paths
}
