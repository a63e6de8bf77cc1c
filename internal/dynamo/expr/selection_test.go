package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// stored returns anItem as a store has it.
func stored(t testing.TB) *value.Value { return item(t, anItem) }

func TestSelection(t *testing.T) {
	n := names(t, `{"#a":"a","#dot":"x.y","#e":"\u00e9a","#size":"size"}`)
	it := stored(t)
	text := it.AppendItem(nil)
	f := func(expression, want string) {
		t.Helper()
		paths, err := ParsePaths([]byte(expression), n)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			return
		}
		s := NewSelection(paths)
		kept := s.Of(it)
		if got := string(kept.AppendItem(nil)); got != want {
			t.Errorf("%s: got %s; want %s", expression, got, want)
		}
		if got, ok := s.Append([]byte("<"), text); !ok || string(got) != "<"+want {
			t.Errorf("%s of text: got %s, %v; want %s", expression, got, ok, want)
		}
		s.projection = nil
		if got, ok := s.Append([]byte("<"), text); !ok || string(got) != "<"+want {
			t.Errorf("%s of text without a projection: got %s, %v; want %s", expression, got, ok, want)
		}
	}
	f("a", `{"a":{"S":"1"}}`)
	f("#size,#a,#dot", `{"a":{"S":"1"},"x.y":{"S":"dot"},"size":{"N":"7"}}`)
	f("#e", `{"éa":{"BOOL":true}}`)
	f("nothing", `{}`)
	f("b", `{"b":{"M":{"x":{"N":"1"},"y":{"L":[{"S":"p"},{"S":"q"},{"M":{"m":{"S":"r"},"n":{"S":"s"}}}]}}}}`)
	f("b.x", `{"b":{"M":{"x":{"N":"1"}}}}`)
	f("b.z,b.x.y,c.x,a.b", `{}`)
	f("b[0],a[0],c[7]", `{}`)
	f("b.z,b.x", `{"b":{"M":{"x":{"N":"1"}}}}`)
	f("b.y[2].n,b.y[0]", `{"b":{"M":{"y":{"L":[{"S":"p"},{"M":{"n":{"S":"s"}}}]}}}}`)
	f("b.y[2].n,b.y[2].m", `{"b":{"M":{"y":{"L":[{"M":{"m":{"S":"r"},"n":{"S":"s"}}}]}}}}`)
	f("b.y[3],b.y[0].q", `{}`)
	f("c[2],c[0]", `{"c":{"L":[{"S":"0"},{"S":"2"}]}}`)
	f("c[1][1],c[2],c[1][0]", `{"c":{"L":[{"L":[{"S":"10"},{"S":"11"}]},{"S":"2"}]}}`)
	f("c[2147483647],a", `{"a":{"S":"1"}}`)
}

func TestSelectionOfMany(t *testing.T) {
	var b strings.Builder
	it := value.Value{Type: value.Map}
	for i := range 800 {
		fmt.Fprintf(&b, ",a%d", i*7919%800)
		it.Members = append(it.Members, value.Member{Name: fmt.Sprintf("a%d", i), Value: value.Value{Type: value.Number, Text: []byte("1")}},
			value.Member{Name: fmt.Sprintf("b%d", i), Value: value.Value{Type: value.Null}})
	}
	paths, err := ParsePaths([]byte(b.String()[1:]), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSelection(paths)
	kept := s.Of(&it)
	if len(kept.Members) != 800 || kept.Get("a799") == nil || kept.Get("b1") != nil {
		t.Errorf("got %d attributes", len(kept.Members))
	}
	if got, ok := s.Append(nil, it.AppendItem(nil)); !ok || string(got) != string(kept.AppendItem(nil)) {
		t.Errorf("got %.100s, %v", got, ok)
	}
	if got, ok := s.Append([]byte("<"), []byte(`{"a1"`)); ok || string(got) != "<" {
		t.Errorf("without an item: got %s, %v", got, ok)
	}
}

func TestSelectionEmptyDocuments(t *testing.T) {
	it := item(t, `{"m":{"M":{"e":{"M":{}},"l":{"L":[]}}},"e":{"M":{}},"l":{"L":[]}}`)
	f := func(expression, want string) {
		t.Helper()
		paths, err := ParsePaths([]byte(expression), nil)
		if err != nil {
			t.Fatal(err)
		}
		kept := NewSelection(paths).Of(it)
		if got := string(kept.AppendItem(nil)); got != want {
			t.Errorf("%s: got %s; want %s", expression, got, want)
		}
	}
	f("m.e", `{"m":{"M":{"e":{"M":{}}}}}`)
	f("m.e.x,e.x,l[0],m.l[0]", `{}`)
	f("e,l,m.l", `{"m":{"M":{"l":{"L":[]}}},"e":{"M":{}},"l":{"L":[]}}`)
}
