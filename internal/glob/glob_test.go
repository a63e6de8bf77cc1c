package glob

import "testing"

func TestMatch(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		if got := Match(pattern, name); got != want {
			t.Fatalf("Match(%q, %q) = %v", pattern, name, got)
		}
	}
	f("orders", "orders", true)
	f("orders", "orders2", false)
	f("orders", "order", false)
	f("orders*", "orders", true)
	f("orders*", "orders-eu", true)
	f("*", "", true)
	f("*-eu", "orders-eu", true)
	f("*-eu", "orders-us", false)
	f("a*b*c", "aXbYc", true)
	f("a*b*c", "abc", true)
	f("a*b*c", "acb", false)
	f("a*a", "a", false)
	f("**", "x", true)
	f("a*bc", "abcbc", true)
	f("*[x]*", "[x]", true)
	f("order?", "orders", true)
	f("order?", "order", false)
	f("?*", "", false)
	f("", "", true)
	f("*", "", true)
}
