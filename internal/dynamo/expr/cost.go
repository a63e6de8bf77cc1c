package expr

import "strconv"

// The costs of the parts of an update in bytes, as measured at the service. An update as a
// whole must not cost more than the largest item. The cost is that of the request: it is the
// same for every item.
const (
	updateCost     = 3
	writeCost      = 19 // SET, ADD
	removalCost    = 1  // REMOVE, DELETE
	targetStepCost = 4  // a step of a target after the first
	pathCost       = 1
	pathStepCost   = 14
	sumCost        = 34
	differenceCost = 37
	listAppendCost = 37
	ifNotExistCost = 39
)

// Cost returns the cost of the update.
func (u *Update) Cost() int {
	cost := updateCost
	for i := range u.Actions {
		cost += u.Actions[i].cost()
	}
	return cost
}

func (a *Action) cost() int {
	target := 0
	for i, s := range a.Path {
		target += s.length()
		if i > 0 {
			target += targetStepCost
		}
	}
	if a.Clause == Set || a.Clause == Add {
		return writeCost + target + a.Value.cost()
	}
	return removalCost + target
}

// cost returns the cost of an operand. It does not depend on the value at a path.
func (o *Operand) cost() int {
	switch o.Kind {
	case ValueOperand:
		return o.Value.Size()
	case PathOperand:
		cost := pathCost
		for _, s := range o.Path {
			cost += pathStepCost + s.length()
		}
		return cost
	}
	cost := 0
	switch {
	case o.Kind == SumOperand:
		cost = sumCost
	case o.Kind == DifferenceOperand:
		cost = differenceCost
	case o.Function == ListAppend:
		cost = listAppendCost
	case o.Function == IfNotExists:
		cost = ifNotExistCost
	}
	for _, arg := range o.Args {
		cost += arg.cost()
	}
	return cost
}

// length returns the length of a name or of an index's digits.
func (s Step) length() int {
	if s.Index >= 0 {
		return len(strconv.Itoa(s.Index))
	}
	return len(s.Name)
}
