package differential

import (
	"fmt"
	"strings"
)

// placeholders collects the names and values that the expressions of one
// request use.
type placeholders struct {
	g      *generator
	names  object
	values object
	taken  map[string]bool // attributes that an update writes to
}

func (g *generator) placeholders() *placeholders {
	return &placeholders{g: g, names: object{}, values: object{}, taken: map[string]bool{}}
}

// put adds the names and values to a request, occasionally one too many or too few.
func (p *placeholders) put(body object) {
	if p.g.oneIn(120) {
		p.names["#unused"] = "unused"
	}
	if p.g.oneIn(120) {
		p.values[":unused"] = object{"S": "x"}
	}
	if len(p.names) > 0 {
		body["ExpressionAttributeNames"] = p.names
	}
	if len(p.values) > 0 {
		body["ExpressionAttributeValues"] = p.values
	}
	if p.g.oneIn(150) && len(p.values) > 0 {
		delete(p.values, sorted(p.values)[0])
	}
	if p.g.oneIn(150) && len(p.names) > 0 {
		delete(p.names, sorted(p.names)[0])
	}
}

// reserved are our attribute names that expressions can't contain.
var reserved = map[string]bool{"name": true, "size": true, "a.b": true}

func (p *placeholders) name(name string) string {
	if !p.g.oneIn(4) && !reserved[name] || p.g.oneIn(100) {
		return name
	}
	for ref, known := range p.names {
		if known == name {
			return ref
		}
	}
	ref := fmt.Sprintf("#n%d", len(p.names))
	p.names[ref] = name
	return ref
}

func (p *placeholders) value(v any) string {
	ref := fmt.Sprintf(":v%d", len(p.values))
	p.values[ref] = v
	return ref
}

// path draws a document path, usually one that may exist.
func (p *placeholders) path() string {
	g := p.g
	switch g.IntN(8) {
	case 0:
		return p.name("m") + "." + p.name(g.one("x", "y", "l", "z", "a.b"))
	case 1:
		return p.name("m") + "." + p.name("l") + fmt.Sprintf("[%d]", g.IntN(3))
	case 2:
		return p.name("l") + fmt.Sprintf("[%d]", g.pick(0, 1, 2, 3, 9))
	}
	return p.name(attributes[g.IntN(len(attributes))])
}

// operand draws an operand of a comparison: a path, a value or a size.
func (p *placeholders) operand() string {
	switch p.g.IntN(6) {
	case 0:
		return "size(" + p.path() + ")"
	case 1, 2, 3:
		return p.path()
	}
	return p.value(p.g.typical(p.g.one("a", "n", "n", "t", "l")))
}

// ordered draws an operand for a comparison of order, which few types support.
func (p *placeholders) ordered() string {
	switch p.g.IntN(6) {
	case 0:
		return p.operand()
	case 1, 2:
		return p.path()
	case 3:
		return p.value(object{"S": p.g.one("a", "b", "é")})
	}
	return p.value(p.g.number())
}

// keyOperand draws a key attribute of the table.
func (p *placeholders) keyOperand(t *table) (operand string, k key) {
	keys := t.keys()
	k = keys[p.g.IntN(len(keys))]
	return p.name(k.name), k
}

// condition draws a condition that nests at most depth levels.
func (p *placeholders) condition(t *table, depth int) string {
	g := p.g
	if depth > 0 && g.oneIn(2) {
		switch g.IntN(4) {
		case 0:
			return g.one("NOT ", "not ") + p.condition(t, depth-1)
		case 1:
			return "(" + p.condition(t, depth-1) + ")"
		}
		return p.condition(t, depth-1) + g.one(" AND ", " OR ", " and ", "\tor\n") + p.condition(t, depth-1)
	}
	switch g.IntN(11) {
	case 0:
		return "attribute_exists(" + p.path() + ")"
	case 1:
		operand, _ := p.keyOperand(t)
		return g.one("attribute_exists(", "attribute_not_exists(") + operand + ")"
	case 2:
		return "attribute_type(" + p.path() + ", " + p.value(object{"S": g.one("S", "N", "B", "SS", "NS", "BS", "L", "M", "BOOL", "NULL", "NULL", "X")}) + ")"
	case 3:
		return "begins_with(" + p.path() + ", " + p.value(object{"S": g.one("a", "", "ab", "é")}) + ")"
	case 4:
		return "contains(" + p.path() + ", " + p.value(g.value(0)) + ")"
	case 5:
		return p.path() + " BETWEEN " + p.value(g.number()) + " AND " + p.ordered()
	case 6:
		return p.operand() + " IN (" + p.operand() + ", " + p.operand() + ")"
	case 7:
		operand, k := p.keyOperand(t)
		return operand + " = " + p.value(g.keyValue(k))
	}
	if g.oneIn(2) {
		return p.operand() + g.one(" = ", "=", " <> ") + p.operand()
	}
	return p.ordered() + g.one(" < ", " <= ", " > ", ">=") + p.ordered()
}

