package jsonp

import (
	"encoding/json"
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
			t.Errorf("%s: the name is malformed or used twice, or Help is not a sentence", r.Name)
		}
		names[r.Name] = true
		if refused := r.Action == RefuseIt; refused != (r.Status >= 400) || refused != json.Valid([]byte(r.Refusal)) || strings.Contains(r.Refusal, "\n") {
			t.Errorf("%s: action %v with the status %d and the refusal %q", r.Name, r.Action, r.Status, r.Refusal)
		}
		if r.Lines != "" && (r.Action != LeaveIt || !strings.HasSuffix(r.Lines, "\r\n")) {
			t.Errorf("%s: lines %q", r.Name, r.Lines)
		}
	}
	if Reason(99).String() != "unknown" {
		t.Error("an unknown reason has a name")
	}
}

func TestAdmit(t *testing.T) {
	refuses := with(t, Dotted, nil)
	passes := with(t, Dotted, func(c *Config) { c.Invalid, c.Public = Pass, true })
	scripts := with(t, Dotted, func(c *Config) { c.ScriptOnly = true })
	legacy := with(t, Legacy, nil)
	f := func(filter *Filter, r Request, want Reason) {
		t.Helper()
		if r.Method == nil {
			r.Method = []byte("GET")
		}
		if got := filter.Admit(&r); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	image, script := []byte("image"), []byte("script")
	f(refuses, Request{Name: NameValid}, Wrapped)
	f(refuses, Request{Method: []byte("HEAD"), Name: NameValid}, Wrapped)
	f(refuses, Request{Method: []byte("POST"), Name: NameValid}, OtherMethod)
	f(refuses, Request{Method: []byte("OPTIONS"), Name: NameInvalid}, OtherMethod)
	f(refuses, Request{Method: []byte("get"), Name: NameValid}, OtherMethod)
	f(refuses, Request{Name: NameAbsent, Credentials: true}, NoCallback)
	f(refuses, Request{Name: NameInvalid}, BadName)
	f(refuses, Request{Name: NameInvalid, Credentials: true}, BadName)
	f(refuses, Request{Name: NameValid, Credentials: true}, HasCredentials)
	f(refuses, Request{Name: NameValid, Destination: image}, Wrapped)
	f(passes, Request{Name: NameInvalid}, BadNamePassed)
	f(passes, Request{Name: NameValid, Credentials: true}, Wrapped)
	f(scripts, Request{Name: NameValid}, Wrapped)
	f(scripts, Request{Name: NameValid, Destination: script}, Wrapped)
	f(scripts, Request{Name: NameValid, Destination: image}, NotScript)
	f(scripts, Request{Name: NameValid, Destination: []byte{}}, NotScript)
	f(scripts, Request{Name: NameValid, Destination: image, Credentials: true}, NotScript)
	f(scripts, Request{Name: NameValid, Destination: script, Credentials: true}, HasCredentials)
	f(scripts, Request{Name: NameInvalid, Destination: image}, BadName)
	f(scripts, Request{Name: NameAbsent, Destination: image}, NoCallback)
	f(legacy, Request{Name: NameInvalid}, BadNamePassed)
	f(legacy, Request{Name: NameValid, Credentials: true}, HasCredentials)
}

func TestJudge(t *testing.T) {
	success := with(t, Dotted, func(c *Config) { c.Types = []string{"Text/JavaScript"} })
	envelope := with(t, Dotted, func(c *Config) { c.Errors = Envelope })
	asIs := with(t, Dotted, func(c *Config) { c.Errors = AsIs })
	legacy := with(t, Legacy, nil)
	const object, html = "application/json", "text/html"
	f := func(filter *Filter, status int, kind, coding string, body Kind, want Reason) {
		t.Helper()
		a := Answer{Status: status, ContentType: []byte(kind), ContentEncoding: []byte(coding), Kind: body}
		if got := filter.Judge(&a); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, filter := range []*Filter{success, envelope, asIs} {
		for _, status := range []int{200, 201, 203} {
			f(filter, status, object, "", JSON, Wrapped)
			f(filter, status, object, "", Unseen, Wrapped)
			f(filter, status, object, "gzip", Unseen, Encoded)
			f(filter, status, html, "gzip", JSON, OtherType)
		}
		f(filter, 204, object, "", Empty, NoBody)
		f(filter, 205, object, "", Empty, NoBody)
		f(filter, 304, object, "", Empty, NoBody)
		f(filter, 101, object, "", Empty, NoBody)
		f(filter, 206, object, "", JSON, Part)
		f(filter, 200, object, "", Other, NotJSON)
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
		f(success, status, object, "", JSON, OtherStatus)
		f(asIs, status, object, "", JSON, Wrapped)
		f(asIs, status, html, "", JSON, OtherType)
		f(asIs, status, object, "", Empty, NoContent)
	}
	f(success, 200, object, "", Empty, NoContent)
	f(envelope, 200, object, "", Empty, Wrapped)
	f(envelope, 302, object, "", JSON, OtherStatus)
	for _, status := range []int{202, 404, 500} {
		f(envelope, status, object, "", JSON, Enveloped)
		f(envelope, status, object, "", Empty, Enveloped)
		f(envelope, status, object, "", Other, Enveloped)
		f(envelope, status, html, "", Other, Enveloped)
		f(envelope, status, html, "gzip", Other, Enveloped)
		f(envelope, status, object, "gzip", Unseen, Encoded)
	}

	f(legacy, 200, html, "", JSON, Wrapped)
	f(legacy, 200, "Text/HTML; charset=utf-8", "", JSON, Wrapped)
	f(legacy, 200, html, "", Other, Wrapped)
	f(legacy, 200, html, "", Empty, NoContent)
	f(legacy, 200, html, "gzip", Unseen, Encoded)
	f(legacy, 200, object, "", JSON, OtherType)
	for _, status := range []int{201, 404, 500} {
		f(legacy, status, html, "", JSON, OtherStatus)
	}
	f(legacy, 206, html, "", JSON, Part)
}

// An envelope is bare if the body is not JSON.
func TestBare(t *testing.T) {
	filter := with(t, Dotted, func(c *Config) { c.Errors = Envelope })
	f := func(kind string, body Kind, want bool) {
		t.Helper()
		if got := filter.Bare(&Answer{Status: 404, ContentType: []byte(kind), Kind: body}); got != want {
			t.Errorf("%s, %d: bare %v, want %v", kind, body, got, want)
		}
	}
	f("application/json", JSON, false)
	f("application/json", Empty, false)
	f("application/json", Other, true)
	f("text/html", Other, true)
	f("text/html", JSON, true)
}
