package encode

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	"github.com/tinylib/msgp/msgp"
	"pgregory.net/rapid"
)

// cell is a struct that can hold anything.
type cell struct {
	Name  string         `fluent:"name,omitempty"`
	Value any            `fluent:"value"`
	Next  *cell          `fluent:"next,omitempty"`
	More  map[int8]any   `fluent:"more,omitempty"`
	Rest  map[string]any `fluent:",inline"`
}

// drawn is a value and its decoded form.
type drawn struct{ value, want any }

// draw makes a value of at most depth levels.
func draw(r *rapid.T, depth int) drawn {
	kinds := 8
	if depth > 0 {
		kinds = 14
	}
	switch rapid.IntRange(0, kinds-1).Draw(r, "kind") {
	case 0:
		return drawn{nil, nil}
	case 1:
		v := rapid.Bool().Draw(r, "bool")
		return drawn{v, v}
	case 2:
		v := rapid.Int64().Draw(r, "int64")
		return drawn{v, v}
	case 3:
		v := rapid.Int16().Draw(r, "int16")
		return drawn{&v, int64(v)}
	case 4:
		v := rapid.Uint64().Draw(r, "uint64")
		return drawn{v, v}
	case 5:
		v := rapid.Float64().Draw(r, "float64")
		return drawn{v, v}
	case 6:
		v := rapid.StringN(0, 300, 1000).Draw(r, "string")
		return drawn{v, v}
	case 7:
		v := rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")
		return drawn{blob(v), append([]byte{}, v...)}
	case 8, 9:
		return drawList(r, depth)
	case 10, 11, 12:
		return drawMap(r, depth)
	}
	return drawCell(r, depth)
}

func drawList(r *rapid.T, depth int) drawn {
	values, want := []any{}, []any{}
	for range rapid.IntRange(0, 20).Draw(r, "len") {
		d := draw(r, depth-1)
		values, want = append(values, d.value), append(want, d.want)
	}
	return drawn{values, want}
}

func drawMap(r *rapid.T, depth int) drawn {
	values, want := map[string]any{}, map[string]any{}
	for range rapid.IntRange(0, 20).Draw(r, "len") {
		k, d := rapid.String().Draw(r, "key"), draw(r, depth-1)
		values[k], want[k] = d.value, d.want
	}
	if rapid.Bool().Draw(r, "named") {
		return drawn{fields(values), want}
	}
	return drawn{values, want}
}

func drawCell(r *rapid.T, depth int) drawn {
	d := draw(r, depth-1)
	c, want := &cell{Value: d.value}, map[string]any{"value": d.want}
	if c.Name = rapid.String().Draw(r, "name"); c.Name != "" {
		want["name"] = c.Name
	}
	if rapid.Bool().Draw(r, "rest") {
		m := drawMap(r, 0)
		rest, ok := m.value.(map[string]any)
		if !ok {
			rest = m.value.(fields)
		}
		c.Rest = rest
		for k, v := range m.want.(map[string]any) {
			if k != "value" && k != "name" && k != "next" && k != "more" {
				want[k] = v
			}
		}
	}
	if rapid.Bool().Draw(r, "next") {
		inner := drawCell(r, 0)
		if next, ok := inner.value.(*cell); ok {
			c.Next, want["next"] = next, inner.want
		}
	}
	if rapid.Bool().Draw(r, "more") {
		d := draw(r, 0)
		c.More, want["more"] = map[int8]any{-7: d.value}, map[string]any{"-7": d.want}
	}
	if rapid.Bool().Draw(r, "byValue") {
		return drawn{*c, want}
	}
	return drawn{c, want}
}

// sameValue compares values: integers by their number, floats by their bits.
func sameValue(got, want any) bool {
	switch w := want.(type) {
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !sameValue(g[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			if v, ok := g[k]; !ok || !sameValue(v, w[k]) {
				return false
			}
		}
		return true
	case []byte:
		g, ok := got.([]byte)
		return ok && bytes.Equal(g, w)
	case float64:
		g, ok := got.(float64)
		return ok && math.Float64bits(g) == math.Float64bits(w)
	}
	return reflect.DeepEqual(integer(got), integer(want))
}

// integer makes one type of all integers that fit in it.
func integer(v any) any {
	if u, ok := v.(uint64); ok && u <= math.MaxInt64 {
		return int64(u)
	}
	return v
}

func checkRoundTrip(r *rapid.T) {
	d := draw(r, 4)
	prefix := rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(r, "prefix")
	b, err := Append(prefix[:len(prefix):len(prefix)], d.value)
	if err != nil {
		r.Fatalf("%#v: %v", d.value, err)
	}
	if string(b[:len(prefix)]) != string(prefix) {
		r.Fatal("the prefix has changed")
	}
	got, rest, err := msgp.ReadIntfBytes(b[len(prefix):])
	if err != nil || len(rest) != 0 {
		r.Fatalf("%v, %d bytes more", err, len(rest))
	}
	if !sameValue(got, d.want) {
		r.Fatalf("got  %#v\nwant %#v", got, d.want)
	}
}

func TestRoundTrip(t *testing.T) { rapid.Check(t, checkRoundTrip) }

func FuzzRoundTrip(f *testing.F) {
	f.Add(binary.BigEndian.AppendUint64(nil, 1))
	f.Fuzz(rapid.MakeFuzz(checkRoundTrip))
}
