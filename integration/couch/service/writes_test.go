package service

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
)

// edit changes a tweet's text and returns its new revision. It reads the current one from
// the same address.
func edit(t *testing.T, at *couch.Node, id, text string) string {
	t.Helper()
	old := at.Must(t, "GET", "/tweets/"+id, "").Body
	body := regexp.MustCompile(`"text":"[^"]*"`).ReplaceAllString(old, `"text":"`+text+`"`)
	return at.Must(t, "PUT", "/tweets/"+id, body).Rev(t)
}

// pages returns the paths that include a tweet: its own and those of results.
func pages(id string) []string {
	return []string{"/tweets/" + id, "/tweets" + view, "/tweets" + list(20) + "&descending=true", "/tweets/_design/tweets/_show/html/" + id,
		"/tweets/_all_docs?include_docs=true&startkey=%22" + id + "%22&limit=2"}
}

// TestWriteThrough checks that the next request after a write through Kasoku sees the write,
// on every node.
func TestWriteThrough(t *testing.T) {
	a, b := pair(t, 40)
	n := client(startKasoku(t, []string{a.URL, b.URL}).URL)
	for i := range 20 {
		id := fmt.Sprintf("t%05d", 39-i%5)
		for _, page := range pages(id) {
			n.Must(t, "GET", page, "")
		}
		text := fmt.Sprintf("edition %d of %s", i, id)
		edit(t, n, id, text)
		for _, page := range pages(id) {
			for range 2 {
				if got := n.Must(t, "GET", page, "").Body; !strings.Contains(got, text) {
					t.Fatalf("edition %d: %s does not show the write:\n%.600s", i, page, got)
				}
			}
		}
	}
}

// TestValidators checks that Kasoku adds validators to views and lists, which change only with the
// content.
func TestValidators(t *testing.T) {
	a, b := pair(t, 40)
	n := client(startKasoku(t, []string{a.URL, b.URL}).URL)
	for _, path := range []string{"/tweets" + view, "/tweets" + list(20), "/tweets/_all_docs?limit=5"} {
		first := n.Must(t, "GET", path, "")
		tag := first.Header.Get("ETag")
		if tag == "" || strings.HasPrefix(tag, "W/") {
			t.Errorf("%s: ETag %q", path, tag)
			continue
		}
		if got := n.Do(t, "GET", path, "", "If-None-Match", tag); got.Status != http.StatusNotModified || got.Body != "" || got.Header.Get("ETag") != tag {
			t.Errorf("%s: %d with %q for its own tag", path, got.Status, got.Header.Get("ETag"))
		}
		if got := n.Do(t, "GET", path, "", "If-None-Match", `"other"`); got.Status != http.StatusOK || got.Body != first.Body {
			t.Errorf("%s: %d for another tag", path, got.Status)
		}
	}
	// An answer that is equal after a change keeps its tag; a different one gets another.
	equal, other := "/tweets"+list(20), "/tweets"+view
	was, changed := n.Must(t, "GET", equal, "").Header.Get("ETag"), n.Must(t, "GET", other, "").Header.Get("ETag")
	edit(t, n, "t00039", "news")
	if got := n.Do(t, "GET", equal, "", "If-None-Match", was); got.Status != http.StatusNotModified {
		t.Errorf("%s, which is equal: %d", equal, got.Status)
	}
	if got := n.Do(t, "GET", other, "", "If-None-Match", changed); got.Status != http.StatusOK || got.Header.Get("ETag") == changed {
		t.Errorf("%s, which changed: %d with %q", other, got.Status, got.Header.Get("ETag"))
	}
}
