package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

func TestNamedDocuments(t *testing.T) {
	f := func(method, path, body, destination, want string) {
		t.Helper()
		r := Classify([]byte(method), nil, []byte(path), nil)
		ids, ok := WriteIDs(&r, []byte(body), destination)
		if got := fmt.Sprintf("%q %t", ids, ok); got != want {
			t.Errorf("%s %s %s%s: got %s; want %s", method, path, body, destination, got, want)
		}
	}
	f("PUT", "/db/a", `{"_id":"x"}`, "", `[] true`) // the path counts
	f("POST", "/db", `{"_id":"a\u00fc","n":1}`, "", `["aü"] true`)
	f("POST", "/db", `{"n":{"_id":"x"}}`, "", `[] true`)
	f("POST", "/db", `{"_id":"a","\u005fid":"b","_ID":"c"}`, "", `["a" "b"] true`)
	f("POST", "/db", ` {"docs":[{"_id":"x"}]}`, "", `["x"] true`)
	f("POST", "/db", `{"_id":`, "", `[] false`)
	f("POST", "/db", ``, "", `[] false`)
	f("POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"},{},{"_id":"_design/d"}],"new_edits":false}`, "", `["a" "_design/d"] true`)
	f("POST", "/db/_bulk_docs", `{"docs":[]}`, "", `[] true`)
	f("POST", "/db/_bulk_docs", `[{"_id":"a"}]`, "", `[] false`)
	f("COPY", "/db/a", "", "b", `["b"] true`)
	f("COPY", "/db/a", "", "b%2Fc?rev=1-a", `["b/c"] true`)
	f("COPY", "/db/a", "", "_design/d", `["_design/d"] true`)
	f("COPY", "/db/a", "", "", `[] false`)
	f("COPY", "/db/a", "", "b+c", `[] false`)
	f("COPY", "/db/a", "", "http://h/db/b", `[] false`)
	f("COPY", "/db/a", "", "%zz", `[] false`)
}

// TestNamedTouches checks that unknown IDs differ from a body without IDs: the first invalidates
// every document.
func TestNamedTouches(t *testing.T) {
	r := Classify([]byte("POST"), nil, []byte("/db"), nil)
	if ids, _ := WriteIDs(&r, []byte(`{}`), ""); ids == nil {
		t.Error("a document without an ID returned nil")
	}
	if ids, _ := WriteIDs(&r, []byte(`{`), ""); ids != nil {
		t.Error("an invalid body returned IDs")
	}
}

func TestOf(t *testing.T) {
	f := func(status int, body, updated, by, want string) {
		t.Helper()
		stored, ok := StoredRevisions(status, []byte(body), updated, by)
		if got := fmt.Sprintf("%s %t", stored, ok); got != want {
			t.Errorf("%d %s: got %s; want %s", status, body, got, want)
		}
	}
	f(303, "", "2-a", "a", "[{a 2-a}] true")
	f(500, "", "2-a", "a", "[{a 2-a}] true")
	f(303, "", "2-a", "", "[] false") // CouchDB 1.0 does not name the document
	f(201, `{"ok":true,"id":"a","rev":"1-a"}`+"\n", "", "", `[{a 1-a}] true`)
	f(202, `{"id":"a","rev":"1-a"}`, "", "", `[{a 1-a}] true`)
	f(201, `[{"ok":true,"id":"a","rev":"1-a"},{"id":"b","error":"conflict","reason":"x"},{"id":"c","rev":"2-c"}]`, "", "", `[{a 1-a} {c 2-c}] true`)
	f(201, `[]`, "", "", `[] false`)
	f(201, `[1]`, "", "", `[] false`)
	f(201, `<p>1</p>`, "2-b", "a", `[{a 2-b}] true`)
	f(201, `<p>1</p>`, "", "", `[] false`)
	f(201, `{"ok":true}`, "", "", `[] false`)
	f(409, `{"error":"conflict"}`, "", "", `[] true`)
	f(500, ``, "", "", `[] false`)
	f(0, ``, "", "", `[] false`)
}

// FuzzNamed compares the IDs of a document with encoding/json.
func FuzzNamed(f *testing.F) {
	f.Add([]byte(`{"docs":[{"_id":"a"},{"_id":[]}],"_id":"\ud83d\ude00"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := Classify([]byte("POST"), nil, []byte("/db"), nil)
		ids, ok := WriteIDs(&r, body, "")
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil || members == nil {
			if ok {
				t.Errorf("%q isn't an object, but got the IDs %q", body, ids)
			}
			return
		}
		var id string
		if json.Unmarshal(members["_id"], &id) != nil || id == "" || bytes.ContainsRune([]byte(id), '\uFFFD') {
			return
		}
		for _, got := range ids {
			if string(got) == id {
				return
			}
		}
		t.Errorf("%q: %q lack %q", body, ids, id)
	})
}
