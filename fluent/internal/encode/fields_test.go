package encode

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// Types to be embedded. Each is embedded by one above it.
type (
	Inner struct {
		A, B int
		C    string
	}
	Other  struct{ B, D int }
	lower  struct{ E, f int }
	Deep   struct{ *Middle }
	Middle struct {
		lower
		*Inner
		G int `json:"g"`
	}
	Count   int
	tiny    int
	Selfish struct {
		*Selfish
		H int
	}
	LeftSide  struct{ Inner }
	RightSide struct{ Inner }
)

// TestFieldsLikeJSON compares with encoding/json, whose rules the fields follow.
func TestFieldsLikeJSON(t *testing.T) {
	f := func(v any) {
		t.Helper()
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(j, &want); err != nil {
			t.Fatal(err)
		}
		if j, err = json.Marshal(want); err != nil { // with keys sorted
			t.Fatal(err)
		}
		b, err := Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := text(b); err != nil || got != string(j) {
			t.Fatalf("got  %s, %v\nwant %s", got, err, j)
		}
	}
	in := Inner{1, 2, "c"}
	f(in)
	f(struct{ Inner }{in})
	f(struct{ *Inner }{&in})
	f(struct{ *Inner }{})
	f(struct {
		Inner
		Other
	}{in, Other{3, 4}}) // B twice at one level: none
	f(struct {
		Inner
		B int
	}{in, 5}) // the outer B
	f(struct {
		Inner
		Other
		X int `json:"B"`
	}{in, Other{3, 4}, 6})
	f(struct {
		A int
		X int `json:"A"`
	}{1, 2}) // the one with the tag
	number := reflect.TypeFor[int]()
	f(reflect.New(reflect.StructOf([]reflect.StructField{ // as a literal, vet would complain
		{Name: "X", Type: number, Tag: `json:"A"`},
		{Name: "Y", Type: number, Tag: `json:"A"`},
		{Name: "Z", Type: number},
	})).Interface()) // only Z
	f(struct {
		Inner `json:"inner"`
		Other
	}{in, Other{3, 4}})
	f(Deep{&Middle{lower{1, 2}, &in, 3}})
	f(&Deep{&Middle{lower{1, 2}, nil, 3}})
	f(Deep{})
	f(struct{ lower }{lower{1, 2}})
	f(struct{ *lower }{&lower{1, 2}})
	f(struct {
		Count
		tiny
	}{3, 4})
	f(Selfish{&Selfish{nil, 1}, 2})
	f(struct {
		LeftSide
		RightSide
	}{}) // all of Inner twice
	f(struct {
		LeftSide
		RightSide
		A int
	}{A: 1})
	f(struct {
		A int `json:"-"`
		C int `json:",omitempty"`
		D int `json:"é,unknown"`
		E int `other:"x"`
	}{1, 0, 4, 5})

	zero, one := 0, 1
	type options struct {
		B  bool           `json:",omitempty"`
		I  int            `json:",omitempty"`
		U  uint8          `json:",omitempty"`
		F  float64        `json:",omitempty"`
		S  string         `json:",omitempty"`
		P  *int           `json:",omitempty"`
		N  any            `json:",omitempty"`
		L  []int          `json:",omitempty"`
		M  map[string]int `json:",omitempty"`
		A  [0]int         `json:",omitempty"`
		St Inner          `json:",omitempty"`
		T  time.Time      `json:",omitempty"`
		ZT time.Time      `json:",omitzero"`
		ZP *time.Time     `json:",omitzero"`
		ZS Inner          `json:",omitzero"`
		ZL []int          `json:",omitzero"`
		ZI zeroer         `json:",omitzero"`
		ZV pointZeroer    `json:",omitzero"`
		Z2 string         `json:",omitzero,omitempty"`
		Z3 []int          `json:",omitempty,omitzero"`
	}
	empty, full := options{}, options{true, 1, 2, 3.5, "s", &zero, 0, []int{0}, map[string]int{"": 0}, [0]int{}, in, time.Unix(1, 2).UTC(),
		time.Unix(3, 4).UTC(), &time.Time{}, in, []int{}, time.Time{}, pointZeroer{9}, "z", []int{}}
	f(&empty)
	f(&full)
	full.P, full.ZI, full.ZV = &one, time.Unix(5, 6).UTC(), pointZeroer{1}
	f(&full)
	f(&struct {
		Fifteen, A, B, C, D, E, F, G, H, I, J, K, L, M, N int
		Sixteen                                           int `json:",omitempty"`
	}{})
	f(struct {
		Fifteen, A, B, C, D, E, F, G, H, I, J, K, L, M, N int
		Sixteen                                           int `json:",omitempty"`
	}{Sixteen: 16})
}

// pointZeroer is zero if it's 9, with a pointer method.
type pointZeroer struct{ N int }

func (p *pointZeroer) IsZero() bool { return p.N == 9 }

// badZeroer panics.
type badZeroer struct{ N int }

func (badZeroer) IsZero() bool { panic("don't know") }

// TestFieldsBeyondJSON covers rules that encoding/json does not have.
func TestFieldsBeyondJSON(t *testing.T) {
	f := func(v any, want string) {
		t.Helper()
		b, err := Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := text(b); err != nil || got != want {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
	in := Inner{1, 2, "c"}
	f(struct {
		A int `fluent:"f" msg:"m2" json:"j0"`
		B int `msg:"m" json:"j1"`
		C int `json:"j"`
		D int `fluent:",omitempty" json:"j2"` // fluent counts alone
		E int `fluent:"-" json:"j3"`
		F int `msg:"-"`
		G int `fluent:"g" json:"-"`
		H int `fluent:"-,"` // the name
	}{1, 2, 3, 4, 5, 6, 7, 8}, `{"-":8,"D":4,"f":1,"g":7,"j":3,"m":2}`)
	f(struct {
		Named Inner  `fluent:"ignored,inline"`
		Ptr   *Other `fluent:",inline"`
	}{in, &Other{3, 4}}, `{"A":1,"C":"c","D":4}`)
	f(struct {
		Ptr *Other `fluent:",inline"`
		X   int
	}{}, `{"X":0}`)
	f(struct {
		A    int
		B    int            `fluent:"b,omitempty"`
		Rest map[string]any `fluent:",inline"`
		More map[name]int   `fluent:",inline"`
	}{1, 0, map[string]any{"A": 9, "b": 9, "x": "y"}, map[name]int{"n": 3}}, `{"A":1,"n":3,"x":"y"}`)
	f(&struct {
		Rest map[string]any `fluent:",inline"`
	}{}, `{}`)
	f(struct {
		Z badZeroer `fluent:",omitzero"`
	}{}, `{"Z":{"N":0}}`)
	f(struct {
		time.Time
		Extra error
		Inner // two with String, but one with AppendText: it's all promoted
	}{Time: time.Unix(0, 0).UTC()}, `"1970-01-01T00:00:00Z"`)
	f(struct {
		time.Time
		*Clock
	}{Time: time.Unix(0, 0).UTC()}, `{"Clock":null,"Time":"1970-01-01T00:00:00Z"}`)
}

// Clock has the same text methods as time.Time.
type Clock struct{}

func (Clock) MarshalText() ([]byte, error)        { return nil, nil }
func (Clock) AppendText(b []byte) ([]byte, error) { return b, nil }
