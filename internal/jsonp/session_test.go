package jsonp

import (
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// get returns a GET request with a query.
func get(query string, fields ...string) *http1.Request {
	return &http1.Request{
		Method: []byte("GET"), Target: []byte("/a?" + query), Path: []byte("/a"), RawQuery: []byte(query), Fields: http1.FieldsOf(fields...),
	}
}

func TestSession(t *testing.T) {
	f := with(t, Dotted, func(c *Config) { c.Strip, c.Errors = []string{"_"}, Envelope })
	var s Session
	check := func(query string, fields []string, does Action, why Reason, admitted, decided bool) {
		t.Helper()
		s.Reset()
		if got := s.Admit(f, get(query, fields...), []string{"X-User"}); got != does || s.Reason() != why || s.Admitted() != admitted || s.Decided() != decided {
			t.Errorf("%s: got %v, %s, admitted %t, decided %t; want %v, %s, %t, %t", query, got, s.Reason(), s.Admitted(), s.Decided(), does, why, admitted, decided)
		}
	}
	check("", nil, LeaveIt, NoCallback, false, false)
	check("x=1", nil, LeaveIt, NoCallback, false, false)
	check("callback=a-b", nil, RefuseIt, BadName, false, true)
	for _, field := range []string{"cookie", "authorization", "x-user"} {
		check("callback=a", []string{field, "u"}, LeaveIt, HasCredentials, false, true)
	}
	if got := s.Lines(); got != HasCredentials.Info().Lines {
		t.Errorf("lines: %q", got)
	}
	check("callback=a", []string{"If-None-Match", `"1"`}, WrapIt, Wrapped, true, false)
	if got := string(s.AppendStatus(nil)); got != "" || s.Wraps() {
		t.Errorf("decided before the answer is judged: %q", got)
	}
	a := Answer{Status: 200, ContentType: []byte("application/json"), ContentEncoding: []byte("gzip")}
	if s.Judge(a) != DecodeIt || s.JudgeDecoded() != WrapIt || s.JudgeBody(Other) != LeaveIt || s.JudgeBody(JSON) != WrapIt {
		t.Errorf("the session ended with %s, want wrapped", s.Reason())
	}
	if got := string(s.AppendStatus(nil)); got != "; jsonp=wrapped" || !s.Wraps() || s.Bare() {
		t.Errorf("status %q", got)
	}
	c := s.Wrap()
	tag := string(c.AppendETag(nil, []byte(`"1"`)))
	if s.NotModified([]byte(`"1"`)) || !s.Wraps() {
		t.Error("the plain answer's tag matches the wrapped answer")
	}
	check("callback=a", []string{"if-none-match", tag}, WrapIt, Wrapped, true, false)
	s.JudgeBody(JSON)
	s.Judge(Answer{Status: 200, ContentType: a.ContentType, Kind: JSON})
	if s.Wrap(); !s.NotModified([]byte(`"1"`)) {
		t.Errorf("%s does not match", tag)
	}
	s.Judge(Answer{Status: 404, ContentType: []byte("text/plain")})
	if got := string(s.Wrap().AppendEmpty(nil)); got != `/**/a({"status":404,"data":null});` || !s.Bare() {
		t.Errorf("envelope %q", got)
	}
	if s.Cancel(); s.Wraps() || s.Admitted() {
		t.Error("the session is still wrapping or admitted after Cancel")
	}
}

func TestSessionStrip(t *testing.T) {
	f := with(t, Dotted, func(c *Config) { c.Strip = []string{"_"} })
	var s Session
	for query, want := range map[string][2]string{
		"":                   {"", ""},
		"x=1":                {"", "x=1"},
		"x=1&callback=a&_=2": {"/a?x=1", "x=1"},
		"callback=a":         {"/a", ""},
	} {
		target, bare := s.Strip(f, []byte("/a"), []byte(query))
		if string(target) != want[0] || string(bare) != want[1] || len(bare) == 0 && len(query) > 0 && bare != nil {
			t.Errorf("%q: got %q, %q; want %q", query, target, bare, want)
		}
	}
	if target, bare := s.Strip(nil, nil, []byte("callback=a")); target != nil || string(bare) != "callback=a" {
		t.Errorf("without a filter: %q, %q", target, bare)
	}
}

// TestSessionAllocatesNothing checks all steps of a session that is reused.
func TestSessionAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates by itself")
		return
	}
	f := with(t, Dotted, func(c *Config) { c.Strip = []string{"_"} })
	r, body, dst := get("x=1&callback=a.b&_=7", "If-None-Match", `"2"`), []byte(`{"n":1}`), make([]byte, 0, 1<<10)
	a, tag := Answer{Status: 200, ContentType: []byte("application/json")}, []byte(`"1"`)
	var s Session
	if n := testing.AllocsPerRun(100, func() {
		s.Reset()
		_, _ = s.Strip(f, r.Path, r.RawQuery)
		if s.Admit(f, r, nil) != WrapIt {
			t.Fatal(s.Reason())
		}
		b := s.Scan(body)
		a.Kind = b.Kind
		if s.Judge(a) != WrapIt {
			t.Fatal(s.Reason())
		}
		c := s.Wrap()
		if s.NotModified(tag) {
			t.Fatal("not modified")
		}
		_ = c.Append(s.AppendStatus(dst), body, &b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
