package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// transcript reads a whole feed and returns its events, one per line.
func transcript(src io.Reader, form FeedForm) string {
	var out strings.Builder
	r := NewFeedReader(src, form)
	var row Change
	for {
		kind, object, err := r.Next()
		switch {
		case err != nil:
			fmt.Fprintln(&out, err)
			return out.String()
		case kind == HeartbeatEvent:
			fmt.Fprintln(&out, "beat")
		case kind == EndEvent:
			fmt.Fprintf(&out, "last %s\n", LastSeq(object))
		default:
			if err := row.Parse(object); err != nil {
				fmt.Fprintln(&out, err)
				return out.String()
			}
			fmt.Fprintf(&out, "%s %s %t %s\n", row.ID, row.Rev, row.Deleted, row.Seq)
		}
	}
}

// withoutHeartbeats removes heartbeats from a transcript: each newline may be one if it arrives
// alone.
func withoutHeartbeats(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\nbeat", ""), "\n")
}

func TestReader(t *testing.T) {
	f := func(form FeedForm, feed string, want ...string) {
		t.Helper()
		check := func(how string, src io.Reader, clean func(string) string) {
			t.Helper()
			got := clean(strings.TrimSuffix(transcript(src, form), "\n"))
			if want := clean(strings.Join(want, "\n")); got != want {
				t.Errorf("%s %q: got\n%s\nwant:\n%s", how, feed, got, want)
			}
		}
		check("whole", strings.NewReader(feed), func(text string) string { return text })
		check("by byte", iotest.OneByteReader(strings.NewReader(feed)), withoutHeartbeats)
	}
	f(ContinuousFeed, "\n"+`{"seq":"1-x","id":"a","changes":[{"rev":"1-a"}]}`+"\n\r\n"+`{"seq":null,"id":"\u00fc\"\/\ud83d\ude00","changes":[{"rev":"2-b"},{"rev":"2-a"}],"deleted":true}`+"\n"+`{"last_seq":"2-y","pending":0}`+"\n",
		"beat", `a 1-a false "1-x"`, "beat", `ü"/😀 2-b true null`, `last "2-y"`, "EOF")
	f(ContinuousFeed, `{"seq":1,"id":"a","changes":[{"rev":"1-a"}]}`, "unexpected EOF")
	f(ContinuousFeed, "", "unexpected EOF")
	f(ContinuousFeed, "<html>\n", `not a feed of changes: line "<html>"`)
	f(ContinuousFeed, `{"seq":1,"id":"a"}`+"\n", `not a feed of changes: a row without id or revision: "{\"seq\":1,\"id\":\"a\"}"`)
	f(NormalFeed, `{"results":[],"last_seq":0}`, "last 0", "EOF")
	f(NormalFeed, `{"results":[`+"\n"+`{"seq":[3,"x"],"id":"a","changes":[{"rev":"1-a"}]},`+"\r\n"+`{"changes":[ { "rev" : "1-b" } ] , "id":"b}","seq":4}`+"\n"+`],`+"\n"+`"last_seq":"4-z","pending":0}`+"\n",
		`a 1-a false [3,"x"]`, "b} 1-b false 4", `last "4-z"`, "EOF")
	f(NormalFeed, " { \"results\" : [ ] }", "last ", "EOF")
	f(NormalFeed, `{"results":[{"seq":1,"id":"a","changes":[{"rev":"1-a"}]}`, `a 1-a false 1`, "unexpected EOF")
	f(NormalFeed, `{"results":[],"last_seq":`, "unexpected EOF")
	f(NormalFeed, `{"error":"not_found"}`, `not a feed of changes: "\"error\":\"" where "results" should be`)
	f(NormalFeed, `{"results":[7]}`, `not a feed of changes: '7' among the results`)
	f(NormalFeed, `{"results":[] ;`, `not a feed of changes: ';' after the results`)
	f(NormalFeed, `{"results":[{"a":]`, `not a feed of changes: "{\"a\":]"`)
}

func TestTooLong(t *testing.T) {
	long := `{"seq":1,"id":"` + strings.Repeat("x", MaxChange)
	for form, feed := range map[FeedForm]string{ContinuousFeed: long, NormalFeed: `{"results":[` + long} {
		r := NewFeedReader(strings.NewReader(feed), form)
		if _, _, err := r.Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("form %d: got %v", form, err)
		}
	}
}

// parseWithJSON parses a row with encoding/json.
func parseWithJSON(object []byte) (id, rev string, deleted bool, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return "", "", false, false
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(members["id"], &id) != nil || json.Unmarshal(members["changes"], &list) != nil || len(list) == 0 || json.Unmarshal(list[0]["rev"], &rev) != nil {
		return "", "", false, false
	}
	return id, rev, string(members["deleted"]) == "true", id != "" && rev != ""
}

// FuzzRow compares rows with encoding/json.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		`{"seq":"1-x","id":"a","changes":[{"rev":"1-a"}]}`,
		`{"\u0069d":"\ud800\u0041\t","changes":[{"r\u0065v":"1"},2],"deleted":true,"id":"b"}`,
		`{"doc":{"id":"x","a":[1,{"b":"}\\\""}]},"id":"c","changes":[{"rev":"9-z","rev":"8-y"}],"seq":null}`,
		`{"id":1,"changes":[{}]}`, `{}`, `{"id":"\ud83d\ude00\udc00","changes":[{"rev":"1"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		if !json.Valid(object) || !utf8.Valid(object) || len(object) == 0 || object[0] != '{' {
			return
		}
		var row Change
		err := row.Parse(object)
		id, rev, deleted, ok := parseWithJSON(object)
		if !ok {
			return // encoding/json also rejects other members of a wrong type
		}
		if err != nil || string(row.ID) != id || string(row.Rev) != rev || row.Deleted != deleted {
			t.Errorf("%s: got %q %q %t, %v; want %q %q %t", object, row.ID, row.Rev, row.Deleted, err, id, rev, deleted)
		}
	})
}

// FuzzReader checks that the events of a feed don't depend on how it is split, and that it
// ends.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"results":[`+"\n"+`{"seq":1,"id":"a","changes":[{"rev":"1-a"}]},`+"\n"+`],"last_seq":1}`), true)
	f.Add([]byte("\n"+`{"seq":1,"id":"a","changes":[{"rev":"1-a"}]}`+"\n"+`{"last_seq":1}`+"\n"), false)
	f.Fuzz(func(t *testing.T, feed []byte, results bool) {
		form := ContinuousFeed
		if results {
			form = NormalFeed
		}
		whole := transcript(strings.NewReader(string(feed)), form)
		parts := transcript(iotest.OneByteReader(strings.NewReader(string(feed))), form)
		if form == ContinuousFeed && whole != parts {
			t.Errorf("%q:\n%s\nin parts:\n%s", feed, whole, parts)
		}
		if withoutHeartbeats(whole) != withoutHeartbeats(parts) {
			t.Errorf("%q:\n%s\nin parts:\n%s", feed, whole, parts)
		}
	})
}
