package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

const (
	applyNames  = `{"#dot":"x.y","#new":"new"}`
	applyValues = `{":n":{"N":"5"},":m":{"N":"1"},":s":{"S":"new"},":true":{"BOOL":true},":l":{"L":[{"S":"p"},{"S":"q"}]},":none":{"L":[]},":map":{"M":{"z":{"N":"1"}}},
		":ss":{"SS":["a","c"]},":all":{"SS":["a","b"]},":ns":{"NS":["1.0","7"]},":bs":{"BS":["AQ=="]},":big":{"N":"1E125"},":huge":{"N":"9E125"},":tiny":{"N":"1E-130"}}`
	old = `{"id":{"S":"k"},"n":{"N":"10"},"s":{"S":"text"},"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"}]},"m":{"M":{"k":{"N":"7"},"mm":{"M":{"x":{"S":"y"}}},"ll":{"L":[{"S":"e"}]}}},
		"ss":{"SS":["a","b"]},"ns":{"NS":["1","2"]},"bs":{"BS":["AQ=="]},"x.y":{"N":"1"}}`
	theKey = `{"id":{"S":"k"}}`
)

// apply runs an update. It returns the item after it, "nothing" or the error.
func apply(t testing.TB, u *Update, before string) string {
	t.Helper()
	it := item(t, before)
	after, err := u.Apply(it, item(t, theKey))
	switch {
	case err != nil:
		return err.Error()
	case after == nil:
		return "nothing"
	}
	if it != nil && string(it.AppendItem(nil)) != string(item(t, before).AppendItem(nil)) {
		t.Errorf("the update changed the old item: %s", it.AppendItem(nil))
	}
	return string(after.AppendItem(nil))
}

func update(t testing.TB, text string) *Update {
	t.Helper()
	u, err := ParseUpdate([]byte(text), names(t, applyNames), values(t, applyValues))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return u
}

// parts returns the named attributes of an item as text.
func parts(t testing.TB, text string, names ...string) string {
	t.Helper()
	if !strings.HasPrefix(text, "{") {
		return text
	}
	it := item(t, text)
	kept := value.Value{Type: value.Map}
	for _, name := range names {
		if v := it.Get(name); v != nil {
			kept.Members = append(kept.Members, value.Member{Name: name, Value: *v})
		}
	}
	return string(kept.AppendItem(nil))
}

