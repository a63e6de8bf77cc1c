package expr

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const anItem = `{"a":{"S":"1"},"b":{"M":{"x":{"N":"1"},"y":{"L":[{"S":"p"},{"S":"q"},{"M":{"m":{"S":"r"},"n":{"S":"s"}}}]}}},
	"x.y":{"S":"dot"},"c":{"L":[{"S":"0"},{"L":[{"S":"10"},{"S":"11"}]},{"S":"2"}]},"\u00e9\u0061":{"BOOL":true},"size":{"N":"7"}}`

func TestProjection(t *testing.T) {
	var p Projection
	f := func(text, want string) {
		t.Helper()
		n := names(t, `{"#a":"a","#dot":"x.y","#e":"\u00e9a","#size":"size"}`)
		if !p.Parse([]byte(text), n) {
			t.Errorf("Parse(%s) = false", text)
			return
		}
		got, ok := p.Append([]byte("<"), []byte(anItem))
		if !ok || string(got) != "<"+want {
			t.Errorf("%s: got %s, %v; want %s", text, got, ok, want)
		}
	}
	f("a", `{"a":{"S":"1"}}`)
	f(" a\t,\n#dot ", `{"a":{"S":"1"},"x.y":{"S":"dot"}}`)
	f("#size,#a", `{"a":{"S":"1"},"size":{"N":"7"}}`)
	f("#e", `{"\u00e9\u0061":{"BOOL":true}}`)
	f("nothing", `{}`)
	f("b.x", `{"b":{"M":{"x":{"N":"1"}}}}`)
	f("b.z", `{}`)
	f("b.z,b.x", `{"b":{"M":{"x":{"N":"1"}}}}`)
	f("b.x.y,a", `{"a":{"S":"1"}}`)
	f("b[0],a[0],c.x", `{}`)
	f("a.b", `{}`)
	f("b.y[1]", `{"b":{"M":{"y":{"L":[{"S":"q"}]}}}}`)
	f("b.y[2].n,b.y[0]", `{"b":{"M":{"y":{"L":[{"S":"p"},{"M":{"n":{"S":"s"}}}]}}}}`)
	f("b.y[2].n,b.y[2].m", `{"b":{"M":{"y":{"L":[{"M":{"m":{"S":"r"},"n":{"S":"s"}}}]}}}}`)
	f("b.y[3],b.y[0].q", `{}`)
	f("c[2],c[0]", `{"c":{"L":[{"S":"0"},{"S":"2"}]}}`)
	f("c[1][1],c [ 2 ]", `{"c":{"L":[{"L":[{"S":"11"}]},{"S":"2"}]}}`)
	f("c[2147483647],a", `{"a":{"S":"1"}}`)
	f("x", `{}`)
	f("a"+strings.Repeat(".b", 31), `{}`)
}

func TestProjectionRefuses(t *testing.T) {
	var p Projection
	f := func(text string) {
		t.Helper()
		if p.Parse([]byte(text), names(t, someNames)) {
			t.Errorf("Parse(%.60s) = true", text)
		}
		if got, ok := p.Append(nil, []byte(anItem)); !ok || string(got) != "{}" {
			t.Errorf("a refused projection returned %s, %v", got, ok)
		}
	}
	for _, s := range []string{"", " ", ",", "a,", ",a", "a b", "a..b", "a.", ".a", "a[", "a[]", "a[x]", "a[:i]", "a[#i]", "a[-1]", "a[1", "a]", "[0]", "a.[0]",
		"_a", "1a", "a-b", "é", "a,é", "a + b", "a(b)", "(a)", "*", "#", "#zz", ":s", "a.:s", "name", "a.Size", "SIZE",
		"a,a", "a,#a", "a,a.b", "a.b,a", "a.b.c,a.b", "a[1],a[1]", "a[1].b,a[1]", "a.b,a[1]", "a[0],a.b", "b.c[0],b.c.d", "a[01],a[1]",
		"c[01]", "c[00]", "a[2147483648]", "a[99999999999999999999]", "a" + strings.Repeat(".b", 32), strings.Repeat("a", 4097)} {
		f(s)
	}
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("a%d", i))
	}
	f(strings.Join(many, ","))
}

func TestProjectionOfNoItem(t *testing.T) {
	var p Projection
	if !p.Parse([]byte("a.b,c"), nil) {
		t.Fatal("Parse returned false")
	}
	for _, item := range []string{``, `[]`, `"x"`, `{"a":1}`, `{"a":{"M":{"b":{"S":"x"}},"L":[]}}`, `{"a":{"M":{"b":{"S":"x"}}}`, `{"a"`} {
		if got, ok := p.Append([]byte("<"), []byte(item)); ok || string(got) != "<" {
			t.Errorf("Append(%s) = %s, %v", item, got, ok)
		}
	}
}

