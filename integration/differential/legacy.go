package differential

var comparisons = []string{"EQ", "NE", "LT", "LE", "GT", "GE", "BETWEEN", "IN", "BEGINS_WITH", "CONTAINS", "NOT_CONTAINS", "NULL", "NOT_NULL"}

// legacyCondition draws a legacy condition, usually with the number of values that its
// operator needs.
func (g *generator) legacyCondition(operator string, value func() any) object {
	n := 1
	switch operator {
	case "NULL", "NOT_NULL":
		n = 0
	case "BETWEEN":
		n = 2
	case "IN":
		n = 1 + g.IntN(3)
	}
	if g.oneIn(60) {
		n++
	}
	condition := object{"ComparisonOperator": operator}
	values := list{}
	for range n {
		values = append(values, value())
	}
	if n > 0 {
		condition["AttributeValueList"] = values
	}
	return condition
}

func (g *generator) legacyConditions() object {
	out := object{}
	for range 1 + g.IntN(2) {
		name := g.one(attributes...)
		draw := g.number
		if operator := g.one("S", "N"); operator == "S" {
			draw = func() object { return object{"S": g.one("a", "b", "é")} }
		}
		operator := g.one(comparisons...)
		out[name] = g.legacyCondition(operator, func() any {
			if g.oneIn(10) || operator == "EQ" || operator == "NE" {
				return g.typical(name)
			}
			return draw()
		})
	}
	return out
}

// legacyExpected adds Expected in either of its forms.
func (g *generator) legacyExpected(body object) {
	expected := g.legacyConditions()
	if g.oneIn(2) {
		name := g.one(attributes...)
		switch g.IntN(3) {
		case 0:
			expected[name] = object{"Exists": false}
		case 1:
			expected[name] = object{"Value": g.typical(name)}
		case 2:
			expected[name] = object{"Exists": g.oneIn(2), "Value": g.typical(name)}
		}
	}
	body["Expected"] = expected
	if g.oneIn(4) {
		body["ConditionalOperator"] = g.one("AND", "OR")
	}
}

func (g *generator) legacyUpdates(t *table, body object) {
	updates := object{}
	for range 1 + g.IntN(3) {
		name := g.one(attributes...)
		if indexes := t.indexes(); len(indexes) > 0 && g.oneIn(8) {
			x := indexes[g.IntN(len(indexes))]
			k := x.keys()[len(x.keys())-1]
			updates[k.name] = object{"Value": g.keyValue(k)}
			continue
		}
		switch g.IntN(5) {
		case 0:
			updates[name] = object{"Action": "DELETE"}
		case 1:
			updates["t"] = object{"Action": g.one("ADD", "DELETE"), "Value": g.set()}
		case 2:
			updates[name] = object{"Action": "ADD", "Value": g.number()}
		default:
			updates[name] = object{"Action": "PUT", "Value": g.typical(name)}
			if g.oneIn(3) {
				delete(updates[name].(object), "Action")
			}
		}
	}
	body["AttributeUpdates"] = updates
}

// legacyKeys adds KeyConditions, and occasionally a QueryFilter.
func (g *generator) legacyKeys(keys []key, body object) {
	conditions := object{keys[0].name: object{"ComparisonOperator": "EQ", "AttributeValueList": list{g.keyValue(keys[0])}}}
	if len(keys) > 1 && g.oneIn(2) {
		conditions[keys[1].name] = g.legacyCondition(g.one("EQ", "LT", "LE", "GT", "GE", "BETWEEN", "BEGINS_WITH", "NE"), func() any { return g.keyValue(keys[1]) })
	}
	body["KeyConditions"] = conditions
	if g.oneIn(3) {
		body["QueryFilter"] = g.legacyConditions()
		if g.oneIn(3) {
			body["ConditionalOperator"] = g.one("AND", "OR")
		}
	}
}
