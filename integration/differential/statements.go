package differential

import (
	"fmt"
	"strings"
)

// statement draws a request in PartiQL.
func (g *generator) statement(t *table) request {
	switch g.IntN(6) {
	case 0:
		return request{operation: "BatchExecuteStatement", body: object{"Statements": g.statements(t)}}
	case 1:
		return request{operation: "ExecuteTransaction", body: object{"TransactStatements": g.statements(t)}}
	}
	s := g.statementOf(t, g.one("SELECT", "SELECT", "INSERT", "UPDATE", "DELETE"))
	if g.oneIn(3) {
		s["ConsistentRead"] = true
	}
	return request{operation: "ExecuteStatement", body: g.options(s)}
}

// statements draws several statements that all read, or all write.
func (g *generator) statements(t *table) list {
	kinds := []string{"INSERT", "UPDATE", "DELETE"}
	if g.oneIn(3) {
		kinds = []string{"SELECT"}
	}
	all := list{}
	for range 1 + g.IntN(3) {
		all = append(all, g.statementOf(t, g.one(kinds...)))
	}
	return all
}

// statementOf draws a statement with its parameters.
func (g *generator) statementOf(t *table, kind string) object {
	var parameters list
	param := func(v any) string {
		if literal, ok := literalOf(v); ok && g.oneIn(2) {
			return literal
		}
		parameters = append(parameters, v)
		return "?"
	}
	from := `"` + t.name + `"`
	key := func() string {
		var parts []string
		for _, k := range t.keys() {
			parts = append(parts, fmt.Sprintf(`"%s" = %s`, k.name, param(g.keyValue(k))))
		}
		return strings.Join(parts, " AND ")
	}
	statement := ""
	switch kind {
	case "SELECT":
		statement = "SELECT " + g.one("*", "a", "a, n", "m.x", "l[0]", t.hash.name) + " FROM " + from
		switch g.IntN(6) {
		case 0:
			statement += " WHERE n " + g.one("=", "<", ">=", "<>") + " " + param(g.number())
		case 1:
			statement += " WHERE " + fmt.Sprintf(`"%s" = %s`, t.hash.name, param(g.keyValue(t.hash)))
		case 2:
			statement += " WHERE " + g.one("attribute_type(a, 'S')", "a IS MISSING", "a IS NOT MISSING", "begins_with(a, 'a')", "contains(a, 'a')", "n BETWEEN 1 AND 5", "n IN [1, 2, 3]")
		default:
			statement += " WHERE " + key()
		}
	case "INSERT":
		var members []string
		item := g.item(t)
		delete(item, "big")
		for _, name := range sorted(item) {
			members = append(members, fmt.Sprintf("'%s' : %s", name, param(item[name])))
		}
		statement = "INSERT INTO " + from + " VALUE {" + strings.Join(members, ", ") + "}"
	case "UPDATE":
		switch g.IntN(4) {
		case 0:
			statement = "UPDATE " + from + " REMOVE " + g.one("a", "n", "m.x", "l[0]")
		case 1:
			statement = "UPDATE " + from + " SET n = n + " + param(g.number())
		default:
			name := g.one("a", "n", "b")
			statement = "UPDATE " + from + " SET " + name + " = " + param(g.typical(name))
		}
		statement += " WHERE " + key()
		if g.oneIn(3) {
			statement += " AND a = " + param(g.value(0))
		}
	case "DELETE":
		statement = "DELETE FROM " + from + " WHERE " + key()
	}
	out := object{"Statement": statement}
	if len(parameters) > 0 {
		out["Parameters"] = parameters
	}
	return out
}

// literalOf formats simple values as PartiQL literals.
func literalOf(v any) (string, bool) {
	value, ok := v.(object)
	if !ok || len(value) != 1 {
		return "", false
	}
	if s, ok := value["S"].(string); ok {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'", !strings.ContainsAny(s, "\"\\\n\x00")
	}
	n, ok := value["N"].(string)
	return n, ok && len(n) < 10 && strings.Trim(n, "0123456789.") == "" && n != "" && n[0] != '0'
}
