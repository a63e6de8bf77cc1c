package tree

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// render returns the text of an expression of a kind.
func (w *Placeholders) render(kind byte, container []byte) (text []byte, err error) {
	switch kind {
	case 'u':
		return w.Update(nil, container)
	case 'p':
		text, _, err = w.Projection(nil, container)
		return text, err
	}
	return w.Condition(nil, container, kind)
}

// TestRecorded converts trees that clients sent to the text with the same meaning.
func TestRecorded(t *testing.T) {
	file, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Kind, Expression, Tree, Text string
		Names                        map[string]string
	}
	if err := json.Unmarshal(file, &cases); err != nil || len(cases) != 51 {
		t.Fatal(len(cases), err)
	}
	var w Placeholders
	for _, c := range cases {
		w.Reset()
		got, err := w.render(c.Kind[0], unhex(t, c.Tree))
		if err != nil || string(got) != c.Text {
			t.Errorf("%s: got %s, %v, want %s", c.Expression, got, err, c.Text)
			continue
		}
		var names map[string]string
		if err := json.Unmarshal(w.AppendNames(nil), &names); err != nil || !reflect.DeepEqual(names, c.Names) {
			t.Errorf("%s: names %v, %v, want %v", c.Expression, names, err, c.Names)
		}
		var values map[string]any
		b, err := w.AppendValues(nil)
		if err == nil {
			err = json.Unmarshal(b, &values)
		}
		for name := range values {
			if !strings.Contains(c.Text, name) {
				err = fmt.Errorf("%s is not used", name)
			}
		}
		if err != nil || len(values) != strings.Count(c.Text, ":"+c.Kind) && !strings.Contains(c.Text, ":"+c.Kind) {
			t.Errorf("%s: values %s, %v", c.Expression, b, err)
		}
	}
}

// TestOneRequest converts several expressions that share names.
func TestOneRequest(t *testing.T) {
	var w Placeholders
	filter, err := w.Condition(nil, unhex(t, "83018306 83008212616182110083008212616282110182016179"), 'f')
	if err != nil {
		t.Fatal(err)
	}
	projection, paths, err := w.Projection(nil, unhex(t, "8201828212616283126161d90cfc03"))
	if err != nil {
		t.Fatal(err)
	}
	values, err := w.AppendValues(nil)
	got := fmt.Sprintf("%s | %s | %s | %s | %v", filter, projection, w.AppendNames(nil), values, paths)
	want := `#n0 = :f0 AND #n1 = :f1 | #n1, #n0[3] | {"#n0":"a","#n1":"b"} | {":f0":{"N":"1"},":f1":{"S":"y"}} | [[{b -1}] [{a -1} { 3}]]`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if !w.HasNames() || !w.HasValues() {
		t.Error("there are no placeholders")
	}
	if w.Reset(); w.HasNames() || w.HasValues() || string(w.AppendNames(nil)) != "{}" {
		t.Error("placeholders are left after Reset")
	}
	if want := []item.Path{{{Name: "b", Index: -1}}, {{Name: "a", Index: -1}, {Index: 3}}}; !reflect.DeepEqual(paths, want) {
		t.Errorf("got the paths %v", paths)
	}
}

func TestRefused(t *testing.T) {
	const path, one = "82126161", "821100"
	for _, c := range []struct {
		kind       byte
		tree, want string
	}{
		{'c', "", "the end where an array is expected"},
		{'c', "8301", "the message ends within an array or a map"},
		{'c', "820180", "an array of 2 items where 3 belong"},
		{'c', "830283 00" + path + one + "8101", "its format is 2, and 1 is the one that is known"},
		{'c', "830183 00" + path + one + "810100", "1 bytes behind the end"},
		{'c', "830183 00" + path + one + "80", "a reference to a value behind the last of 0"},
		{'c', "830183 00" + path + "821120" + "80", "a reference to value -1"},
		{'c', "830183 00" + path + "82111a7fffffff" + "80", "a reference to value 2147483647"},
		{'c', "830182 00" + path + "80", "operation 0 of 2 items is no condition"},
		{'c', "830183 1818" + path + path + "80", "operation 24 of 3 items is no condition"},
		{'c', "830183 00" + path + "8317" + path + one + "8101", "operation 23 of 3 items is no operand"},
		{'c', "830182 0b" + "8112" + "80", "a path of 0 parts"},
		{'c', "830182 0b" + "82124161" + "80", "a byte string where a text is expected"},
		{'c', "830182 0b" + "831261 61d90cf900" + "80", "the tag 3321 in a path"},
		{'c', "830182 0b" + "83126161d90cfc20" + "80", "the index -1 in a path"},
		{'c', "830183 06 82 0b" + path, "the end where an array is expected"},
		{'c', "830183 00 8210" + one + one + "8101", "the size of something other than a path"},
		{'u', "830181 8213" + path + "80", "operation 19 of 2 items is no action of an update"},
		{'u', "830181 8316" + path + path + "80", "operation 22 of 3 items is no action of an update"},
		{'u', "830181 8300" + path + path + "80", "operation 0 of 3 items is no action of an update"},
		{'u', "830181 8313" + one + path + "8101", "operation 17 where a path belongs"},
		{'u', "830181 8313" + path + "8210" + path + "80", "operation 16 of 2 items is nothing that an attribute can be set to"},
		{'p', "820181" + one, "operation 17 where a path belongs"},
		{'p', "830181" + path + "80", "an array of 3 items where 2 belong"},
	} {
		var w Placeholders
		if got, err := w.render(c.kind, unhex(t, c.tree)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %s, %v, want %s", c.tree, got, err, c.want)
		}
	}
	var w Placeholders
	if _, err := w.Condition(nil, make([]byte, maxBytes+1), 'c'); err == nil || !strings.Contains(err.Error(), "4194305 bytes") {
		t.Error(err)
	}
	if _, _, err := w.Projection(nil, make([]byte, maxTree+1)); err == nil || !strings.Contains(err.Error(), "65537 bytes") {
		t.Error(err)
	}
	deep := unhex(t, "8301"+strings.Repeat("8208", maxDepth+1)+"820b82126161"+"80")
	if _, err := w.Condition(nil, deep, 'c'); err == nil || !strings.Contains(err.Error(), "more than 400 levels") {
		t.Error(err)
	}
	sum := unhex(t, "83018183138212 6161"+strings.Repeat("831819821261 61", maxDepth)+"82126161 80")
	if _, err := w.Update(nil, sum); err == nil || !strings.Contains(err.Error(), "more than 400 levels") {
		t.Error(err)
	}
	w.Reset()
	if _, err := w.Condition(nil, unhex(t, "83018300821261618211 0081d90cfc01"), 'c'); err != nil {
		t.Fatal(err)
	}
	if got, err := w.AppendValues(nil); err == nil {
		t.Errorf("a value that is none became %s", got)
	}
}

