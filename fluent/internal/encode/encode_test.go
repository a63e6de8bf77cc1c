package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"github.com/kasoku/kasoku/fluent/internal/race"
)

// text renders one encoded value, decoded by msgp, as JSON with sorted keys.
func text(b []byte) (string, error) {
	v, rest, err := msgp.ReadIntfBytes(b)
	if err != nil || len(rest) != 0 {
		return "", fmt.Errorf("% x: %w, %d bytes more", b, err, len(rest))
	}
	j, err := json.Marshal(v)
	return string(j), err
}

type (
	level  int8
	name   string
	blob   []byte
	fields map[string]any
	shout  string // implements encoding.TextMarshaler
	point  struct{ X, Y int }
	node   struct {
		V    int   `json:"v"`
		Next *node `json:"next,omitempty"`
	}
	failure struct{ code int }
	packed  struct{ out []byte }
	onlyPtr struct{ v string }
	loop    []loop
)

func (s shout) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(s)) + "!"), nil }
func (f *failure) Error() string             { return fmt.Sprint("code ", f.code) }
func (p packed) MarshalMsg(b []byte) ([]byte, error) {
	return append(b, p.out...), nil
}
func (p *onlyPtr) MarshalText() ([]byte, error) { return []byte("ptr " + p.v), nil }

func TestAppend(t *testing.T) {
	f := func(v any, want string) {
		t.Helper()
		b, err := Append([]byte("before"), v)
		if err != nil {
			t.Fatalf("%#v: %v", v, err)
		}
		b, ok := bytes.CutPrefix(b, []byte("before"))
		if !ok {
			t.Fatalf("%#v: the prefix was overwritten: % x", v, b)
		}
		if got, err := text(b); err != nil || got != want {
			t.Fatalf("%#v: got %s, %v, want %s", v, got, err, want)
		}
	}
	seven := 7
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600))
	long := strings.Repeat("long ", 20)

	f(nil, `null`)
	f(true, `true`)
	f(int8(-8), `-8`)
	f(int16(-16), `-16`)
	f(int32(-32), `-32`)
	f(int64(math.MinInt64), `-9223372036854775808`)
	f(-1, `-1`)
	f(uint(1), `1`)
	f(uint8(8), `8`)
	f(uint16(16), `16`)
	f(uint32(32), `32`)
	f(uint64(math.MaxUint64), `18446744073709551615`)
	f(uintptr(9), `9`)
	f(float32(1.5), `1.5`)
	f(2.25, `2.25`)
	f("text", `"text"`)
	f([]byte("bin"), `"Ymlu"`)
	f([3]byte{1, 2, 3}, `"AQID"`)
	f(&[3]byte{1, 2, 3}, `"AQID"`)
	f(blob("bin"), `"Ymlu"`)
	f([]level{-1, 2}, `[-1,2]`)
	f(level(-3), `-3`)
	f(name("n"), `"n"`)
	f([2]string{"a", "b"}, `["a","b"]`)
	f([]string{"a", long}, `["a","`+long+`"]`)
	f([]any{1, nil, []any{}}, `[1,null,[]]`)

	f(at, `"2026-01-02T03:04:05.0000006+01:00"`)
	f(at.UTC().Truncate(time.Second), `"2026-01-02T02:04:05Z"`)
	f(&at, `"2026-01-02T03:04:05.0000006+01:00"`)
	f([]time.Time{at.UTC()}, `["2026-01-02T02:04:05.0000006Z"]`)
	f(1500*time.Millisecond, `1500000000`)

	f(json.Number("12"), `12`)
	f(json.Number("-9223372036854775808"), `-9223372036854775808`)
	f(json.Number("18446744073709551615"), `18446744073709551615`)
	f(json.Number("1.5e3"), `1500`)
	f([]json.Number{"1"}, `[1]`)

	f(map[string]any{"b": 1, "a": map[string]any{"c": "d"}}, `{"a":{"c":"d"},"b":1}`)
	f(map[string]string{"k": "v"}, `{"k":"v"}`)
	f(fields{"k": 1}, `{"k":1}`)
	f([]fields{{"k": 1}}, `[{"k":1}]`)
	f(map[name]int{"k": 1}, `{"k":1}`)
	f(map[level]string{-5: "v"}, `{"-5":"v"}`)
	f(map[uint64]string{math.MaxUint64: "v"}, `{"18446744073709551615":"v"}`)
	f(map[shout]int{"k": 1}, `{"k":1}`) // as encoding/json does: of string kind
	f(map[netip.Addr]bool{netip.MustParseAddr("::1"): true}, `{"::1":true}`)
	f(map[time.Time]bool{at.UTC(): true}, `{"2026-01-02T02:04:05.0000006Z":true}`)
	f(map[onlyPtr]int{{"k"}: 1}, `{"ptr k":1}`)
	f(map[any]any{"a": 1, 2: "b", level(3): nil}, `{"2":"b","3":null,"a":1}`)
	f(map[string][]int{"a": {1, 2}, "b": nil}, `{"a":[1,2],"b":[]}`)

	f(point{1, 2}, `{"X":1,"Y":2}`)
	f(&point{1, 2}, `{"X":1,"Y":2}`)
	f(&node{1, &node{2, nil}}, `{"next":{"v":2},"v":1}`)
	f(struct{ P *int }{&seven}, `{"P":7}`)
	f(struct{ P **int }{}, `{"P":null}`)
	f(struct{ I any }{&seven}, `{"I":7}`)
	f(struct{ E error }{}, `{"E":null}`)
	f(struct{ E error }{errors.New("bad")}, `{"E":"bad"}`)
	f(loop{{}, {{}}}, `[[],[[]]]`)

	f(errors.New("failed"), `"failed"`)
	f(fmt.Errorf("while: %w", &failure{3}), `"while: code 3"`)
	f(failure{4}, `"code 4"`)
	f([]failure{{5}}, `["code 5"]`)
	f(map[string]failure{"e": {6}}, `{"e":"code 6"}`)
	f(shout("hey"), `"HEY!"`)
	f(shout(long), `"`+strings.ToUpper(long)+`!"`)
	f(onlyPtr{"v"}, `"ptr v"`)
	f(&onlyPtr{"v"}, `"ptr v"`)
	f(struct{ V onlyPtr }{onlyPtr{"v"}}, `{"V":"ptr v"}`)
	f(*big.NewInt(77), `"77"`)
	f(netip.MustParseAddr("192.0.2.1"), `"192.0.2.1"`)
	f(netip.Addr{}, `""`)
	f([]netip.Addr{netip.MustParseAddr("192.0.2.1")}, `["192.0.2.1"]`)
	f(packed{[]byte{0x93, 1, 2, 3}}, `[1,2,3]`)
	f(&packed{[]byte{0x01}}, `1`)
}

