package item

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// paths parses paths such as "a.b[1]".
func paths(list ...string) (p []Path) {
	for _, text := range list {
		var one Path
		for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
			var index int
			if _, err := fmt.Sscanf(part, "%d", &index); err == nil {
				one = append(one, Step{Index: index})
			} else {
				one = append(one, Step{Name: part, Index: -1})
			}
		}
		p = append(p, one)
	}
	return p
}

func TestProjected(t *testing.T) {
	for _, c := range []struct {
		paths      []string
		json, want string
	}{
		{[]string{"pk", "name", "info.tags[1]", "info.tags[0]"}, `{"pk":{"S":"a"},"name":{"S":"A"},"info":{"M":{"tags":{"L":[{"S":"t0"},{"S":"t1"}]}}}}`,
			"bf 00 6161 01 6141 02 627431 03 627430 ff"},
		{[]string{"a", "b"}, `{}`, "a0"},
		{nil, `{}`, "a0"},
		{[]string{"a", "b"}, `{"b":{"N":"1"}}`, "bf 01 01 ff"},
		{[]string{"a", "b"}, `{"\u0062":{"N":"1"}}`, "bf 01 01 ff"},
		{[]string{"l[5]", "l[2]"}, `{"l":{"L":[{"N":"2"},{"N":"5"}]}}`, "bf 00 05 01 02 ff"},
		{[]string{"l[5]", "l[2]"}, `{"l":{"L":[{"N":"2"}]}}`, "bf 01 02 ff"},
		{[]string{"l[1].x", "l[1].y", "l[0].x"}, `{"l":{"L":[{"M":{"x":{"N":"0"}}},{"M":{"x":{"N":"1"},"y":{"N":"2"}}}]}}`, "bf 00 01 01 02 02 00 ff"},
		{[]string{"a.b", "a[0]"}, `{"a":{"S":"text"}}`, "a0"},
		{[]string{"a[0][1]", "a[0][0]", "a[3][1]"}, `{"a":{"L":[{"L":[{"N":"0"},{"N":"1"}]},{"L":[{"N":"31"}]}]}}`, "bf 00 01 01 00 02 181f ff"},

		// The first requested element has no requested member.
		{[]string{"l[0].x", "l[1].y"}, `{"l":{"L":[{"M":{"y":{"N":"2"}}}]}}`, "bf 01 02 ff"},
		{[]string{"l[0].x", "l[1]"}, `{"l":{"L":[{"S":"t"}]}}`, "bf 01 6174 ff"},
		{[]string{"l[0].x", "l[1]"}, `{"l":{"L":[{"M":{}}]}}`, "bf 01 a0 ff"},
		{[]string{"l[0][0].x", "l[1][4].y", "l[1][7].x"}, `{"l":{"L":[{"L":[{"M":{"y":{"N":"1"}}},{"M":{"x":{"N":"2"}}}]}]}}`, "bf 01 01 02 02 ff"},

		// A value without a path is ignored, and the others are found.
		{[]string{"a.b"}, `{"a":{"M":{"z":{"N":"1"},"b":{"N":"2"}}},"q":{"N":"3"}}`, "bf 00 02 ff"},
		{[]string{"l[0].x"}, `{"l":{"L":[{"M":{"x":{"N":"1"},"y":{"N":"2"}}},{"N":"3"}]}}`, "bf 00 01 ff"},
	} {
		got, err := AppendProjected(nil, paths(c.paths...), []byte(c.json))
		if err != nil || hex.EncodeToString(got) != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("%s of %s: got %x, %v, want %s", c.paths, c.json, got, err, c.want)
		}
	}
}

// drawValue generates an attribute value.
func drawValue(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 {
		kind = 3
	}
	var parts []string
	switch kind {
	case 0:
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			parts = append(parts, drawValue(t, depth-1))
		}
		return `{"L":[` + strings.Join(parts, ",") + `]}`
	case 1, 2:
		return `{"M":` + drawObject(t, depth-1) + `}`
	}
	return fmt.Sprintf(`{"N":"%d"}`, rapid.IntRange(0, 999).Draw(t, "number"))
}

