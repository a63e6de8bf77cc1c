package store

import (
	"strconv"
	"strings"
	"testing"
)

func TestGroupsOfOtherHosts(t *testing.T) {
	a, b := get("http://a/x"), get("http://b/x")
	for _, q := range []*Query{a, b} {
		if h := head(q, "Cache-Groups", `"g"`).AddGroups(q.Key); len(h.Tags.slots) != 1 {
			t.Errorf("%s: tags %v", q.Key, h.Tags)
		}
	}
	if groupSlot(a.Key, "g") == groupSlot(b.Key, "g") || groupSlot(a.Key, "g") == groupSlot(a.Key, "h") {
		t.Error("groups of two hosts, or two groups of one host, have the same slot")
	}
	if string(a.Key) != "http://a/x" {
		t.Errorf("the key was changed to %q", a.Key)
	}
	many := `"g"` + strings.Repeat(`, "h"`, maxTags)
	if h := head(a, "Cache-Groups", many).AddGroups(a.Key); !h.Tags.all {
		t.Error("a response with too many groups does not have all tags")
	}
}

// Inherited tags are not inherited again.
func TestInheritedTags(t *testing.T) {
	of := func(fields ...string) *Head { return head(get(url), fields...) }
	first := of("Surrogate-Key", "a b")
	second := of("Surrogate-Key", "b c").InheritTags(first)
	third := of().InheritTags(second)
	tags := ""
	for i := range maxTags + 1 {
		tags += " " + strconv.Itoa(i)
	}
	many := of("Surrogate-Key", tags).InheritTags(third)
	f := func(h *Head, tag string, want bool) {
		t.Helper()
		p := newPurges()
		p.addTag(tag, false)
		if v, _ := p.since(0, subject{[]byte(url), h}); (v == purged) != want {
			t.Errorf("tag %s: purged %v, want %v", tag, v == purged, want)
		}
	}
	f(second, "a", true)
	f(second, "b", true)
	f(second, "c", true)
	f(third, "a", false)
	f(third, "c", true)
	f(many, "any", true)
	f(of().InheritTags(many), "any", true)
	f(of().InheritTags(of().InheritTags(many)), "any", false)
}
