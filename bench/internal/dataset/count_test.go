package dataset

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"
)

func TestCounts(t *testing.T) {
	keys := map[string]bool{}
	for k := range Counts {
		key := string(AppendCountKey(nil, k))
		if keys[key] {
			t.Fatalf("two values have the key %s", key)
		}
		keys[key] = true
		if n := len(AppendCount(nil, k)); n != len(AppendCount(nil, 0)) {
			t.Fatalf("value %d has %d bytes", k, n)
		}
		for _, callback := range []string{"", "f"} {
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(AppendCountRequest(nil, k, callback))))
			if err != nil {
				t.Fatal(err)
			}
			q := r.URL.Query()
			if got := q.Get("user_id") + "::" + q.Get("entry_id"); got != key || q.Get("callback") != callback {
				t.Fatalf("%v: got key %s and callback %q", r.URL, got, q.Get("callback"))
			}
		}
	}
	if got, want := string(AppendCountAnswer(nil, 0, "f")), `f({"status":"success", "count":1000});`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