func TestApply(t *testing.T) {
	f := func(text, attribute, want string) {
		t.Helper()
		got := parts(t, apply(t, update(t, text), old), attribute)
		if want != "" {
			want = `"` + attribute + `":` + want
		}
		if got != "{"+want+"}" {
			t.Errorf("%s: got %s; want {%s}", text, got, want)
		}
	}
	f("SET a = :n", "a", `{"N":"5"}`)
	f("SET n = :s", "n", `{"S":"new"}`)
	f("SET #dot = :s", "x.y", `{"S":"new"}`)
	f("SET a = m.mm", "a", `{"M":{"x":{"S":"y"}}}`)
	f("SET a = l[2]", "a", `{"N":"2"}`)
	f("SET m.k = :s", "m", `{"M":{"k":{"S":"new"},"mm":{"M":{"x":{"S":"y"}}},"ll":{"L":[{"S":"e"}]}}}`)
	f("SET m.#new = :n", "m", `{"M":{"k":{"N":"7"},"mm":{"M":{"x":{"S":"y"}}},"ll":{"L":[{"S":"e"}]},"new":{"N":"5"}}}`)
	f("SET m.k = :s", "n", `{"N":"10"}`)

	// Arithmetic.
	f("SET a = n + :n", "a", `{"N":"15"}`)
	f("SET a = n - :n", "a", `{"N":"5"}`)
	f("SET a = :n - n", "a", `{"N":"-5"}`)
	f("SET n = n + n", "n", `{"N":"20"}`)
	f("SET a = (l[1]) + m.k", "a", `{"N":"8"}`)
	f("SET a = if_not_exists(gone, :m) + :n", "a", `{"N":"6"}`)
	f("SET a = :tiny - :tiny", "a", `{"N":"0"}`)

	// Functions.
	f("SET a = if_not_exists(gone, :n)", "a", `{"N":"5"}`)
	f("SET a = if_not_exists(n, :n)", "a", `{"N":"10"}`)
	f("SET a = if_not_exists(n, gone)", "a", `{"N":"10"}`)
	f("SET a = if_not_exists(gone, if_not_exists(m.gone, s))", "a", `{"S":"text"}`)
	f("SET a = if_not_exists(m.k.x, :n)", "a", `{"N":"5"}`)
	f("SET a = list_append(l, :l)", "a", `{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"S":"p"},{"S":"q"}]}`)
	f("SET l = list_append(:l, l)", "l", `{"L":[{"S":"p"},{"S":"q"},{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"}]}`)
	f("SET a = list_append(if_not_exists(a, :none), :none)", "a", `{"L":[]}`)
	f("SET a = list_append(l, l)", "a", `{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"}]}`)

	// Lists: indexes are the old list's.
	f("SET l[1] = :s", "l", `{"L":[{"N":"0"},{"S":"new"},{"N":"2"},{"N":"3"}]}`)
	f("SET l[0] = l[1], l[1] = l[0]", "l", `{"L":[{"N":"1"},{"N":"0"},{"N":"2"},{"N":"3"}]}`)
	f("SET l[4] = :s", "l", `{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"S":"new"}]}`)
	f("SET l[100] = :s, l[7] = :n, l[50] = :m", "l", `{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"N":"5"},{"N":"1"},{"S":"new"}]}`)
	f("ADD l[9] :n SET l[8] = :m", "l", `{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"N":"1"},{"N":"5"}]}`)
	f("REMOVE l[0], l[2]", "l", `{"L":[{"N":"1"},{"N":"3"}]}`)
	f("REMOVE l[3], l[0], l[1], l[2]", "l", `{"L":[]}`)
	f("REMOVE l[9]", "l", `{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"}]}`)
	f("REMOVE l[1] SET l[3] = :s", "l", `{"L":[{"N":"0"},{"N":"2"},{"S":"new"}]}`)
	f("SET l[4] = :s REMOVE l[0]", "l", `{"L":[{"N":"1"},{"N":"2"},{"N":"3"},{"S":"new"}]}`)
	f("REMOVE l[1], l[3] SET l[2] = :n, l[9] = :m", "l", `{"L":[{"N":"0"},{"N":"5"},{"N":"1"}]}`)
	f("SET m.ll[0] = :n, m.ll[1] = :m REMOVE m.k", "m", `{"M":{"mm":{"M":{"x":{"S":"y"}}},"ll":{"L":[{"N":"5"},{"N":"1"}]}}}`)

	// Removal.
	f("REMOVE n", "n", "")
	f("REMOVE gone", "n", `{"N":"10"}`)
	f("REMOVE m.mm.x", "m", `{"M":{"k":{"N":"7"},"mm":{"M":{}},"ll":{"L":[{"S":"e"}]}}}`)
	f("REMOVE m.ll[0], m.k, m.gone", "m", `{"M":{"mm":{"M":{"x":{"S":"y"}}},"ll":{"L":[]}}}`)
	f("REMOVE #dot", "x.y", "")

	// ADD.
	f("ADD n :n", "n", `{"N":"15"}`)
	f("ADD a :n", "a", `{"N":"5"}`)
	f("ADD m.k :n", "m", `{"M":{"k":{"N":"12"},"mm":{"M":{"x":{"S":"y"}}},"ll":{"L":[{"S":"e"}]}}}`)
	f("ADD m.mm.n :n", "m", `{"M":{"k":{"N":"7"},"mm":{"M":{"x":{"S":"y"},"n":{"N":"5"}}},"ll":{"L":[{"S":"e"}]}}}`)
	f("ADD l[0] :n", "l", `{"L":[{"N":"5"},{"N":"1"},{"N":"2"},{"N":"3"}]}`)
	f("ADD ss :ss", "ss", `{"SS":["a","b","c"]}`)
	f("ADD ss :all", "ss", `{"SS":["a","b"]}`)
	f("ADD ns :ns", "ns", `{"NS":["1","2","7"]}`)
	f("ADD bs :bs", "bs", `{"BS":["AQ=="]}`)
	f("ADD a :ss", "a", `{"SS":["a","c"]}`)

	// DELETE.
	f("DELETE ss :ss", "ss", `{"SS":["b"]}`)
	f("DELETE ss :all", "ss", "")
	f("DELETE ns :ns", "ns", `{"NS":["2"]}`)
	f("DELETE bs :bs", "bs", "")
	f("DELETE a :ss", "a", "")
	f("DELETE m.a :ss", "m", `{"M":{"k":{"N":"7"},"mm":{"M":{"x":{"S":"y"}}},"ll":{"L":[{"S":"e"}]}}}`)

	// All operands are values from before the update.
	f("SET a = n, n = :n", "a", `{"N":"10"}`)
	f("SET n = :n, a = n + :m", "a", `{"N":"11"}`)
	f("REMOVE s SET a = s", "a", `{"S":"text"}`)
	f("ADD n :n SET a = n", "a", `{"N":"10"}`)
	f("SET m.k = :n, a = m", "a", `{"M":{"k":{"N":"7"},"mm":{"M":{"x":{"S":"y"}}},"ll":{"L":[{"S":"e"}]}}}`)
}

