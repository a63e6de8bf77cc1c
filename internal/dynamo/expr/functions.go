package expr

import (
	"slices"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// signature has the rules for the use of a function that don't depend on an item.
type signature struct {
	function Function
	update   bool // for updates; the others are for conditions
	boolean  bool
	outer    bool // not allowed as an operand
	args     int
	path     bool         // the first argument must be a path
	distinct bool         // the first argument must differ from the second
	types    []value.Type // types that a constant argument may have; any if nil
}

var signatures = []signature{
	{function: AttributeExists, boolean: true, args: 1, path: true},
	{function: AttributeNotExists, boolean: true, args: 1, path: true},
	{function: AttributeType, boolean: true, args: 2, distinct: true},
	{function: BeginsWith, boolean: true, args: 2, distinct: true, types: []value.Type{value.String, value.Binary}},
	{function: Contains, boolean: true, args: 2, distinct: true},
	{function: Size, args: 1, types: []value.Type{value.String, value.Binary, value.StringSet, value.NumberSet,
		value.BinarySet, value.List, value.Map}},
	{function: IfNotExists, update: true, args: 2, path: true, distinct: true},
	{function: ListAppend, update: true, outer: true, args: 2, types: []value.Type{value.List}},
}

func findSignature(f Function) *signature {
	for i := range signatures {
		if signatures[i].function == f {
			return &signatures[i]
		}
	}
	return nil
}

func isBoolean(f Function) bool {
	s := findSignature(f)
	return s != nil && s.boolean
}

// checkInner records a fault for a function that must not be an operand.
func (p *parser) checkInner(o *Operand) {
	if s := findSignature(o.Function); s != nil && s.outer && s.update == p.isUpdate() {
		p.misused(o)
	}
}

// checkCall records the faults of a call that don't depend on the item.
func (p *parser) checkCall(o *Operand) {
	s := findSignature(o.Function)
	name := string(o.Function)
	for _, arg := range o.Args {
		p.checkInner(arg)
	}
	switch {
	case s == nil:
		p.wordFault(o.at, "Invalid function name; function: "+name)
		return
	case s.update != p.isUpdate():
		kind := "a condition"
		if p.isUpdate() {
			kind = "an update"
		}
		p.wordFault(o.at, "The function is not allowed in "+kind+" expression; function: "+name)
		return
	case len(o.Args) != s.args:
		p.wrongCount(name, len(o.Args))
		return
	case s.path && o.Args[0].Kind != PathOperand:
		p.fault(faultType, "Operator or function requires a document path; operator or function: "+name)
		return
	}
	if s.distinct {
		p.checkDistinct(name, o.Args[0], o.Args[1])
	}
	if o.Function == AttributeType {
		p.checkTypeName(o.Args[1])
		return
	}
	for _, arg := range o.Args {
		if typ := arg.StaticType(); typ != 0 && s.types != nil && !slices.Contains(s.types, typ) {
			p.wrongType(name, typ.String())
		}
	}
}

func (p *parser) wrongCount(operator string, n int) {
	p.fault(faultCount, "Incorrect number of operands for operator or function; operator or function: "+operator+
		", number of operands: "+strconv.Itoa(n))
}

func (p *parser) wrongType(operator, typ string) {
	p.fault(faultType, "Incorrect operand type for operator or function; operator or function: "+operator+
		", operand type: "+typ)
}

// typeNames are the allowed values of attribute_type's second operand.
var typeNames = []string{"B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"}

func (p *parser) checkTypeName(o *Operand) {
	switch typ := o.StaticType(); {
	case typ == 0:
		p.wrongType(string(AttributeType), "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
	case typ != value.String:
		p.wrongType(string(AttributeType), typ.String())
	case !slices.Contains(typeNames, string(o.Value.Text)):
		p.fault(faultType, "Invalid attribute type name found; type: "+string(o.Value.Text)+
			", valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}")
	}
}

// StaticType returns the operand's type, or 0 if it depends on the item or is unknown.
func (o *Operand) StaticType() value.Type {
	switch o.Kind {
	case ValueOperand:
		if o.Value != nil {
			return o.Value.Type
		}
	case CallOperand:
		switch o.Function {
		case Size:
			return value.Number
		case ListAppend:
			return value.List
		}
	case SumOperand, DifferenceOperand:
		return value.Number
	}
	return 0
}

// checkDistinct records a fault for a path that is compared with itself.
func (p *parser) checkDistinct(operator string, first *Operand, rest ...*Operand) {
	if first.Kind != PathOperand {
		return
	}
	for _, o := range rest {
		if o.Kind == PathOperand && slices.Equal(o.Path, first.Path) {
			p.fault(faultDistinct, "The first operand must be distinct from the remaining operands for this operator or function; operator: "+
				operator+", first operand: "+first.Path.String())
		}
	}
}