// TestAppendNilAndEmpty covers nil values and empty values.
func TestAppendNilAndEmpty(t *testing.T) {
	f := func(v any, want byte) {
		t.Helper()
		if b, err := Append(nil, v); err != nil || b[0] != want {
			t.Fatalf("%#v: got % x, %v, want %x", v, b, err, want)
		}
	}
	const null, emptyMap, emptyArray, emptyBin, emptyString = 0xc0, 0x80, 0x90, 0xc4, 0xa0
	f(nil, null)
	f((*int)(nil), null)
	f((*point)(nil), null)
	f((*failure)(nil), null) // its method would panic
	f((*packed)(nil), null)  // the method is that of a value
	f((*time.Time)(nil), null)
	f((*map[string]any)(nil), null)
	f(map[string]any(nil), emptyMap)
	f(map[string]string(nil), emptyMap)
	f(fields(nil), emptyMap)
	f(map[int]int(nil), emptyMap)
	f(point{}, 0x82)
	f(struct{ hidden int }{1}, emptyMap)
	f([]any(nil), emptyArray)
	f([]string(nil), emptyArray)
	f([]int(nil), emptyArray)
	f([0]int{}, emptyArray)
	f([]byte(nil), emptyBin)
	f(blob(nil), emptyBin)
	f("", emptyString)
	f(netip.Addr{}, emptyString)
}

func TestAppendInvalidUTF8(t *testing.T) {
	const s = "a\xffb"
	b, err := Append(nil, map[string]string{s: s})
	if want := "\x81\xa3" + s + "\xa3" + s; err != nil || string(b) != want {
		t.Fatalf("%q, %v", b, err)
	}
}

// TestAppendRoom checks that the output of a user's method is correct whatever the capacity
// behind the slice.
func TestAppendRoom(t *testing.T) {
	v := []any{packed{[]byte{0xa3, 'a', 'b', 'c'}}, netip.MustParseAddr("192.0.2.1"), packed{[]byte{0xc0}}, shout("x")}
	for room := range 40 {
		dst := append(make([]byte, 0, 1+room), '.')
		b, err := Append(dst, v)
		if err != nil || string(b[1:]) != "\x94\xa3abc\xa9192.0.2.1\xc0\xa2X!" {
			t.Fatalf("with room for %d: %q, %v", room, b, err)
		}
	}
}