// update draws an update expression.
func (p *placeholders) update(t *table) string {
	g := p.g
	var clauses []string
	for _, i := range g.Perm(4)[:1+g.IntN(2)] {
		var actions []string
		for range 1 + g.IntN(2) {
			actions = append(actions, []func(*table) string{p.set, p.remove, p.add, p.delete}[i](t))
		}
		clauses = append(clauses, []string{"SET ", "REMOVE ", "ADD ", "DELETE "}[i]+strings.Join(actions, ", "))
	}
	return strings.Join(clauses, " ")
}

// target draws the target of an action: occasionally a key attribute, rarely a target that
// the update already has.
func (p *placeholders) target(t *table) string {
	if p.g.oneIn(60) {
		operand, _ := p.keyOperand(t)
		return operand
	}
	if indexes := t.indexes(); len(indexes) > 0 && p.g.oneIn(8) {
		x := indexes[p.g.IntN(len(indexes))]
		return p.name(x.keys()[len(x.keys())-1].name)
	}
	return p.free(attributes...)
}

// free draws one of the attributes, or a path into it.
func (p *placeholders) free(names ...string) string {
	g := p.g
	name := g.one(names...)
	for range 8 {
		if !p.taken[name] || g.oneIn(20) {
			break
		}
		name = g.one(attributes...)
	}
	p.taken[name] = true
	switch {
	case name == "m" && !g.oneIn(4):
		return p.name("m") + "." + p.name(g.one("x", "y", "y", "z", "a.b"))
	case name == "m" && g.oneIn(2):
		return p.name("m") + "." + p.name("l") + fmt.Sprintf("[%d]", g.IntN(3))
	case name == "l" && !g.oneIn(3):
		return p.name("l") + fmt.Sprintf("[%d]", g.pick(0, 1, 2, 9))
	}
	return p.name(name)
}

func (p *placeholders) set(t *table) string {
	g := p.g
	if indexes := t.indexes(); len(indexes) > 0 && g.oneIn(5) {
		x := indexes[g.IntN(len(indexes))]
		k := x.keys()[len(x.keys())-1]
		return p.name(k.name) + " = " + p.value(g.keyValue(k))
	}
	return p.target(t) + " = " + p.term(t)
}

// term draws the right side of a SET.
func (p *placeholders) term(t *table) string {
	g := p.g
	switch g.IntN(9) {
	case 0:
		return p.path()
	case 1:
		return "if_not_exists(" + p.path() + ", " + p.value(g.typical("a")) + ")"
	case 2:
		return "list_append(" + p.name("l") + ", " + p.value(object{"L": list{g.value(1)}}) + ")"
	case 3:
		return "list_append(if_not_exists(" + p.path() + ", " + p.value(object{"L": list{}}) + "), " + p.name("l") + ")"
	case 4, 5:
		return p.name(g.one("n", "n", "c", "a")) + g.one(" + ", " - ") + p.value(g.number())
	case 6:
		return "if_not_exists(" + p.name("n") + ", " + p.value(object{"N": "0"}) + ") + " + p.value(g.number())
	}
	return p.value(g.typical(g.one(attributes...)))
}

func (p *placeholders) remove(t *table) string { return p.target(t) }

func (p *placeholders) add(t *table) string {
	if p.g.oneIn(2) {
		return p.free("n", "c", "n", "c", "a", "m", "l") + " " + p.value(p.g.number())
	}
	return p.free("t", "t", "t", "a", "l") + " " + p.value(p.g.set())
}

func (p *placeholders) delete(t *table) string {
	if p.g.oneIn(8) {
		return p.target(t) + " " + p.value(p.g.set())
	}
	return p.free("t", "t", "t", "a") + " " + p.value(p.g.set())
}

// projection draws a list of paths, which rarely overlap.
func (p *placeholders) projection(t *table) string {
	p.taken = map[string]bool{}
	paths := []string{p.free(attributes...)}
	for range p.g.IntN(3) {
		paths = append(paths, p.free(attributes...))
	}
	if p.g.oneIn(3) {
		operand, _ := p.keyOperand(t)
		paths = append(paths, operand)
	}
	return strings.Join(paths, ", ")
}

// keyCondition draws the condition of a query for keys.
func (p *placeholders) keyCondition(keys []key) string {
	g := p.g
	condition := p.name(keys[0].name) + " = " + p.value(g.keyValue(keys[0]))
	if g.oneIn(150) {
		condition = p.name(keys[0].name) + " > " + p.value(g.keyValue(keys[0]))
	}
	if len(keys) == 1 || g.oneIn(3) {
		return condition
	}
	k := keys[1]
	low, high := g.keyValue(k), g.keyValue(k)
	if text(low) > text(high) {
		low, high = high, low // usually in the order of the values
	}
	name, first := p.name(k.name), p.value(low)
	second := ""
	switch g.IntN(8) {
	case 0, 1:
		second = name + " BETWEEN " + first + " AND " + p.value(high)
	case 2:
		if k.typ == "N" && !g.oneIn(10) {
			second = name + " = " + first
			break
		}
		second = "begins_with(" + name + ", " + first + ")"
	case 3:
		second = first + g.one(" < ", " <= ", " > ", " >= ", " = ") + name
	default:
		second = name + g.one(" < ", " <= ", " > ", " >= ", " = ") + first
		if g.oneIn(60) {
			second = name + " <> " + first
		}
	}
	if g.oneIn(3) {
		return second + " AND " + condition
	}
	return condition + " AND " + second
}
