package item

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/key"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// numbered numbers lists in the order of their first use.
type numbered struct {
	lists [][]string
	full  error
}

func (l *numbered) ID(names [][]byte) (uint64, error) {
	if len(names) == 0 {
		return 1, nil
	}
next:
	for i, list := range l.lists {
		if len(list) != len(names) {
			continue
		}
		for k, n := range names {
			if string(n) != list[k] {
				continue next
			}
		}
		return uint64(i) + 2, nil
	}
	if l.full != nil {
		return 0, l.full
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	l.lists = append(l.lists, list)
	return uint64(len(l.lists)) + 1, nil
}

func (l *numbered) Names(id uint64) ([]string, bool) {
	switch {
	case id == 1:
		return nil, true
	case id < 2 || id-2 >= uint64(len(l.lists)):
		return nil, false
	}
	return l.lists[id-2], true
}

var errUnknown = errors.New("no such list")

var hashOnly = &key.Schema{Hash: key.Attribute{Name: "pk", Type: 'S'}}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		lists       [][]string
		bytes, json string
	}{
		{[][]string{{"age", "name"}}, "02 182a 65416c696365", `{"pk":{"S":"k"},"age":{"N":"42"},"name":{"S":"Alice"}}`},
		{nil, "01", `{"pk":{"S":"k"}}`},
		{[][]string{{"x"}, {"A", "_", "a.b", "z", "é"}}, "03 6132 6135 6134 6131 6133", `{"pk":{"S":"k"},"A":{"S":"2"},"_":{"S":"5"},"a.b":{"S":"4"},"z":{"S":"1"},"é":{"S":"3"}}`},
	} {
		l, item := &numbered{lists: c.lists}, unhex(t, c.bytes)
		got, err := AppendJSON(nil, l, hashOnly, []byte("k"), item)
		if err != nil || string(got) != c.json {
			t.Errorf("%s: got %s, %v, want %s", c.bytes, got, err, c.json)
		}
		back, err := AppendBytes(nil, l, hashOnly, []byte(c.json))
		if err != nil || !bytes.Equal(back, item) || len(l.lists) != len(c.lists) {
			t.Errorf("%s: got %x, %v, want %s", c.json, back, err, c.bytes)
		}
	}
}

// The order of members in JSON and the spelling of names don't matter.
func TestNamesAreSorted(t *testing.T) {
	l := &numbered{}
	got, err := AppendBytes(nil, l, hashOnly, []byte(`{"z":{"N":"1"},"p\u006b":{"S":"k"},"\u0061":{"N":"2"},"Z":{"N":"3"}}`))
	if err != nil || hex.EncodeToString(got) != "02030201" || fmt.Sprint(l.lists) != "[[Z a z]]" {
		t.Errorf("%x, %v, lists %v", got, err, l.lists)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ bytes, want string }{
		{"07", "an item has the attribute list 7, which is not defined here; a restarted client defines its lists again"},
		{"20", "an item has the attribute list 0, which is not defined here; a restarted client defines its lists again"},
		{"", "an item's attribute list: the end where an integer is expected"},
		{"02 01", "an item's attribute b: the end where an attribute value is expected"},
		{"02 01 02 03", "an item: 1 bytes behind the end"},
		{"01 f6", "an item: 1 bytes behind the end"},
		{"03 01", "an item has its key attribute pk a second time"},
	} {
		l := &numbered{lists: [][]string{{"a", "b"}, {"pk"}}}
		if got, err := AppendJSON(nil, l, hashOnly, []byte("k"), unhex(t, c.bytes)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.bytes, got, err, c.want)
		}
	}
	full := errors.New("full")
	if _, err := AppendBytes(nil, &numbered{full: full}, hashOnly, []byte(`{"pk":{"S":"k"},"a":{"N":"1"}}`)); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestPartial(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{`{"cnt":{"N":"5"}}`, "02 bf 00 05 ff"},
		{`{}`, "01 bf ff"},
		{`{"m":{"M":{"a":{"N":"1"}}},"cnt":{"N":"5"}}`, "02 bf 00 05 01 a1 6161 01 ff"},
	} {
		got, err := AppendPartial(nil, &numbered{}, hashOnly, []byte(c.json))
		if err != nil || hex.EncodeToString(got) != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("%s: got %x, %v, want %s", c.json, got, err, c.want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	l := &numbered{}
	s := &key.Schema{Hash: key.Attribute{Name: "pk", Type: 'S'}, Range: key.Attribute{Name: "sk", Type: 'N'}}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 8, 20), 0, 6, rapid.ID).Draw(t, "names")
		text := []byte(`{"pk":{"S":"a"}`)
		for i, n := range names {
			if n == "pk" || n == "sk" {
				continue
			}
			text = append(wire.AppendQuoted(append(text, ','), []byte(n)), fmt.Sprintf(`:{"N":"%d"}`, i)...)
		}
		text = append(text, `,"sk":{"N":"7"}}`...)
		k, err := s.AppendKey(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		item, err := AppendBytes(nil, l, s, text)
		if err != nil {
			t.Fatal(err)
		}
		back, err := AppendJSON(nil, l, s, k, item)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := wire.AppendCanonical(nil, text)
		b, _ := wire.AppendCanonical(nil, back)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s was converted back to %s", text, back)
		}
	})
}