func TestAppendRecord(t *testing.T) {
	f := func(v any, want string) {
		t.Helper()
		b, err := AppendRecord([]byte{'.'}, v)
		if err != nil {
			t.Fatalf("%#v: %v", v, err)
		}
		if got, err := text(b[1:]); err != nil || got != want {
			t.Fatalf("%#v: got %s, %v, want %s", v, got, err, want)
		}
	}
	f(map[string]any{"a": 1}, `{"a":1}`)
	f(map[string]any(nil), `{}`)
	f(map[int]int{1: 2}, `{"1":2}`)
	f(fields{"a": 1}, `{"a":1}`)
	f(&fields{"a": 1}, `{"a":1}`)
	f(point{1, 2}, `{"X":1,"Y":2}`)
	f(&point{1, 2}, `{"X":1,"Y":2}`)
	f(packed{[]byte{0x81, 0xa1, 'k', 1}}, `{"k":1}`)
	f(packed{[]byte{0xde, 0, 1, 0xa1, 'k', 1}}, `{"k":1}`)
	f(packed{[]byte{0xdf, 0, 0, 0, 1, 0xa1, 'k', 1}}, `{"k":1}`)
	big := map[string]int{}
	for i := range 70000 {
		big[fmt.Sprint(i)] = i
	}
	want, err := json.Marshal(big)
	if err != nil {
		t.Fatal(err)
	}
	f(big, string(want))
}

func TestAppendRecordRefuses(t *testing.T) {
	f := func(v any, what string) {
		t.Helper()
		b, err := AppendRecord([]byte("before"), v)
		if want := ErrNotRecord.Error() + ", not " + what; !errors.Is(err, ErrNotRecord) || err.Error() != want {
			t.Fatalf("got %v, want %s", err, want)
		}
		if string(b) != "before" {
			t.Fatalf("the slice is now %q", b)
		}
	}
	f(nil, "nil")
	f((*point)(nil), "*encode.point")
	f((*fields)(nil), "*encode.fields")
	f((*packed)(nil), "*encode.packed")
	f("text", "string")
	f(5, "int")
	f([]any{}, "[]interface {}")
	f([]byte("x"), "[]uint8")
	f(time.Time{}, "time.Time")
	f(errors.New("x"), "*errors.errorString")
	f(&failure{}, "*encode.failure")
	f(packed{[]byte{0x90}}, "encode.packed")
	f(make(chan int), "chan int")
	f(func() {}, "func()")
	f(map[float64]int{}, "map[float64]int")
}

func TestAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	dst := make([]byte, 0, 4096)
	f := func(v any) {
		t.Helper()
		if n := testing.AllocsPerRun(200, func() {
			if _, err := Append(dst, v); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%T: %v allocations", v, n)
		}
	}
	at := time.Now()
	f(map[string]any{"count": 1000, "f": 1.5, "s": "text", "m": map[string]any{"x": []any{1, "y"}}, "t": at, "d": time.Second, "b": []byte("b")})
	f(map[string]string{"a": "b"})
	f(fields{"count": 1})
	f(&struct{ F, G fields }{fields{"a": 1}, nil})
	f(map[name]level{"a": 1, "b": 2})
	f(map[int]string{1: "a"})
	f(&anAccess)
	f(&aFixedAccess)
	f(struct {
		point
		T time.Time `fluent:",omitzero"`
		A netip.Addr
		E error
		N *int
		L []string
		H [16]byte
	}{T: at, A: netip.MustParseAddr("::1"), E: errors.New("x"), L: []string{"a"}})
	f(&struct {
		T  time.Time `fluent:",omitzero"`
		A  netip.Addr
		E  error
		P  *point
		L  []point
		H  [16]byte
		M  map[string]int
		R  map[string]any `fluent:",inline"`
		Js json.Number
	}{T: at, A: netip.MustParseAddr("::1"), E: errors.New("x"), P: &point{}, L: []point{{}}, M: map[string]int{"a": 1}, R: map[string]any{"q": 1}, Js: "5"})
	f([]map[string]any{{"a": 1}})
	f(errors.New("x"))
	f(&packed{[]byte{0xc0}})
}
