package accel

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// scope resets the placeholders of a request.
func (r *modelRequest) scope() (*expr.Names, *expr.Values, *refusal) {
	var n expr.Names
	var v expr.Values
	if err := n.Reset(r.ExpressionAttributeNames); err != nil {
		return nil, nil, invalid("%s", err)
	}
	if err := v.Reset(r.ExpressionAttributeValues); err != nil {
		return nil, nil, invalid("%s", err)
	}
	return &n, &v, nil
}

// project returns the top-level attributes that a read requests.
func project(r *modelRequest, it item) (item, *refusal) {
	names := r.AttributesToGet
	if r.ProjectionExpression != "" {
		n, _, err := r.scope()
		if err != nil {
			return nil, err
		}
		paths, fault := expr.ParsePaths([]byte(r.ProjectionExpression), n)
		if fault != nil {
			return nil, invalid("%s", fault)
		}
		for _, p := range paths {
			names = append(names, p[0].Name)
		}
	}
	if names == nil {
		return it, nil
	}
	out := item{}
	for _, name := range names {
		if v, ok := it[name]; ok {
			out[name] = v
		}
	}
	return out, nil
}

// conditionOf parses an expression into a predicate; an empty one is true.
func conditionOf(which, text string, r *modelRequest) (func(item) bool, *refusal) {
	if text == "" {
		return func(item) bool { return true }, nil
	}
	n, v, err := r.scope()
	if err != nil {
		return nil, err
	}
	c, fault := expr.ParseCondition(which, []byte(text), n, v)
	if fault != nil {
		return nil, invalid("%s", fault)
	}
	return func(it item) bool { return holds(c.Root, it) }, nil
}

// keyFilter is the key condition of a query; a scan has none.
func keyFilter(op string, r *modelRequest) (func(item) bool, *refusal) {
	switch {
	case op == "Scan":
		return func(item) bool { return true }, nil
	case r.KeyConditions != nil:
		return func(it item) bool {
			for name, c := range r.KeyConditions {
				if c.ComparisonOperator != "EQ" || it[name] == nil || canonicalValue(it[name]) != canonicalValue(c.AttributeValueList[0]) {
					return false
				}
			}
			return true
		}, nil
	case r.KeyConditionExpression == "":
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	return conditionOf("KeyCondition", r.KeyConditionExpression, r)
}

func holds(n *expr.Node, it item) bool {
	arg := func(i int) json.RawMessage { return valueOf(n.Args[i], it) }
	switch n.Kind {
	case expr.And:
		return holds(n.Nodes[0], it) && holds(n.Nodes[1], it)
	case expr.Or:
		for _, sub := range n.Nodes {
			if holds(sub, it) {
				return true
			}
		}
		return false
	case expr.Not:
		return !holds(n.Nodes[0], it)
	case expr.Between:
		return ordered(arg(1), arg(0)) && compareValues(arg(1), arg(0)) <= 0 && compareValues(arg(0), arg(2)) <= 0
	case expr.Compare:
		return compares(n.Op, arg(0), arg(1))
	}
	switch n.Function {
	case expr.AttributeExists:
		return arg(0) != nil
	case expr.AttributeNotExists:
		return arg(0) == nil
	case expr.AttributeType:
		_, want, _ := wire.Attribute(arg(1))
		return arg(0) != nil && typeOf(arg(0)) == strings.Trim(string(want), `"`)
	case expr.BeginsWith:
		return arg(0) != nil && strings.HasPrefix(textOf(arg(0)), textOf(arg(1)))
	}
	panic("the model does not know " + string(n.Function))
}

func compares(op expr.Comparator, a, b json.RawMessage) bool {
	same := a != nil && b != nil && canonicalValue(a) == canonicalValue(b)
	switch op {
	case expr.Equal:
		return same
	case expr.NotEqual:
		return !same
	}
	if !ordered(a, b) {
		return false
	}
	c := compareValues(a, b)
	switch op {
	case expr.Less:
		return c < 0
	case expr.LessEqual:
		return c <= 0
	case expr.Greater:
		return c > 0
	}
	return c >= 0
}

func ordered(a, b json.RawMessage) bool { return a != nil && b != nil && typeOf(a) == typeOf(b) }

func valueOf(o *expr.Operand, it item) json.RawMessage {
	switch o.Kind {
	case expr.ValueOperand:
		return json.RawMessage(o.Text)
	case expr.PathOperand:
		return it[o.Path[0].Name]
	case expr.SumOperand, expr.DifferenceOperand:
		x, y := numberOf(valueOf(o.Args[0], it)), numberOf(valueOf(o.Args[1], it))
		if o.Kind == expr.DifferenceOperand {
			y.Neg(y)
		}
		return json.RawMessage(`{"N":"` + x.Add(x, y).Text('f', -1) + `"}`)
	}
	if o.Function == expr.IfNotExists {
		if v := valueOf(o.Args[0], it); v != nil {
			return v
		}
		return valueOf(o.Args[1], it)
	}
	panic("the model does not know " + string(o.Function))
}

func typeOf(v json.RawMessage) string { typ, _, _ := wire.Attribute(v); return string(typ) }

func textOf(v json.RawMessage) string {
	_, quoted, _ := wire.Attribute(v)
	var s string
	_ = json.Unmarshal(quoted, &s)
	return s
}

func numberOf(v json.RawMessage) *big.Float {
	n := new(big.Float)
	if v != nil {
		n.SetString(textOf(v))
	}
	return n
}

// compareValues compares two values of one type; an absent value is the smallest.
func compareValues(a, b json.RawMessage) int {
	switch {
	case a == nil || b == nil:
		return len(a) - len(b)
	case typeOf(a) == "N":
		return numberOf(a).Cmp(numberOf(b))
	}
	return strings.Compare(textOf(a), textOf(b))
}

// updated applies an update to an item.
func updated(r *modelRequest, old item) (it item, touched []string, err *refusal) {
	it = item{}
	for name, v := range old {
		it[name] = v
	}
	for name, u := range r.AttributeUpdates {
		touched = append(touched, name)
		switch u.Action {
		case "DELETE":
			delete(it, name)
		case "ADD":
			n := numberOf(old[name])
			it[name] = json.RawMessage(`{"N":"` + n.Add(n, numberOf(u.Value)).Text('f', -1) + `"}`)
		default:
			it[name] = u.Value
		}
	}
	if r.UpdateExpression == "" {
		return stored(it), touched, nil
	}
	n, v, err := r.scope()
	if err != nil {
		return nil, nil, err
	}
	u, fault := expr.ParseUpdate([]byte(r.UpdateExpression), n, v)
	if fault != nil {
		return nil, nil, invalid("%s", fault)
	}
	for _, a := range u.Actions {
		name := a.Path[0].Name
		touched = append(touched, name)
		switch a.Clause {
		case expr.Set:
			it[name] = valueOf(a.Value, old)
		case expr.Remove:
			delete(it, name)
		case expr.Add:
			sum := numberOf(old[name])
			it[name] = json.RawMessage(`{"N":"` + sum.Add(sum, numberOf(json.RawMessage(a.Value.Text))).Text('f', -1) + `"}`)
		default:
			panic("the model does not know DELETE")
		}
	}
	return stored(it), touched, nil
}
