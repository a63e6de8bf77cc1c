package policy

import "testing"

func TestCompletion(t *testing.T) {
	strict, loose := Defaults(), Defaults()
	loose.LooseParts = true
	f := func(o *Options, want string, pairs ...string) {
		t.Helper()
		client := fieldsOf("Foo", "1", "If-None-Match", "x", "Range", "bytes=0-1")
		got := "no"
		if h, ok := Completion(nil, client, response(206, pairs...), o); ok {
			got = lines(h)
		}
		if got != want {
			t.Errorf("%q\n  got  %q\n  want %q", pairs, got, want)
		}
	}
	const part = "Content-Range"
	f(&strict, `Foo: 1 | Range: bytes=4- | If-Range: "a"`, part, "bytes 0-3/10", "ETag", `"a"`)
	f(&strict, "no", part, "bytes 0-3/10", "ETag", `W/"a"`)
	f(&strict, "no", part, "bytes 0-3/10", "ETag", "a")
	f(&strict, "no", part, "bytes 0-3/10", "Last-Modified", at(-1000))
	f(&strict, "no", part, "bytes 1-3/10", "ETag", `"a"`)
	f(&strict, "no", part, "bytes 0-9/10", "ETag", `"a"`)
	f(&strict, "no", part, "bytes 0-3/*", "ETag", `"a"`)
	f(&loose, `Foo: 1 | Range: bytes=4- | If-Range: "a"`, part, "bytes 0-3/10", "ETag", `"a"`)
	f(&loose, "Foo: 1 | Range: bytes=4-", part, "bytes 0-3/10")
	f(&loose, "no", part, "bytes 0-3/10", "ETag", `W/"a"`)
	if _, ok := Completion(nil, nil, response(200, part, "bytes 0-3/10", "ETag", `"a"`), &strict); ok {
		t.Error("a part is completed for a request without Range")
	}
}

func TestCompletes(t *testing.T) {
	strict, loose := Defaults(), Defaults()
	loose.LooseParts = true
	f := func(o *Options, want bool, status int, stored, tag, rest, restTag string) {
		t.Helper()
		r := response(206, "Content-Range", stored, "ETag", tag)
		if got := Completes(response(status, "Content-Range", rest, "ETag", restTag), r, o); got != want {
			t.Errorf("%s %s and %d %s %s: completes %t, want %t", stored, tag, status, rest, restTag, got, want)
		}
	}
	f(&strict, true, 206, "bytes 0-3/10", `"a"`, "bytes 4-9/10", `"a"`)
	f(&strict, false, 200, "bytes 0-3/10", `"a"`, "bytes 4-9/10", `"a"`)
	f(&strict, false, 206, "bytes 0-3/10", `"a"`, "bytes 4-9/10", `"b"`)
	f(&strict, false, 206, "bytes 0-3/10", `"a"`, "bytes 4-9/10", "")
	f(&strict, false, 206, "bytes 0-3/10", `W/"a"`, "bytes 4-9/10", `W/"a"`)
	f(&strict, false, 206, "bytes 0-3/10", `"a"`, "bytes 5-9/10", `"a"`)
	f(&strict, false, 206, "bytes 0-3/10", `"a"`, "bytes 3-9/10", `"a"`)
	f(&strict, false, 206, "bytes 0-3/10", `"a"`, "bytes 4-8/10", `"a"`)
	f(&strict, false, 206, "bytes 0-3/10", `"a"`, "bytes 4-10/11", `"a"`)
	f(&strict, false, 206, "bytes 0-3/10", `"a"`, "", `"a"`)
	f(&strict, false, 206, "bytes 0-3/10", "", "bytes 4-9/10", "")
	f(&loose, true, 206, "bytes 0-3/10", "", "bytes 4-9/10", "")
	f(&loose, false, 206, "bytes 0-3/10", "", "bytes 4-9/10", `"a"`)
}

func TestCompleteFields(t *testing.T) {
	got := lines(CompleteFields(nil, fieldsOf("A", "1", "B", "2", "Content-Range", "bytes 0-3/10", "Content-Length", "4", "Age", "9"),
		fieldsOf("A", "3", "Content-Range", "bytes 4-9/10", "Content-Length", "6", "C", "4")))
	if got != "B: 2 | A: 3 | C: 4" {
		t.Errorf("got %q", got)
	}
}
