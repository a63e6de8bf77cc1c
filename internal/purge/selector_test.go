package purge

import (
	"encoding/json"
	"testing"
)

// Each kind has a JSON member of the same name.
func TestMembers(t *testing.T) {
	var m Members
	for _, k := range Kinds() {
		*m.Of(k) = json.RawMessage(`"` + k.String() + `"`)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]string{}
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds() {
		if name := k.String(); name == "" || members[name] != name {
			t.Errorf("member %q is %q", name, members[name])
		}
	}
	if len(members) != len(Kinds()) {
		t.Errorf("%d members for %d kinds: %s", len(members), len(Kinds()), data)
	}
}

func TestSelector(t *testing.T) {
	f := func(s Selector, words string, valid bool) {
		t.Helper()
		if s.String() != words || s.Valid() != valid {
			t.Errorf("%#v: got %q, %v; want %q, %v", s, s, s.Valid(), words, valid)
		}
	}
	f(Selector{}, "everything", true)
	f(By(URL, "http://h/a"), "http://h/a", true)
	f(By(Prefix, "/a"), "all that begins with /a", true)
	f(By(Pattern, "/*.png"), "all that matches /*.png", true)
	f(By(Tag, "t"), "all that is tagged t", true)
	f(By(Tag, ""), "all that is tagged ", false)
	f(By(All, "/a"), "everything/a", false)
	if By(Kind(len(kinds)), "a").Valid() {
		t.Error("an unknown kind is valid")
	}
}

func TestList(t *testing.T) {
	if got := List("a ", " or "); got != "a url, a prefix, a pattern or a tag" {
		t.Error(got)
	}
}
