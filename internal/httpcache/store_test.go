package httpcache

import (
	"testing"
)

func TestFindAfterFill(t *testing.T) {
	s := open(t, Limits{})
	q := get("http://h/a")
	if f := s.Find(q); f.Object != nil || f.Miss != MissURI || f.Marked {
		t.Fatalf("an empty store has %+v", f)
	}
	o := fill(t, s, q, "hello", "ETag", `"1"`, "Age", "7", "Content-Length", "5")
	want := "Date: Fri, 15 Jan 2027 08:00:00 GMT\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\n"
	if string(o.Head.Lines) != want {
		t.Errorf("hits are sent with %q; want %q", o.Head.Lines, want)
	}
	if f := s.Find(get("http://h/b")); f.Object != nil {
		t.Error("found under another URL")
	}
}
