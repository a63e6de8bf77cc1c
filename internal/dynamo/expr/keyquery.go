package expr

import "github.com/kasoku/kasoku/internal/dynamo/value"

// KeyQuery holds the comparisons of a Query with the keys, from a KeyConditionExpression or
// from KeyConditions, after the checks that need no table: comparisons of different
// attributes with constants.
type KeyQuery struct {
	terms []queryTerm
}

// queryTerm is a KeyTerm over values. An op of 0 is an operator that keys don't
// support, which KeyConditions may contain.
type queryTerm struct {
	name string
	op   KeyOp
	a, b *value.Value // b is set for KeyBetween
}

func (q *KeyQuery) find(name string) *queryTerm {
	for i := range q.terms {
		if q.terms[i].name == name {
			return &q.terms[i]
		}
	}
	return nil
}

const errKeyCount = "Conditions can be of length 1 or 2 only"

// KeyQuery extracts the comparisons from a condition that was parsed as "KeyCondition". The
// service does so after it has parsed the request's other expressions and found all
// placeholders used.
func (c *Condition) KeyQuery() (*KeyQuery, error) {
	q := new(KeyQuery)
	if detail := q.add(c.Root); detail != "" {
		return nil, refuse("KeyCondition", detail)
	}
	if len(q.terms) > maxKeyTerms {
		return nil, refuse("KeyCondition", errKeyCount)
	}
	return q, nil
}

// add appends the comparisons of n, or returns the reason why a key condition can't have
// them.
func (q *KeyQuery) add(n *Node) (detail string) {
	switch n.Kind {
	case And:
		for _, sub := range n.Nodes {
			if detail = q.add(sub); detail != "" {
				return detail
			}
		}
		return ""
	case Or, Not, In:
		return badKeyOperator + [...]string{Or: "OR", Not: "NOT", In: "IN"}[n.Kind]
	}
	t, detail := n.keyTerm()
	switch {
	case detail != "":
		return detail
	case q.find(t.name) != nil:
		return "KeyConditionExpressions must only contain one condition per key"
	}
	q.terms = append(q.terms, t)
	return ""
}

const (
	badKeyOperator  = "Invalid operator used in KeyConditionExpression: "
	badKeyCondition = "Invalid condition in KeyConditionExpression: "
)

var keyOps = map[Comparator]KeyOp{Equal: KeyEqual, Less: KeyLess, LessEqual: KeyLessEqual, Greater: KeyGreater,
	GreaterEqual: KeyGreaterEqual}

// keyTerm converts Compare, Between or Call to a comparison.
func (n *Node) keyTerm() (t queryTerm, detail string) {
	operator := string(n.Op)
	switch {
	case n.Kind == Compare && keyOps[n.Op] == 0:
		return t, badKeyOperator + operator
	case n.Kind == Call && n.Function != BeginsWith:
		return t, badKeyOperator + string(n.Function)
	case n.Kind == Call:
		operator = string(BeginsWith)
	case n.Kind == Between:
		operator = "BETWEEN"
	}
	at, detail := n.keyArgument(operator)
	if detail != "" {
		return t, detail
	}
	t.name = n.Args[at].Path[0].Name
	switch n.Kind {
	case Compare:
		t.op, t.a = keyOps[n.Op], n.Args[1-at].Value
		if at == 1 {
			t.op = mirrored[t.op]
		}
	case Between:
		t.op, t.a, t.b = KeyBetween, n.Args[1].Value, n.Args[2].Value
	case Call:
		t.op, t.a = KeyBeginsWith, n.Args[1].Value
	}
	return t, ""
}

// keyArgument returns the index of the argument that is an attribute; the others must be
// constants.
func (n *Node) keyArgument(operator string) (at int, detail string) {
	at = -1
	for i, arg := range n.Args {
		switch {
		case arg.Kind == CallOperand:
			return 0, "KeyConditionExpressions cannot contain nested operations"
		case i == 0 && n.Kind != Compare && arg.Kind != PathOperand:
			return 0, badKeyCondition + operator + " operator must have the key attribute as its first operand"
		case arg.Kind != PathOperand:
		case at >= 0:
			return 0, badKeyCondition + "Multiple attribute names used in one condition"
		case len(arg.Path) > 1:
			return 0, "KeyConditionExpressions cannot have conditions on nested attributes"
		default:
			at = i
		}
	}
	if at < 0 {
		return 0, badKeyCondition + "No key attribute specified"
	}
	return at, ""
}
