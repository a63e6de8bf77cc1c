package ascii

import "testing"

func TestNear(t *testing.T) {
	words := []string{"item_ttl", "query_ttl", "listen", "limits", "tls"}
	f := func(word, want string) {
		t.Helper()
		if got := Near(word, words); got != want {
			t.Fatalf("Near(%q) = %q; want %q", word, got, want)
		}
	}
	f("item_tll", "item_ttl")
	f("itemTTL", "item_ttl")
	f("Listen", "listen")
	f("lisetn", "listen")
	f("limit", "limits")
	f("colour", "")
	f("", "")
}
