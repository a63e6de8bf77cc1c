package couch

import (
	"strings"
	"testing"
)

func TestDocument(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", `{"n":1}`)
	s.follow()
	s.requests()
	s.get("first", "/db/x", 200, `{"n":1}`, "fwd=uri-miss; stored")
	hit := s.get("again, in another form of the path", "//db//%78", 200, `{"n":1}`, "hit; detail=followed")
	if hit.header.Get("X-Couch-Request-Id") != "" || hit.header.Get("Age") != "" || hit.header.Get("Date") == "" {
		t.Errorf("a hit has %v", hit.header)
	}
	s.get("client has it", "/db/x", 304, "", "hit", "If-None-Match", hit.header.Get("ETag"))
	s.get("what is not there", "/db/y", 404, `{"error":"not_found","reason":"missing"}`, "fwd=uri-miss; stored")
	s.get("what is not there, again", "/db/y", 404, `{"error":"not_found","reason":"missing"}`, "hit")
	s.asked("in all", "a GET /db/x", "a GET /db/y")

	a.store("x", `{"n":2}`)
	s.settled()
	s.until(func() bool { return !strings.HasPrefix(s.ask("GET", "/db/x", "").how(), "hit") })
	s.get("past Kasoku", "/db/x", 200, `{"n":2}`, "hit")
	s.get("another document stays", "/db/y", 404, `{"error":"not_found","reason":"missing"}`, "hit")
}
