package jsonp

import (
	"regexp"
	"strings"
	"testing"
)

func TestReasonsAreComplete(t *testing.T) {
	if len(Reasons) != int(NotJSON)+1 {
		t.Fatalf("%d rows for %d reasons", len(Reasons), NotJSON+1)
	}
	token := regexp.MustCompile(`\A[a-z-]+\z`)
	names := map[string]bool{}
	for i, r := range Reasons {
		if int(r.Reason) != i || r.Reason.Info() != &Reasons[i] || r.Reason.String() != r.Name || r.Reason.Action() != r.Action {
			t.Errorf("row %d describes reason %d, %s", i, r.Reason, r.Reason)
		}
		if !token.MatchString(r.Name) || names[r.Name] || len(r.Help) < 20 || !strings.HasSuffix(r.Help, ".") {
			t.Errorf("%s: no name of its own, or no sentence about it", r.Name)
		}
		names[r.Name] = true
	}
	if Reason(99).String() != "unknown" || strings.Contains(Refusal, "\n") {
		t.Error("an unknown reason has a name, or the refusal more than one line")
	}
}

func TestAdmit(t *testing.T) {
	refuses := with(t, Dotted, nil)
	passes := with(t, Dotted, func(c *Config) { c.Invalid, c.Public = Pass, true })
	legacy := with(t, Legacy, nil)
	f := func(filter *Filter, method string, asked Asked, credentials bool, want Reason) {
		t.Helper()
		if got := filter.Admit([]byte(method), asked, credentials); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(refuses, "GET", Named, false, Wrapped)
	f(refuses, "HEAD", Named, false, Wrapped)
	f(refuses, "POST", Named, false, OtherMethod)
	f(refuses, "OPTIONS", Misnamed, false, OtherMethod)
	f(refuses, "get", Named, false, OtherMethod)
	f(refuses, "GET", NotAsked, true, NoCallback)
	f(refuses, "GET", Misnamed, false, BadName)
	f(refuses, "GET", Misnamed, true, BadName)
	f(refuses, "GET", Named, true, HasCredentials)
	f(passes, "GET", Misnamed, false, BadNamePassed)
	f(passes, "GET", Named, true, Wrapped)
	f(legacy, "GET", Misnamed, false, BadNamePassed)
	f(legacy, "GET", Named, true, Wrapped)
}

func TestJudge(t *testing.T) {
	success := with(t, Dotted, func(c *Config) { c.Types = []string{"Text/JavaScript"} })
	envelope := with(t, Dotted, func(c *Config) { c.Errors = Envelope })
	asIs := with(t, Dotted, func(c *Config) { c.Errors = AsIs })
	legacy := with(t, Legacy, nil)
	const json, html = "application/json", "text/html"
	f := func(filter *Filter, status int, kind, coding string, body Kind, want Reason) {
		t.Helper()
		a := Answer{Status: status, ContentType: []byte(kind), ContentEncoding: []byte(coding), Kind: body}
		if got := filter.Judge(&a); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, filter := range []*Filter{success, envelope, asIs} {
		for _, status := range []int{200, 201, 203} {
			f(filter, status, json, "", JSON, Wrapped)
			f(filter, status, json, "", Unseen, Wrapped)
			f(filter, status, json, "gzip", Unseen, Encoded)
			f(filter, status, html, "gzip", JSON, OtherType)
		}
		f(filter, 204, json, "", Empty, NoBody)
		f(filter, 205, json, "", Empty, NoBody)
		f(filter, 304, json, "", Empty, NoBody)
		f(filter, 101, json, "", Empty, NoBody)
		f(filter, 206, json, "", JSON, Part)
		f(filter, 200, json, "", Other, NotJSON)
		f(filter, 200, "APPLICATION/Json ; charset=UTF-8", "identity", JSON, Wrapped)
		f(filter, 200, "application/problem+json", "", JSON, Wrapped)
		f(filter, 200, "application/hal+JSON;v=1", "", JSON, Wrapped)
		f(filter, 200, "+json", "", JSON, OtherType)
		f(filter, 200, "x+json", "", JSON, OtherType)
		f(filter, 200, "application/jsonx", "", JSON, OtherType)
		f(filter, 200, "application/json-seq", "", JSON, OtherType)
		f(filter, 200, "", "", JSON, OtherType)
		f(filter, 200, html, "", JSON, OtherType)
	}
	f(success, 200, "text/javascript; charset=utf-8", "", JSON, Wrapped)
	f(asIs, 200, "text/javascript", "", JSON, OtherType)

	for _, status := range []int{202, 301, 404, 500} {
		f(success, status, json, "", JSON, OtherStatus)
		f(asIs, status, json, "", JSON, Wrapped)
		f(asIs, status, html, "", JSON, OtherType)
		f(asIs, status, json, "", Empty, NoContent)
	}
	f(success, 200, json, "", Empty, NoContent)
	f(envelope, 200, json, "", Empty, Wrapped)
	f(envelope, 302, json, "", JSON, OtherStatus)
	for _, status := range []int{202, 404, 500} {
		f(envelope, status, json, "", JSON, Enveloped)
		f(envelope, status, json, "", Empty, Enveloped)
		f(envelope, status, json, "", Other, Enveloped)
		f(envelope, status, html, "", Other, Enveloped)
		f(envelope, status, html, "gzip", Other, Enveloped)
		f(envelope, status, json, "gzip", Unseen, Encoded)
	}

	f(legacy, 200, html, "", JSON, Wrapped)
	f(legacy, 200, "Text/HTML; charset=utf-8", "", JSON, Wrapped)
	f(legacy, 200, html, "", Other, Wrapped)
	f(legacy, 200, html, "", Empty, NoContent)
	f(legacy, 200, html, "gzip", Unseen, Encoded)
	f(legacy, 200, json, "", JSON, OtherType)
	for _, status := range []int{201, 404, 500} {
		f(legacy, status, html, "", JSON, OtherStatus)
	}
	f(legacy, 206, html, "", JSON, Part)
}

// An envelope goes around a body that is JSON, and stands alone for others.
func TestBare(t *testing.T) {
	filter := with(t, Dotted, func(c *Config) { c.Errors = Envelope })
	f := func(kind string, body Kind, want bool) {
		t.Helper()
		if got := filter.Bare(&Answer{Status: 404, ContentType: []byte(kind), Kind: body}); got != want {
			t.Errorf("%s, %d: got %v", kind, body, got)
		}
	}
	f("application/json", JSON, false)
	f("application/json", Empty, false)
	f("application/json", Other, true)
	f("text/html", Other, true)
	f("text/html", JSON, true)
}
