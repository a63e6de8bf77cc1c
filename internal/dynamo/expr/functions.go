package expr

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// signature is what can be said of a function's use without an item.
type signature struct {
	function Function
	update   bool // for updates; the others are for conditions
	boolean  bool
	args     int
	path     bool   // the first argument has to be a path
	types    string // types that a constant argument may have; any if empty
}

var signatures = []signature{
	{function: AttributeExists, boolean: true, args: 1, path: true},
	{function: AttributeNotExists, boolean: true, args: 1, path: true},
	{function: AttributeType, boolean: true, args: 2},
	{function: BeginsWith, boolean: true, args: 2, types: " S B "},
	{function: Contains, boolean: true, args: 2},
	{function: Size, args: 1, types: " S B SS NS BS L M "},
	{function: IfNotExists, update: true, args: 2, path: true},
	{function: ListAppend, update: true, args: 2, types: " L "},
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

// checkCall notes what is wrong with a function whatever the item is.
func (p *parser) checkCall(o *Operand) {
	s := findSignature(o.Function)
	name := string(o.Function)
	switch {
	case s == nil || s.update != (p.which == "Update"):
		p.fault(faultFunction, "Invalid function name; function: "+name)
		return
	case len(o.Args) != s.args:
		p.wrongCount(name, len(o.Args))
		return
	case s.path && o.Args[0].Kind != PathOperand:
		p.fault(faultType, "Operator or function requires a document path; operator or function: "+name)
		return
	case o.Function == AttributeType:
		p.checkTypeName(o.Args[1])
		return
	}
	if len(o.Args) == 2 && o.Function != IfNotExists && o.Function != ListAppend {
		p.checkDistinct(name, o.Args[0], o.Args[1])
	}
	for _, arg := range o.Args {
		if typ := staticType(arg); typ != "" && s.types != "" && !bytes.Contains([]byte(s.types), []byte(" "+typ+" ")) {
			p.wrongType(name, typ)
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

// typeNames are the values that attribute_type's second operand may have.
var typeNames = []string{"B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"}

func (p *parser) checkTypeName(o *Operand) {
	switch typ := staticType(o); {
	case o.Kind != ValueOperand:
		p.wrongType(string(AttributeType), "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
	case typ == "S":
		_, v, _ := wire.Attribute(o.Value)
		name, ok := wire.AppendExact(nil, v)
		if !ok || !slices.Contains(typeNames, string(name)) {
			p.fault(faultType, "Invalid attribute type name found; type: "+string(name)+
				", valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}")
		}
	case typ != "":
		p.wrongType(string(AttributeType), typ)
	}
}

// staticType is the type that an operand has whatever the item is, or "".
func staticType(o *Operand) string {
	switch o.Kind {
	case ValueOperand:
		typ, _, ok := wire.Attribute(o.Value)
		if ok {
			return string(typ)
		}
	case CallOperand:
		switch o.Function {
		case Size:
			return "N"
		case ListAppend:
			return "L"
		}
	case SumOperand, DifferenceOperand:
		return "N"
	}
	return ""
}

// checkDistinct notes a path that is related to itself.
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
