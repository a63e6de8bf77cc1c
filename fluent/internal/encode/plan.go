package encode

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
	"time"
)

// op says how the values of a type are written.
type op uint8

const (
	opRefuse op = iota
	opBool
	opInt
	opUint
	opFloat32
	opFloat64
	opString
	opTime
	opNumber
	opBytes
	opByteArray
	opList
	opMap
	opAnyMap // any map that converts to map[string]any
	opStruct
	opPointer
	opInterface
	opMarshal
	opError
	opAppendText
	opMarshalText
)

// plan is how the values of one type are written. Plans are complete and
// immutable before others see them.
type plan struct {
	op  op
	typ reflect.Type

	// needsPointer: it is the pointer to the type that has the method of op.
	needsPointer bool

	why    string      // opRefuse, if there is more to say than the type
	elem   *plan       // opList, opMap, opPointer
	key    *plan       // opMap
	pool   *sync.Pool  // opMap: of *mapScratch
	fields *structPlan // opStruct
}

// marshaler is what msgp generates, and others by its example.
type marshaler interface {
	MarshalMsg([]byte) ([]byte, error)
}

var (
	typeTime          = reflect.TypeFor[time.Time]()
	typeNumber        = reflect.TypeFor[json.Number]()
	typeAnyMap        = reflect.TypeFor[map[string]any]()
	typeMarshaler     = reflect.TypeFor[marshaler]()
	typeError         = reflect.TypeFor[error]()
	typeTextAppender  = reflect.TypeFor[encoding.TextAppender]()
	typeTextMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// plans holds the plan of each type seen: reflect.Type to *plan.
var plans sync.Map

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	b := builder{}
	p := b.plan(t)
	// Two goroutines may have made equal plans; that of the one is as good as
	// that of the other. None is published before all that it leads to is made,
	// which a type that contains itself makes the reason for a builder.
	for t, p := range b {
		plans.LoadOrStore(t, p)
	}
	return p
}

// builder holds the plans that are being made, by type.
type builder map[reflect.Type]*plan

func (b builder) plan(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	if p, ok := b[t]; ok {
		return p
	}
	p := &plan{typ: t}
	b[t] = p
	if !p.byType(t) && !p.byMethod(t) {
		b.byKind(p, t)
	}
	return p
}

// byType fills p for types that are special, and reports whether t is one.
func (p *plan) byType(t reflect.Type) bool {
	switch t {
	case typeTime:
		p.op = opTime
	case typeNumber:
		p.op = opNumber
	default:
		return false
	}
	return true
}

// byMethod fills p for types that have a method to write them with.
func (p *plan) byMethod(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false // it's the value inside that counts
	}
	pointer := reflect.PointerTo(t)
	for _, m := range []struct {
		iface reflect.Type
		op    op
	}{
		{typeMarshaler, opMarshal},
		{typeError, opError},
		{typeTextAppender, opAppendText},
		{typeTextMarshaler, opMarshalText},
	} {
		if pointer.Implements(m.iface) {
			p.op, p.needsPointer = m.op, !t.Implements(m.iface)
			return true
		}
		if t.Implements(m.iface) { // t is a pointer itself
			p.op = m.op
			return true
		}
	}
	return false
}

func (b builder) byKind(p *plan, t reflect.Type) {
	switch t.Kind() {
	case reflect.Bool:
		p.op = opBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.op = opInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.op = opUint
	case reflect.Float32:
		p.op = opFloat32
	case reflect.Float64:
		p.op = opFloat64
	case reflect.String:
		p.op = opString
	case reflect.Slice, reflect.Array:
		b.list(p, t)
	case reflect.Map:
		b.mapping(p, t)
	case reflect.Struct:
		p.op = opStruct
		p.fields = b.structPlan(t)
	case reflect.Pointer:
		p.op, p.elem = opPointer, b.plan(t.Elem())
	case reflect.Interface:
		p.op = opInterface
	}
}

func (b builder) list(p *plan, t reflect.Type) {
	p.op, p.elem = opList, b.plan(t.Elem())
	if t.Elem().Kind() != reflect.Uint8 || p.elem.op != opUint {
		return
	}
	if p.op = opBytes; t.Kind() == reflect.Array {
		p.op = opByteArray
	}
}

func (b builder) mapping(p *plan, t reflect.Type) {
	if t.ConvertibleTo(typeAnyMap) {
		p.op = opAnyMap
		return
	}
	p.op, p.key, p.elem = opMap, b.plan(t.Key()), b.plan(t.Elem())
	switch p.key.op {
	case opString, opInt, opUint, opInterface, opTime, opAppendText, opMarshalText:
	default:
		// What is of string kind is a key by its kind, whatever its methods.
		if t.Key().Kind() != reflect.String {
			p.op, p.why = opRefuse, "a map with keys of type "+t.Key().String()
		}
	}
	p.pool = scratchPool(t)
}

// inlined returns a plan for a map of which only the pairs are wanted. It is the
// field's own, not the one of the type.
func (b builder) inlined(t reflect.Type) *plan {
	if t.Kind() != reflect.Map || t.Key().Kind() != reflect.String {
		return &plan{typ: t, why: t.String() + " inline: it is neither a struct nor a map with text keys"}
	}
	return &plan{op: opMap, typ: t, key: b.plan(t.Key()), elem: b.plan(t.Elem()), pool: scratchPool(t)}
}