// TestApplyMany changes many attributes, which are then looked up in tables.
func TestApplyMany(t *testing.T) {
	var before, after, sets, removals []string
	for i := range 90 {
		was := fmt.Sprintf(`"a%d":{"N":"%d"}`, i, i)
		switch {
		case i < 30: // changed
			before = append(before, was)
			sets = append(sets, fmt.Sprintf("PREFIXa%d = PREFIXa%d + :m", i, i))
			after = append(after, fmt.Sprintf(`"a%d":{"N":"%d"}`, i, i+1))
		case i < 45: // unchanged
			before, after = append(before, was), append(after, was)
		case i < 70: // removed, also missing ones
			if i%3 > 0 {
				before = append(before, was)
			}
			removals = append(removals, fmt.Sprintf("PREFIXa%d", i))
		default: // new
			sets = append(sets, fmt.Sprintf("PREFIXa%d = :s", i))
			after = append(after, fmt.Sprintf(`"a%d":{"S":"new"}`, i))
		}
	}
	text := "SET " + strings.Join(sets, ", ") + " REMOVE " + strings.Join(removals, ", ")
	document := func(members []string) string { return "{" + strings.Join(members, ",") + "}" }
	f := func(prefix, before, want string) {
		t.Helper()
		got := apply(t, update(t, strings.ReplaceAll(text, "PREFIX", prefix)), before)
		if !strings.HasPrefix(got, "{") || !item(t, got).Equal(item(t, want)) {
			t.Errorf("got %s; want %s", got, want)
		}
	}
	f("", document(before), document(after))
	f("m.", `{"m":{"M":`+document(before)+`},"x":{"NULL":true}}`, `{"x":{"NULL":true},"m":{"M":`+document(after)+`}}`)
}

func TestApplyErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := apply(t, update(t, text), old); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	const (
		path     = "The document path provided in the update expression is invalid for update"
		missing  = "The provided expression refers to an attribute that does not exist in the item"
		typ      = "An operand in the update expression has an incorrect data type"
		overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
		nesting  = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
	)
	for _, text := range []string{"SET a.b = :n", "SET a[0] = :n", "SET m.gone.x = :n", "SET m[0] = :n", "SET l.x = :n", "SET n.x = :n", "SET l[9].x = :n", "SET l[0].x = :n", "SET ss[0] = :s",
		"REMOVE a.b", "REMOVE a[0]", "REMOVE m[0]", "REMOVE l.x", "REMOVE s.x", "REMOVE s[0]", "REMOVE m.gone.x", "ADD a.b :n", "ADD l.x :n", "DELETE a.b :ss", "DELETE m[0] :ss", "SET a = :n, b.c = :n"} {
		f(text, path)
	}
	for _, text := range []string{"SET a = b", "SET a = m.b", "SET a = l[4]", "SET a = s[0]", "SET a = b + :n", "SET a = :n - b", "SET a = list_append(b, :l)", "SET a = list_append(:l, b)", "SET a = if_not_exists(b, c)",
		"SET b = :n, a = b"} {
		f(text, missing)
	}
	for _, text := range []string{"SET a = s + :n", "SET a = :n - s", "SET a = ss + :n", "SET a = list_append(s, :l)", "SET a = list_append(l, ss)", "SET a = if_not_exists(s, :n) + :n", "SET a = if_not_exists(b, :s) + :n",
		"ADD s :n", "ADD l :n", "ADD n :ss", "ADD ss :n", "ADD ss :ns", "ADD l :ss", "DELETE n :ss", "DELETE ss :ns", "DELETE l :ss", "ADD m.mm :n", "DELETE m.k :ss"} {
		f(text, typ)
	}
	f("SET a = :big + :m", overflow) // not exact in 38 digits
	f("SET a = :huge + :huge", overflow)
	f("ADD n :huge, a :n", overflow)

	// The first action's error is reported, its path's before its value's. Operands are
	// computed from left to right.
	f("SET a.b = c", path)
	f("SET c = d, a.b = :n", missing)
	f("SET a.b = :n, c = s + :n", path)
	f("ADD s :n REMOVE a.b", typ)
	f("ADD a.b :ss", path)
	f("SET a = b + s", missing)
	f("SET a = s + b", typ)
	f("SET a = list_append(b, s)", missing)
	f("SET a = list_append(s, b)", typ)

	// 32 levels: the value at a path of 31 steps may not be a document with content.
	deep := `{"id":{"S":"k"},"a":` + strings.Repeat(`{"M":{"a":`, 31) + `{"S":"x"}` + strings.Repeat(`}}`, 31) + `}`
	steps := strings.Repeat(".a", 31)
	if got := apply(t, update(t, "SET a"+steps+" = :n"), deep); strings.HasPrefix(got, "Nesting") {
		t.Errorf("32 levels: %s", got)
	}
	if got := apply(t, update(t, "SET a"+steps+" = :none"), deep); strings.HasPrefix(got, "Nesting") {
		t.Errorf("an empty list at level 32: %s", got)
	}
	if got := apply(t, update(t, "SET a"+steps+" = :map"), deep); got != nesting {
		t.Errorf("33 levels: %s", got)
	}
	if got := apply(t, update(t, "SET a.a = a"), deep); got != nesting {
		t.Errorf("33 levels by copying: %s", got)
	}
	if got := apply(t, update(t, "SET a.a = list_append(:l, :l)"), deep); strings.HasPrefix(got, "Nesting") {
		t.Errorf("replaced levels are counted: %s", got)
	}
}

