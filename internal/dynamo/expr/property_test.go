package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"pgregory.net/rapid"
)

func TestMatchModel(t *testing.T) {
	trues, falses := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		text, want := s.condition(2)
		it, v := s.load(t)
		c, err := ParseCondition("Condition", []byte(text), nil, v)
		if err != nil {
			mayRefuse(t, text, err)
			return
		}
		if got := c.Match(it); got != want {
			t.Fatalf("%s\nitem %s\nconstants %s\ngot %v", text, marshal(s.item), s.values(), got)
		}
		if want {
			trues++
		} else {
			falses++
		}
	})
	if trues < 5 || falses < 5 {
		t.Errorf("too few cases: %d conditions were true, %d false", trues, falses)
	}
}

// load parses the scene like a store.
func (s *scene) load(t *rapid.T) (*value.Value, *Values) {
	it, err := value.ParseItem(marshal(s.item))
	if err != nil {
		t.Fatal(err)
	}
	v := new(Values)
	if err := v.Load(s.values()); err != nil {
		t.Fatal(err)
	}
	return &it, v
}

// mayRefuse accepts errors that the parser may find without an item.
func mayRefuse(t *rapid.T, text string, err error) {
	for _, what := range []string{"Incorrect operand type", "The first operand must be distinct", "The BETWEEN operator", "redundant parentheses"} {
		if strings.Contains(err.Error(), what) {
			return
		}
	}
	t.Fatalf("%s: %v", text, err)
}

func TestApplyModel(t *testing.T) {
	fine, faulty := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		for range 10 {
			text, edits := s.update()
			if len(edits) == 0 {
				continue
			}
			it, v := s.load(t)
			u, err := ParseUpdate([]byte(text), nil, v)
			if err != nil {
				mayRefuse(t, text, err)
				continue
			}
			before := string(it.AppendItem(nil))
			after, err := u.Apply(it, nil)
			want, fault := s.run(edits)
			if message(err) != fault {
				t.Fatalf("%s\nitem %s\nconstants %s\n%v; want %s", text, before, s.values(), err, fault)
			}
			if string(it.AppendItem(nil)) != before {
				t.Fatalf("%s changed its input\nfrom %s\nto   %s", text, before, it.AppendItem(nil))
			}
			if fault != "" {
				faulty++
				continue
			}
			fine++
			var got attr
			if err := json.Unmarshal(after.AppendItem(nil), &got); err != nil {
				t.Fatal(err)
			}
			if g, w := canonical(attr{"M": got}), canonical(attr{"M": want}); g != w {
				t.Fatalf("%s\nitem %s\nconstants %s\n%s\nwant %s", text, before, s.values(), g, w)
			}
		}
	})
	if fine < 5 || faulty < 5 {
		t.Errorf("too few cases: %d updates were valid, %d invalid", fine, faulty)
	}
}

// TestClashModel checks that the fast check of many paths finds the same conflicts as a comparison
// of all pairs.
func TestClashModel(t *testing.T) {
	fine, clashing := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var paths []Path
		want := false
		for range rapid.IntRange(1, 4).Draw(t, "paths") {
			_, p := drawPath(t)
			for _, q := range paths {
				want = want || p.relationTo(q) != apart
			}
			paths = append(paths, p)
		}
		if got := anyClash(paths); got != want {
			t.Fatalf("%v: got %v", paths, got)
		}
		if want {
			clashing++
		} else {
			fine++
		}
	})
	if fine < 5 || clashing < 5 {
		t.Errorf("too few cases: %d were valid, %d in conflict", fine, clashing)
	}
}

func TestManyPaths(t *testing.T) {
	f := func(last, want string) {
		t.Helper()
		var b strings.Builder
		for i := range 500 {
			fmt.Fprintf(&b, "a%d.b,", i)
		}
		_, err := ParsePaths([]byte(b.String()+last), nil)
		if got := message(err); got != want {
			t.Errorf("%s: got %s; want %s", last, got, want)
		}
	}
	const rewrite = " with each other; must remove or rewrite one of these paths; path one: "
	f("a500", "")
	f("a499.c", "")
	f("a7", "Invalid ProjectionExpression: Two document paths overlap"+rewrite+"[a7, b], path two: [a7]")
	f("a7.b.c", "Invalid ProjectionExpression: Two document paths overlap"+rewrite+"[a7, b], path two: [a7, b, c]")
	f("a7[0]", "Invalid ProjectionExpression: Two document paths conflict"+rewrite+"[a7, b], path two: [a7, [0]]")
	f("a7[0],a8.b", "Invalid ProjectionExpression: Two document paths overlap"+rewrite+"[a8, b], path two: [a8, b]")
}

// TestSelectionModel checks that projections of trees and of text return the same: the value at
// each path.
func TestSelectionModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		var paths []Path
		for range rapid.IntRange(1, 5).Draw(t, "paths") {
			_, p := drawPath(t)
			clash := false
			for _, q := range paths {
				clash = clash || p.relationTo(q) != apart
			}
			if !clash {
				paths = append(paths, p)
			}
		}
		it, _ := s.load(t)
		sel := NewSelection(paths)
		kept := sel.Of(it)
		text, ok := sel.Append(nil, it.AppendItem(nil))
		if !ok || string(text) != string(kept.AppendItem(nil)) {
			t.Fatalf("%v of %s: got %s from text, %s from the tree", paths, it.AppendItem(nil), text, kept.AppendItem(nil))
		}
		want := modelKeep(attr{"M": map[string]any(s.item)}, paths)
		if want == nil {
			want = attr{"M": map[string]any{}}
		}
		var got attr
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if g, w := canonical(attr{"M": map[string]any(got)}), canonical(want); g != w {
			t.Fatalf("%v of %s: got %s; want %s", paths, it.AppendItem(nil), g, w)
		}
	})
}
