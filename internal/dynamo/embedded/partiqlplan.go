package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// A SELECT is read by key if its WHERE clause names partitions whichever way its
// ORs turn out. It is taken apart into branches then, one for each way: what a
// branch asks of the key makes one read, and whatever else is asked filters.
// Otherwise all is read and filtered.

// maxReads is how many reads a SELECT may be taken apart into.
const maxReads = 50

var (
	errManyReads   = wire.Invalid("Too many decomposed read operations for a given query.")
	errOverlapping = wire.Invalid("Overlapping conditions with range keys are not supported in where clause")
)

// planner takes a condition apart by a key.
type planner struct {
	key *catalog.Key
}

// branch is one way in which the ORs of a condition turn out.
type branch struct {
	hash    []*value.Value // that the partition key is to equal
	ranges  []*expr.Node   // conditions of the sort key
	filters []*expr.Node
}

// role is what a part of a condition is for.
type role uint8

const (
	filterRole role = iota
	hashRole        // names one partition or several
	rangeRole       // bounds the sort key
)

func (p *planner) hash() string { return p.key.Hash[0].Name }

// sort is the name of the sort key, empty if there is none.
func (p *planner) sort() string {
	if len(p.key.Range) == 0 {
		return ""
	}
	return p.key.Range[0].Name
}

// role tells what a condition without AND, OR and NOT is for.
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

// subject returns the attribute that a condition is about, if all else in it is
// constant and it is of a kind that a key condition may be.
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

// usesKey tells whether a condition asks something of the key.
func (p *planner) usesKey(n *expr.Node) bool {
	if n.Kind == expr.And || n.Kind == expr.Or {
		for _, sub := range n.Nodes {
			if p.usesKey(sub) {
				return true
			}
		}
		return false
	}
	return p.role(n) != filterRole
}

// fixesPartition tells whether a condition names partitions in each of its branches.
func (p *planner) fixesPartition(n *expr.Node) bool {
	switch n.Kind {
	case expr.And:
		for _, sub := range n.Nodes {
			if p.fixesPartition(sub) {
				return true
			}
		}
		return false
	case expr.Or:
		for _, sub := range n.Nodes {
			if !p.fixesPartition(sub) {
				return false
			}
		}
		return true
	}
	return p.role(n) == hashRole
}

// count is how many reads a condition is taken apart into, or some number beyond
// the limit.
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

// branches takes a condition apart. count has bounded their number.
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
	_, v := equality(n)
	return branch{hash: []*value.Value{v}}
}

// product joins each branch of one list with each of the other.
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

// negates tells whether the branch asks of the sort key what it must not be, as
// no bounds can.
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

// check holds the constants of the branch against the key.
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
	return wire.Invalid("%sA value specified for a secondary index key is not supported. %s IndexName: %s, IndexKey: %s", emptyKeyPrefix, emptyWhat(v), index, a.Name)
}

// mirrored are the comparisons with their sides exchanged.
var mirrored = map[expr.Comparator]expr.Comparator{expr.Equal: expr.Equal, expr.Less: expr.Greater, expr.LessEqual: expr.GreaterEqual,
	expr.Greater: expr.Less, expr.GreaterEqual: expr.LessEqual}

var keyOps = map[expr.Comparator]expr.KeyOp{expr.Less: expr.KeyLess, expr.LessEqual: expr.KeyLessEqual, expr.Greater: expr.KeyGreater, expr.GreaterEqual: expr.KeyGreaterEqual}

// keyRange is a condition of the sort key as a Query has it.
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