// TestLargeValues parses expressions with values as large as items, and others with equally
// large trees.
func TestLargeValues(t *testing.T) {
	path := "82126161"
	value := hex.EncodeToString(cbor.AppendText(nil, strings.Repeat("v", 400<<10)))
	const many = 1 << 17
	count := func(kind string) string { return kind + fmt.Sprintf("%08x", many) } // kind begins an array's head
	long := strings.Repeat("82126161", many)
	refs := strings.Repeat("821100", many)
	for _, c := range []struct {
		kind       byte
		tree, want string
	}{
		{'u', "8301 81 8313" + path + "821100" + "81" + value, "SET #n0 = :u0"},
		{'u', "8301 82 8313" + path + "821100" + "8313" + path + "821101" + "82" + value + value, "SET #n0 = :u0, #n0 = :u1"},
		{'c', "8301 8300" + path + "821100" + "81" + value, "#n0 = :c0"},
		{'u', "8301" + count("9a") + strings.Repeat("8216"+path, many) + "80", ""},
		{'c', "8301 830a" + path + count("9a") + long + "80", ""},
		{'c', "8301 830a" + path + count("9a") + refs + "8100", ""},
		{'c', "8301 820b" + fmt.Sprintf("9a%08x12", many+1) + strings.Repeat("6161", many) + "80", ""},
		{'c', "8301 820b 8212" + value + "80", ""},
	} {
		var w Placeholders
		got, err := w.render(c.kind, unhex(t, c.tree))
		switch {
		case c.want != "" && (err != nil || string(got) != c.want):
			t.Errorf("%.60s: %.100s, %v", c.tree, got, err)
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), "more than 65536 bytes before its values")):
			t.Errorf("%.60s: %v", c.tree, err)
		case len(got) > 20*maxTree:
			t.Errorf("%.60s: %d bytes were written", c.tree, len(got))
		}
	}
}

// TestManyNames has more names than are looked for one by one, each of them twice.
func TestManyNames(t *testing.T) {
	const many = 300
	tree := cbor.AppendArray(cbor.AppendUint(cbor.AppendArray(nil, 2), 1), 2*many)
	for i := range 2 * many {
		tree = cbor.AppendText(cbor.AppendUint(cbor.AppendArray(tree, 2), opPath), fmt.Sprint("name", i%many))
	}
	var w Placeholders
	for range 2 {
		w.Reset()
		text, _, err := w.Projection(nil, tree)
		if err != nil || len(w.names) != many || !strings.HasSuffix(string(text), fmt.Sprintf("#n%d", many-1)) {
			t.Fatalf("%d names, %v", len(w.names), err)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	if race.Enabled {
		return
	}
	condition := unhex(t, "83018300821261618211008101")
	update := unhex(t, "830181831382126161831819821261618211008101")
	var w Placeholders
	dst := make([]byte, 0, 500)
	if n := testing.AllocsPerRun(100, func() {
		w.Reset()
		dst, _ = w.Condition(dst[:0], condition, 'c')
		dst, _ = w.Update(dst, update)
		dst, _ = w.AppendValues(w.AppendNames(dst))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzTree(f *testing.F) {
	for i, s := range []string{"83018300821261618211008101", "83018183138212616c83181883178212616c82110082110081816165", "8201858212616182126562652e746183126163616483126165d90cfc0084126165d90cfc016166"} {
		f.Add(unhex(f, s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, tree []byte, kind uint8) {
		var w Placeholders
		text, err := w.render("cupfk"[kind%5], tree)
		if err != nil {
			return
		}
		if len(text) > 16*len(tree)+64 {
			t.Fatalf("%d bytes became %d", len(tree), len(text))
		}
		if !json.Valid(w.AppendNames(nil)) {
			t.Fatalf("got %s", w.AppendNames(nil))
		}
		if b, err := w.AppendValues(nil); err == nil && !json.Valid(b) {
			t.Fatalf("got %s", b)
		}
	})
}