func drawObject(t *rapid.T, depth int) string {
	var parts []string
	for _, name := range []string{"x", "y", "z"} {
		if rapid.Bool().Draw(t, name) {
			parts = append(parts, `"`+name+`":`+drawValue(t, depth))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// drawPaths generates paths that DynamoDB accepts together, and their projection.
func drawPaths(t *rapid.T) (list []string, projection *expr.Projection) {
	for range rapid.IntRange(1, 9).Draw(t, "paths") {
		path := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "first")
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			path += rapid.SampledFrom([]string{".x", ".y", "[0]", "[1]", "[2]", "[3]"}).Draw(t, "step")
		}
		var next expr.Projection
		if next.Parse([]byte(strings.Join(append(list, path), ", ")), nil) {
			list, projection = append(list, path), &next
		}
	}
	return list, projection
}

// builtDocument is a document as a client builds it from the values at paths.
type builtDocument struct {
	value string // in JSON, where a path ends
	names map[string]*builtDocument
	list  map[int]*builtDocument
}

func (g *builtDocument) put(p Path, value string) {
	if len(p) == 0 {
		g.value = value
		return
	}
	var next *builtDocument
	if s := p[0]; s.Index < 0 {
		if g.names == nil {
			g.names = map[string]*builtDocument{}
		}
		if next = g.names[s.Name]; next == nil {
			next = new(builtDocument)
			g.names[s.Name] = next
		}
	} else {
		if g.list == nil {
			g.list = map[int]*builtDocument{}
		}
		if next = g.list[s.Index]; next == nil {
			next = new(builtDocument)
			g.list[s.Index] = next
		}
	}
	next.put(p[1:], value)
}

func (g *builtDocument) object() string {
	var parts []string
	for name, member := range g.names {
		parts = append(parts, `"`+name+`":`+member.text())
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (g *builtDocument) text() string {
	switch {
	case g.value != "":
		return g.value
	case g.names != nil:
		return `{"M":` + g.object() + `}`
	}
	var parts []string
	for _, index := range slices.Sorted(maps.Keys(g.list)) {
		parts = append(parts, g.list[index].text())
	}
	return `{"L":[` + strings.Join(parts, ",") + `]}`
}

// TestProjectedMatchesClients compares the document that a client builds with the converted
// one, also when parts are missing in the item.
func TestProjectedMatchesClients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := drawObject(t, 3)
		list, projection := drawPaths(t)
		answer, ok := projection.Append(nil, []byte(whole))
		if !ok {
			t.Fatalf("%s can't be projected", whole)
		}
		p := paths(list...)
		b, err := AppendProjected(nil, p, answer)
		if err != nil {
			t.Fatal(err)
		}
		r := cbor.NewReader(b)
		var g builtDocument
		for n := r.Map(); r.More(&n); {
			at := r.Int()
			value, err := attr.AppendJSON(nil, &r)
			if err != nil {
				t.Fatal(err)
			}
			g.put(p[at], string(value))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		got, _ := wire.AppendCanonical(nil, []byte(g.object()))
		want, _ := wire.AppendCanonical(nil, answer)
		if !bytes.Equal(got, want) {
			t.Fatalf("%s of %s\ngot  %s\nwant %s", list, whole, answer, g.object())
		}
	})
}

func TestNothingIsAllocatedForProjections(t *testing.T) {
	if race.Enabled {
		return
	}
	p := paths("pk", "info.tags[1]", "info.tags[0]")
	json := []byte(`{"pk":{"S":"a"},"info":{"M":{"tags":{"L":[{"S":"t0"},{"S":"t1"}]}}}}`)
	dst := make([]byte, 0, 200)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := AppendProjected(dst[:0], p, json); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