func TestApplyNoItem(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := apply(t, update(t, text), ""); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	f("SET a = :n", `{"id":{"S":"k"},"a":{"N":"5"}}`)
	f("ADD a :n", `{"id":{"S":"k"},"a":{"N":"5"}}`)
	f("ADD a :ss", `{"id":{"S":"k"},"a":{"SS":["a","c"]}}`)
	f("SET a = if_not_exists(a, :n) + :m", `{"id":{"S":"k"},"a":{"N":"6"}}`)
	f("SET a = id", `{"id":{"S":"k"},"a":{"S":"k"}}`)
	f("SET a = :n REMOVE b", `{"id":{"S":"k"},"a":{"N":"5"}}`)
	f("SET a = :n DELETE b :ss", `{"id":{"S":"k"},"a":{"N":"5"}}`)
	f("SET a = b", "The provided expression refers to an attribute that does not exist in the item")
	f("SET a.b = :n", "The document path provided in the update expression is invalid for update")
	f("SET a = :n REMOVE b.c", "The document path provided in the update expression is invalid for update")
	// An update that only removes attributes creates no item, and is not an error.
	f("REMOVE a", "nothing")
	f("REMOVE a.b, c[3]", "nothing")
	f("DELETE a :ss", "nothing")
	f("REMOVE a DELETE b.c :ss", "nothing")
	if got := apply(t, new(Update), ""); got != theKey {
		t.Errorf("an update without actions: %s", got)
	}
}

// TestUpdated checks that UPDATED_OLD and UPDATED_NEW return the values at the update's paths.
func TestUpdated(t *testing.T) {
	f := func(text, wantOld, wantNew string) {
		t.Helper()
		u, it := update(t, text), item(t, old)
		after, err := u.Apply(it, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		show := func(v *value.Value) string {
			if v = u.Updated(v); v == nil {
				return ""
			}
			return string(v.AppendItem(nil))
		}
		if got := show(it); got != wantOld {
			t.Errorf("%s: got old %s; want %s", text, got, wantOld)
		}
		if got := show(after); got != wantNew {
			t.Errorf("%s: got new %s; want %s", text, got, wantNew)
		}
	}
	f("SET n = :n", `{"n":{"N":"10"}}`, `{"n":{"N":"5"}}`)
	f("SET a = :n", "", `{"a":{"N":"5"}}`)
	f("REMOVE n", `{"n":{"N":"10"}}`, "")
	f("REMOVE gone", "", "")
	f("SET m.k = :n, a = :m", `{"m":{"M":{"k":{"N":"7"}}}}`, `{"m":{"M":{"k":{"N":"5"}}},"a":{"N":"1"}}`)
	f("SET m.mm.x = :n REMOVE m.k", `{"m":{"M":{"k":{"N":"7"},"mm":{"M":{"x":{"S":"y"}}}}}}`, `{"m":{"M":{"mm":{"M":{"x":{"N":"5"}}}}}}`)
	f("SET l[1] = :s", `{"l":{"L":[{"N":"1"}]}}`, `{"l":{"L":[{"S":"new"}]}}`)
	f("SET l[3] = :s, l[0] = :n", `{"l":{"L":[{"N":"0"},{"N":"3"}]}}`, `{"l":{"L":[{"N":"5"},{"S":"new"}]}}`)
	f("REMOVE l[1]", `{"l":{"L":[{"N":"1"}]}}`, `{"l":{"L":[{"N":"2"}]}}`) // the value that was moved to this position
	f("REMOVE l[3]", `{"l":{"L":[{"N":"3"}]}}`, "")
	f("SET l[100] = :s", "", "") // the appended values are missing
	f("ADD n :n", `{"n":{"N":"10"}}`, `{"n":{"N":"15"}}`)
	f("DELETE ss :ss", `{"ss":{"SS":["a","b"]}}`, `{"ss":{"SS":["b"]}}`)
	f("DELETE ss :all", `{"ss":{"SS":["a","b"]}}`, "")
	if v := update(t, "SET a = :n").Updated(nil); v != nil {
		t.Errorf("without an item: got %s", v.AppendItem(nil))
	}
}

func TestAllPaths(t *testing.T) {
	var got []string
	for _, p := range update(t, "SET a.b = if_not_exists(c[1], :n) + d, e = list_append(f, g) REMOVE h ADD i :n").AllPaths() {
		got = append(got, p.String())
	}
	if s := strings.Join(got, " "); s != "[a, b] [e] [h] [i] [c, [1]] [d] [f] [g]" {
		t.Errorf("got %s", s)
	}
}
