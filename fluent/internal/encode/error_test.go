package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type (
	refuser struct{ err error }
	rough   struct{} // these four panic
	rawText struct{}
	rawErr  struct{}
	rawApp  struct{}
	cycle   struct{ Next *cycle }
	ring    []any
	self    *self
)

func (r refuser) MarshalMsg([]byte) ([]byte, error)   { return nil, r.err }
func (r rough) MarshalMsg([]byte) ([]byte, error)     { panic("MarshalMsg's fault") }
func (r *rawText) MarshalText() ([]byte, error)       { panic("MarshalText's fault") }
func (r *rawApp) AppendText(b []byte) ([]byte, error) { panic("AppendText's fault") }
func (r *rawErr) Error() string                       { panic(errors.New("Error's fault")) }

func TestErrors(t *testing.T) {
	f := func(v any, want string) {
		t.Helper()
		b, err := AppendRecord([]byte("before"), v)
		if err == nil || err.Error() != "fluent: record"+want {
			t.Fatalf("got  %v\nwant fluent: record%s", err, want)
		}
		if string(b) != "before" {
			t.Fatalf("the slice is now %q", b)
		}
	}
	type user struct {
		Conn chan int `json:"conn"`
	}
	f(map[string]any{"user": user{}}, ".user.conn: can't encode chan int")
	f(map[string]any{"user": &user{}}, ".user.conn: can't encode chan int")
	f(&struct {
		A int
		U []user `json:"users,omitempty"`
	}{U: make([]user, 2)}, ".users[0].conn: can't encode chan int")
	f(map[string]any{"list": []any{1, 2, func() {}}}, ".list[2]: can't encode func()")
	f(map[string]any{"c": complex(1, 1)}, ".c: can't encode complex128")
	f(map[level]any{-3: make(chan bool)}, ".-3: can't encode chan bool")
	f(map[any]any{level(4): make(chan bool)}, ".4: can't encode chan bool")
	f(map[string]any{"m": map[float64]int{1: 1}}, ".m: can't encode a map with keys of type float64")
	f(map[any]any{1.5: 1}, ": can't encode float64 as a map's key")
	f(map[any]any{nil: 1}, ": can't encode nil as a map's key")
	f(map[any]any{(*onlyPtr)(nil): 1}, ": can't encode a nil pointer as a map's key")
	f(map[string]any{"n": json.Number("1e999")}, `.n: can't encode json.Number "1e999"`)
	f(map[string]any{"n": json.Number("Inf")}, `.n: can't encode json.Number "Inf"`)
	f(map[string]any{"n": json.Number("")}, `.n: can't encode json.Number ""`)
	f(struct {
		X int `fluent:",inline"`
	}{}, ".X: can't encode int inline: only structs and maps with text keys can be inlined")
	f(struct {
		M map[string]chan int `fluent:",inline"`
	}{map[string]chan int{"k": nil}}, ".k: can't encode chan int")

	f(refuser{errors.New("no")}, ": MarshalMsg of encode.refuser: no")
	f(map[string]any{"r": rough{}}, ".r: MarshalMsg of encode.rough panicked: MarshalMsg's fault")
	f(map[string]any{"r": &rawText{}}, ".r: MarshalText of *encode.rawText panicked: MarshalText's fault")
	f(map[string]any{"r": rawApp{}}, ".r: AppendText of *encode.rawApp panicked: AppendText's fault")
	f(map[string]any{"r": &rawErr{}}, ".r: Error of *encode.rawErr panicked: Error's fault")
	f(map[string]any{"p": packed{nil}}, ".p: MarshalMsg of encode.packed: its 0 bytes are not one MessagePack value")
	f(map[string]any{"p": packed{[]byte{1, 2}}}, ".p: MarshalMsg of encode.packed: its 2 bytes are not one MessagePack value")
	f(map[string]any{"p": packed{[]byte{0x92, 2}}}, ".p: MarshalMsg of encode.packed: its 2 bytes are not one MessagePack value")
	f(map[string]any{"p": packed{[]byte{0xc1}}}, ".p: MarshalMsg of encode.packed: its 1 bytes are not one MessagePack value")
}

func TestErrorUnwraps(t *testing.T) {
	cause := errors.New("cause")
	_, err := Append(nil, map[string]any{"a": []any{refuser{cause}}})
	if !errors.Is(err, cause) {
		t.Fatalf("%v doesn't wrap its cause", err)
	}
	if e := (*Error)(nil); !errors.As(err, &e) {
		t.Fatalf("%T is no *Error", err)
	}
}

func TestCycles(t *testing.T) {
	f := func(v any, path string) {
		t.Helper()
		b, err := Append(nil, v)
		want := "fluent: record" + path + ": can't encode values nested more than 100 deep"
		if err == nil || err.Error() != want {
			t.Fatalf("got  %v\nwant %s", err, want)
		}
		if len(b) != 0 {
			t.Fatalf("%d bytes remain", len(b))
		}
	}
	c := &cycle{}
	c.Next = c
	f(c, strings.Repeat(".Next", 10)+"...")
	m := map[string]any{}
	m["m"] = m
	f(m, strings.Repeat(".m", 10)+"...")
	named := fields{}
	named["m"] = named
	f(named, strings.Repeat(".m", 10)+"...")
	r := ring{nil}
	r[0] = r
	f(r, strings.Repeat("[0]", 10)+"...")
	l := []any{nil}
	l[0] = l
	f(l, strings.Repeat("[0]", 10)+"...")
	var s self
	s = &s
	f(s, "")
	byInt := map[int]any{}
	byInt[1] = byInt
	f(byInt, strings.Repeat(".1", 10)+"...")
	var i any
	i = &i
	f(i, "")
}

func TestDepth(t *testing.T) {
	nested := func(n int) any {
		v := any("leaf")
		for range n {
			v = []any{v}
		}
		return v
	}
	if _, err := Append(nil, nested(maxDepth)); err != nil {
		t.Errorf("%d deep: %v", maxDepth, err)
	}
	deep := func(n int) packed {
		return packed{append(bytes.Repeat([]byte{0x91}, n), 0)}
	}
	if _, err := Append(nil, []any{deep(maxDepth - 1)}); err != nil {
		t.Errorf("%d deep inside an array: %v", maxDepth-1, err)
	}
	if _, err := Append(nil, []any{deep(maxDepth)}); err == nil {
		t.Errorf("%d deep inside an array: no error", maxDepth)
	}
	if _, err := Append(nil, nested(maxDepth+1)); err == nil {
		t.Errorf("%d deep: no error", maxDepth+1)
	}
}
