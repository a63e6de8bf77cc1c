package embedded

import (
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// A SELECT is read by key if its WHERE clause fixes partitions in all alternatives of its
// ORs. It is then split into branches, one for each combination of alternatives. The key
// conditions of a branch make one read, and its other conditions filter. Otherwise the whole
// table is read and filtered.

// maxReads is the maximum number of reads that a SELECT may be split into.
const maxReads = 50

var (
	errManyReads   = wire.Invalid("Too many decomposed read operations for a given query.")
	errOverlapping = wire.Invalid("Overlapping conditions with range keys are not supported in where clause")
)

// planner splits a condition into branches for a key.
type planner struct {
	key *catalog.Key
}

// branch is one combination of alternatives of a condition's ORs.
type branch struct {
	hash    []*value.Value // values that the partition key must equal
	ranges  []*expr.Node   // conditions on the sort key
	filters []*expr.Node
}

// role is the use of a part of a condition.
type role uint8

const (
	filterRole role = iota
	hashRole        // fixes one partition or several
	rangeRole       // bounds the sort key
)

func (p *planner) hash() string { return p.key.Hash[0].Name }

// sort returns the name of the sort key, empty if there is none.
func (p *planner) sort() string {
	if len(p.key.Range) == 0 {
		return ""
	}
	return p.key.Range[0].Name
}

// role returns the use of a condition without AND, OR and NOT.
func (p *planner) role(n *expr.Node) role {
	name, constant := subject(n)
	switch {
	case !constant:
	case name == p.hash() && (n.Kind == expr.In || n.Kind == expr.Compare && n.Op == expr.Equal):
		return hashRole
	case name == p.sort() && len(p.key.Range) > 0 && !(n.Kind == expr.Compare && n.Op == expr.NotEqual):
		return rangeRole
	}
	return filterRole
}

// subject returns the attribute of a condition, if all other operands are constant and the
// condition is of a kind that key conditions support.
func subject(n *expr.Node) (name string, constant bool) {
	args := n.Args
	switch n.Kind {
	case expr.Compare:
		if args[0].Kind == expr.ValueOperand {
			args = []*expr.Operand{args[1], args[0]}
		}
	case expr.Between, expr.In:
	case expr.Call:
		if n.Function != expr.BeginsWith {
			return "", false
		}
	default:
		return "", false
	}
	for _, a := range args[1:] {
		if a.Kind != expr.ValueOperand {
			return "", false
		}
	}
	if args[0].Kind != expr.PathOperand || len(args[0].Path) != 1 {
		return "", false
	}
	return args[0].Path[0].Name, true
}

// usesKey reports whether a condition has a key condition.
func (p *planner) usesKey(n *expr.Node) bool {
	if n.Kind == expr.And || n.Kind == expr.Or {
		return slices.ContainsFunc(n.Nodes, p.usesKey)
	}
	return p.role(n) != filterRole
}

// fixesPartition reports whether a condition fixes partitions in each of its branches.
func (p *planner) fixesPartition(n *expr.Node) bool {
	switch n.Kind {
	case expr.And:
		return slices.ContainsFunc(n.Nodes, p.fixesPartition)
	case expr.Or:
		return !slices.ContainsFunc(n.Nodes, func(sub *expr.Node) bool { return !p.fixesPartition(sub) })
	}
	return p.role(n) == hashRole
}

// count returns the number of reads that a condition is split into, or some number above the
// limit.
func (p *planner) count(n *expr.Node) int {
	if !p.usesKey(n) {
		return 1
	}
	total := 1
	switch n.Kind {
	case expr.And:
		for _, sub := range n.Nodes {
			total = min(total*p.count(sub), maxReads+1)
		}
	case expr.Or:
		total = 0
		for _, sub := range n.Nodes {
			total = min(total+p.count(sub), maxReads+1)
		}
	case expr.In:
		total = len(n.Args) - 1
	}
	return total
}

// branches splits a condition. count has bounded the number of branches.
func (p *planner) branches(n *expr.Node) []branch {
	if !p.usesKey(n) {
		return []branch{{filters: []*expr.Node{n}}}
	}
	var list []branch
	switch n.Kind {
	case expr.And:
		list = []branch{{}}
		for _, sub := range n.Nodes {
			list = product(list, p.branches(sub))
		}
	case expr.Or:
		for _, sub := range n.Nodes {
			list = append(list, p.branches(sub)...)
		}
	case expr.In:
		for _, a := range n.Args[1:] {
			list = append(list, p.leaf(&expr.Node{Kind: expr.Compare, Op: expr.Equal, Args: []*expr.Operand{n.Args[0], a}}))
		}
	default:
		list = []branch{p.leaf(n)}
	}
	return list
}

func (p *planner) leaf(n *expr.Node) branch {
	if p.role(n) == rangeRole {
		return branch{ranges: []*expr.Node{n}}
	}
	_, v := n.Equality()
	return branch{hash: []*value.Value{v}}
}

// product combines each branch of a with each branch of b.
func product(a, b []branch) []branch {
	list := make([]branch, 0, len(a)*len(b))
	for i := range a {
		for j := range b {
			list = append(list, branch{
				hash:    append(append([]*value.Value(nil), a[i].hash...), b[j].hash...),
				ranges:  append(append([]*expr.Node(nil), a[i].ranges...), b[j].ranges...),
				filters: append(append([]*expr.Node(nil), a[i].filters...), b[j].filters...),
			})
		}
	}
	return list
}

// negates reports whether the branch excludes values of the sort key, which bounds can't
// express.
func (b *branch) negates(sort string) bool {
	for _, n := range b.filters {
		if n.Kind != expr.Not && !(n.Kind == expr.Compare && n.Op == expr.NotEqual) {
			continue
		}
		for _, path := range (&expr.Condition{Root: n}).Paths() {
			if path[0].Name == sort {
				return true
			}
		}
	}
	return false
}

// check checks the constants of the branch against the key.
func (b *branch) check(key *catalog.Key, index string) error {
	for _, v := range b.hash {
		if err := checkSelectKey(key.Hash[0], v, index); err != nil {
			return err
		}
	}
	for _, n := range b.ranges {
		for _, a := range n.Args {
			if a.Kind != expr.ValueOperand {
				continue
			}
			if err := checkSelectKey(key.Range[0], a.Value, index); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSelectKey is checkStatementKey for the key of an index as well.
func checkSelectKey(a catalog.Attribute, v *value.Value, index string) error {
	if err := checkStatementKey(a, v); err == nil || index == "" || !isEmpty(v) {
		return err
	}
	return wire.Invalid("%sA value specified for a secondary index key is not supported. %s IndexName: %s, IndexKey: %s", emptyKeyPrefix, emptyValueName(v), index, a.Name)
}

// mirrored maps comparators to those with exchanged operands.
var mirrored = map[expr.Comparator]expr.Comparator{expr.Equal: expr.Equal, expr.Less: expr.Greater, expr.LessEqual: expr.GreaterEqual,
	expr.Greater: expr.Less, expr.GreaterEqual: expr.LessEqual}

var keyOps = map[expr.Comparator]expr.KeyOp{expr.Less: expr.KeyLess, expr.LessEqual: expr.KeyLessEqual, expr.Greater: expr.KeyGreater, expr.GreaterEqual: expr.KeyGreaterEqual}

// keyRange returns the key range of a condition on the sort key.
func keyRange(hash *value.Value, n *expr.Node) *expr.KeyRange {
	r := &expr.KeyRange{Hash: []value.Value{*hash}}
	switch n.Kind {
	case expr.Between:
		r.Op, r.A, r.B = expr.KeyBetween, *n.Args[1].Value, *n.Args[2].Value
	case expr.Call:
		r.Op, r.A = expr.KeyBeginsWith, *n.Args[1].Value
	default:
		op, v := n.Op, n.Args[1].Value
		if n.Args[0].Kind == expr.ValueOperand {
			op, v = mirrored[op], n.Args[0].Value
		}
		if op == expr.Equal {
			r.Range = []value.Value{*v}
		} else {
			r.Op, r.A = keyOps[op], *v
		}
	}
	return r
}