func TestFromAttributesToGet(t *testing.T) {
	var p Projection
	f := func(list, want string) {
		t.Helper()
		if !p.FromAttributesToGet([]byte(list)) {
			t.Errorf("FromAttributesToGet(%s) = false", list)
			return
		}
		if got, ok := p.Append(nil, []byte(anItem)); !ok || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", list, got, ok, want)
		}
	}
	f(`["a"]`, `{"a":{"S":"1"}}`)
	f(`[ "size" , "x.y", "none" ]`, `{"x.y":{"S":"dot"},"size":{"N":"7"}}`)
	f(`["b.x"]`, `{}`)
	for _, list := range []string{`[]`, `{}`, `["a","a"]`, `[1]`, `[""]`, `["\u0061"]`, `"a"`, `["a"`} {
		if p.FromAttributesToGet([]byte(list)) {
			t.Errorf("FromAttributesToGet(%s) = true", list)
		}
	}
}

func TestZeroProjection(t *testing.T) {
	var p Projection
	if got, ok := p.Append(nil, []byte(anItem)); !ok || string(got) != "{}" {
		t.Errorf("the zero value returned %s, %v", got, ok)
	}
	if got, ok := p.Append(nil, []byte("[]")); ok {
		t.Errorf("without an item: got %s", got)
	}
}

// naive projects a decoded item in the simplest way: path by path into a tree whose lists are
// compacted at the end.
func naive(item map[string]any, paths []Path) map[string]any {
	out := map[string]any{}
	for name, v := range item {
		if kept, ok := naiveValue(v, sub(paths, Step{Name: name, Index: -1})); ok {
			out[name] = kept
		}
	}
	return out
}

// sub returns the rest of the paths that begin with the step.
func sub(paths []Path, s Step) (rest []Path) {
	for _, p := range paths {
		if p[0] == s {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

func naiveValue(v any, paths []Path) (any, bool) {
	for _, p := range paths {
		if len(p) == 0 {
			return v, true
		}
	}
	attr, _ := v.(map[string]any)
	if m, ok := attr["M"].(map[string]any); ok {
		kept := naive(m, paths)
		return map[string]any{"M": kept}, len(kept) > 0
	}
	var kept []any
	list, _ := attr["L"].([]any)
	for i, e := range list {
		if x, ok := naiveValue(e, sub(paths, Step{Index: i})); ok {
			kept = append(kept, x)
		}
	}
	return map[string]any{"L": kept}, len(kept) > 0
}

// itemFrom returns an item derived from the fuzzer's bytes.
func itemFrom(b []byte) string {
	i := 0
	next := func() byte {
		if i == len(b) {
			return 0
		}
		i++
		return b[i-1]
	}
	var value func(depth int) string
	members := func(depth int) string {
		var s []string
		seen := map[string]bool{}
		for range next() % 4 {
			name := []string{"a", "b", "c", "d", `\u0065`, "x.y"}[next()%6]
			if !seen[name] {
				seen[name] = true
				s = append(s, `"`+name+`": `+value(depth+1))
			}
		}
		return "{" + strings.Join(s, " , ") + "}"
	}
	value = func(depth int) string {
		switch kind := next() % 4; {
		case kind == 0 && depth < 5:
			return `{"M":` + members(depth) + `}`
		case kind == 1 && depth < 5:
			var s []string
			for range next() % 4 {
				s = append(s, value(depth+1))
			}
			return `{"L":[` + strings.Join(s, ",") + `]}`
		}
		return fmt.Sprintf(`{"N":"%d"}`, next())
	}
	return members(0)
}

func FuzzProjection(f *testing.F) {
	for i, text := range []string{"a", "a,b", "a.b,c[0]", "a.b.c,a.d,b[1][0]", "#e,#d.a", "b[0].a,b[1],b[0].c", "a,a.b", "a.b,a[0]", "size", "a[0],a[2].b[1]"} {
		f.Add(text, []byte(strings.Repeat("\x03\x00\x01\x02\x00\x03\x01\x01", 4+i)))
	}
	f.Fuzz(func(t *testing.T, text string, shape []byte) {
		n := names(t, `{"#e":"e","#d":"x.y","#a":"a"}`)
		var p Projection
		ok := p.Parse([]byte(text), n)
		paths, err := ParsePaths([]byte(text), n)
		if ok && err != nil {
			t.Fatalf("Parse accepts %q, which ParsePaths refuses: %v", text, err)
		}
		if !ok && err == nil && len(paths) < 50 {
			t.Fatalf("Parse refuses %q", text)
		}
		if !ok {
			return
		}
		item := itemFrom(shape)
		got, ok := p.Append(nil, []byte(item))
		if !ok {
			t.Fatalf("Append refuses %s", item)
		}
		var in, out map[string]any
		if err := json.Unmarshal([]byte(item), &in); err != nil {
			t.Fatalf("%s: %v", item, err)
		}
		if err := json.Unmarshal(got, &out); err != nil {
			t.Fatalf("%q of %s: got %s: %v", text, item, got, err)
		}
		if want := naive(in, paths); !reflect.DeepEqual(out, want) {
			t.Fatalf("%q of %s: got %s; want %v", text, item, got, want)
		}
	})
}
