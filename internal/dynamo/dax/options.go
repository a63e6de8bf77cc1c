package dax

import (
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/tree"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The keys of the map of options, which is the last argument of the operations.
const (
	optProjection = iota
	optNames      // of placeholders in the text of an expression, which nobody needs
	optConsistent
	optCapacity
	optCondition
	optValues // as optNames
	optMetrics
	optReturns
	optUpdate
	optStart
	optFilter
	optIndex
	optKeyCondition
	optLimit
	optForward
	optSelect
	optSegment
	optSegments
	optItems
	optToken
	optCount
)

// options are an operation's options as they came. Of one that came twice the last
// counts: a client sends the text of a condition before the condition.
type options struct {
	present uint32 // which there are
	value   [optCount][]byte
}

// parse takes the map apart, and fails for an option that is not known or not one of those
// that are wanted: to do something else than what is asked for would be worse.
func (o *options) parse(r *cbor.Reader, wanted uint32) {
	o.clear()
	if r.Null() {
		return
	}
	n := r.Map()
	for r.More(&n) {
		key := r.Int()
		value := r.Raw()
		switch {
		case r.Err() != nil:
			return
		case key == optNames || key == optValues:
		case key < 0 || key >= optCount || wanted&(1<<key) == 0:
			if len(value) != 1 || value[0] != null {
				r.Fail("option %d", key)
			}
		case len(value) == 1 && value[0] == null:
			o.present &^= 1 << key
			o.value[key] = nil
		default:
			o.present |= 1 << key
			o.value[key] = value
		}
	}
}

// null is what an option is that is not given.
const null = 0xf6

// clear lets go of all.
func (o *options) clear() {
	if o.present != 0 {
		*o = options{}
	}
}

// has tells whether an option is given.
func (o *options) has(key int) bool { return o.present&(1<<key) != 0 }

func optionSet(keys ...int) (set uint32) {
	for _, k := range keys {
		set |= 1 << k
	}
	return set
}

// bytes is an option that is a byte string; ok is false if it is not given.
func (o *options) bytes(r *cbor.Reader, key int) (b []byte, ok bool) {
	if !o.has(key) {
		return nil, false
	}
	one := cbor.NewReader(o.value[key])
	if one.Kind() == cbor.Text {
		b = one.Text()
	} else {
		b = one.Bytes()
	}
	if err := one.Close(); err != nil {
		r.Fail("option %d: %v", key, err)
	}
	return b, true
}

// number is an option that is an integer, or a flag; ok is false if it is not given.
func (o *options) number(r *cbor.Reader, key int) (v int64, ok bool) {
	if !o.has(key) {
		return 0, false
	}
	one := cbor.NewReader(o.value[key])
	switch one.Kind() {
	case cbor.True, cbor.False:
		if one.Bool() {
			v = 1
		}
	default:
		v = one.Int()
	}
	if err := one.Close(); err != nil {
		r.Fail("option %d: %v", key, err)
	}
	return v, true
}

// flag is an option that is true or not.
func (o *options) flag(r *cbor.Reader, key int) bool {
	v, _ := o.number(r, key)
	return v != 0
}

// enum is an option whose value is one of some words, by number. Number 0 stands for what
// holds without the option.
func (o *options) enum(r *cbor.Reader, key int, words []string) string {
	v, _ := o.number(r, key)
	if v < 0 || v >= int64(len(words)) {
		r.Fail("value %d of option %d", v, key)
		return ""
	}
	return words[v]
}

var (
	capacities   = []string{"", "TOTAL", "INDEXES"}
	metricsModes = []string{"", "SIZE"}
	returnModes  = []string{"", "", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"}
)

// appendMember appends a member of a JSON object that is a word, if there is one.
func appendMember(dst []byte, name, word string) []byte {
	if word == "" {
		return dst
	}
	dst = append(append(dst, `,"`...), name...)
	return append(append(append(dst, `":"`...), word...), '"')
}

// appendExpression appends a member that is an expression: what f makes of it.
func appendExpression(dst []byte, name string, f func(dst []byte) ([]byte, error)) ([]byte, error) {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	dst, err := f(dst)
	return append(dst, '"'), err
}

// appendCondition appends a member that is a condition, if the option is given.
func (o *options) appendCondition(dst []byte, r *cbor.Reader, key int, name string, w *tree.Placeholders, prefix byte) []byte {
	b, ok := o.bytes(r, key)
	if !ok || r.Err() != nil {
		return dst
	}
	dst, err := appendExpression(dst, name, func(dst []byte) ([]byte, error) { return w.Condition(dst, b, prefix) })
	if err != nil {
		r.Fail("%v", err)
	}
	return dst
}

// appendPlaceholders appends what stands for the placeholders of a request's expressions.
func appendPlaceholders(dst []byte, r *cbor.Reader, w *tree.Placeholders) []byte {
	if w.HasNames() {
		dst = w.AppendNames(append(dst, `,"ExpressionAttributeNames":`...))
	}
	if w.HasValues() {
		var err error
		if dst, err = w.AppendValues(append(dst, `,"ExpressionAttributeValues":`...)); err != nil {
			r.Fail("%v", err)
		}
	}
	return dst
}

// appendTable begins a request's object.
func appendTable(dst, table []byte) []byte {
	return wire.AppendQuoted(append(dst, `{"TableName":`...), table)
}
