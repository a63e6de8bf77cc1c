package dax

import (
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/tree"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The keys of the options map, which is the last argument of the operations.
const (
	optProjection = iota
	optNames      // placeholders of an expression's text, unused
	optConsistent
	optCapacity
	optCondition
	optValues // unused, as optNames
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

// options holds the encoded options of an operation. If an option is repeated, the last one
// is used: a client sends the text of a condition before the condition.
type options struct {
	present uint32 // bit set of the options present
	value   [optCount][]byte
}

// parse parses the map. It fails for an unknown option or one that isn't wanted, because
// ignoring an option could execute a different request.
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

// null is the value of an absent option.
const null = 0xf6

// clear removes all options.
func (o *options) clear() {
	if o.present != 0 {
		*o = options{}
	}
}

// has reports whether an option is present.
func (o *options) has(key int) bool { return o.present&(1<<key) != 0 }

func optionSet(keys ...int) (set uint32) {
	for _, k := range keys {
		set |= 1 << k
	}
	return set
}

// bytes returns a byte string option. ok is false if it is absent.
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

// number returns an integer or boolean option. ok is false if it is absent.
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

// flag reports whether an option is present and true.
func (o *options) flag(r *cbor.Reader, key int) bool {
	v, _ := o.number(r, key)
	return v != 0
}

// enum returns the word selected by an option from words. Word 0 is the default without the
// option.
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

// appendMember appends a member of a JSON object with the value word, unless that is empty.
func appendMember(dst []byte, name, word string) []byte {
	if word == "" {
		return dst
	}
	dst = append(append(dst, `,"`...), name...)
	return append(append(append(dst, `":"`...), word...), '"')
}

// appendExpression appends a member with an expression, which f appends.
func appendExpression(dst []byte, name string, f func(dst []byte) ([]byte, error)) ([]byte, error) {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	dst, err := f(dst)
	return append(dst, '"'), err
}

// appendCondition appends a member with a condition, if the option is present.
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

// appendPlaceholders appends the names and values of the placeholders in a request's
// expressions.
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

// appendTable begins the object of a request.
func appendTable(dst, table []byte) []byte {
	return wire.AppendQuoted(append(dst, `{"TableName":`...), table)
}