func TestNothingIsAllocated(t *testing.T) {
	if race.Enabled {
		return
	}
	l := &numbered{lists: [][]string{{"age", "name"}}}
	json := []byte(`{"pk":{"S":"k"},"name":{"S":"Alice"},"age":{"N":"42"}}`)
	item, k, dst := unhex(t, "02182a65416c696365"), []byte("k"), make([]byte, 0, 200)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := AppendJSON(dst[:0], l, hashOnly, k, item); err != nil {
			t.Fatal(err)
		}
		if _, err := AppendBytes(dst[:0], l, hashOnly, json); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzItem(f *testing.F) {
	f.Add(unhex(f, "02182a65416c696365"), []byte("k"))
	f.Fuzz(func(t *testing.T, item, k []byte) {
		l := &numbered{lists: [][]string{{"age", "name"}, {"x"}}}
		text, err := AppendJSON(nil, l, hashOnly, k, item)
		if err != nil {
			return
		}
		if !wire.Valid(text, 200) {
			t.Fatalf("%x was converted to invalid JSON: %s", item, text)
		}
		if again, err := AppendBytes(nil, l, hashOnly, text); err == nil {
			r := cbor.NewReader(again)
			for !r.Done() && r.Err() == nil {
				r.Skip()
			}
			if r.Err() != nil {
				t.Fatalf("%s was converted to invalid CBOR: %x", text, again)
			}
		}
	})
}

// TestProjectManyPaths projects elements that match only the last of many paths, level by
// level: trying the other paths must not consume everything below them.
func TestProjectManyPaths(t *testing.T) {
	const levels, each = 7, 3
	var paths []Path
	var add func(p Path)
	add = func(p Path) {
		if len(p) < 1+levels {
			for i := range each {
				add(append(p[:len(p):len(p)], Step{Index: i}))
			}
			return
		}
		name := "x"
		if p[1].Index == each-1 {
			name = "y"
		}
		paths = append(paths, append(p[:len(p):len(p)], Step{Name: name, Index: -1}))
	}
	add(Path{{Name: "a", Index: -1}})
	value := `{"M":{"y":{"N":"1"}}}`
	for range levels - 1 {
		value = `{"L":[` + strings.TrimSuffix(strings.Repeat(value+",", each), ",") + `]}`
	}
	got, err := AppendProjected(nil, paths, []byte(`{"a":{"L":[`+value+`]}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := cbor.NewReader(got)
	n, found := r.Map(), 0
	for ; r.More(&n); found++ {
		if id, v := r.Int(), r.Int(); id < int64(len(paths)*(each-1)/each) || v != 1 {
			t.Fatalf("got the value %d at path %d", v, id)
		}
	}
	if want := len(paths) / each; found != want || r.Close() != nil {
		t.Errorf("%d of %d found, %v", found, want, r.Err())
	}
}
