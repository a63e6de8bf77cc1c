package policy

import (
	"strings"
	"testing"
)

func TestInvalidates(t *testing.T) {
	f := func(want bool, method string, status int) {
		t.Helper()
		if got := Invalidates(request(method), status); got != want {
			t.Errorf("%s %d: invalidates %t, want %t", method, status, got, want)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "FOO", "get"} {
		f(true, method, 200)
		f(true, method, 204)
		f(true, method, 303)
		f(false, method, 199)
		f(false, method, 400)
		f(false, method, 500)
	}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE"} {
		f(false, method, 200)
	}
}

func TestInvalidationTargets(t *testing.T) {
	f := func(u URI, want string, pairs ...string) {
		t.Helper()
		if got := strings.Join(InvalidationTargets(u, fieldsOf(pairs...)), " "); got != want {
			t.Errorf("%v %q: got %q, want %q", u, pairs, got, want)
		}
	}
	u := URI{"http", "example.com", "/a/b?c"}
	f(u, "")
	f(u, "/x?y", "Location", "/x?y")
	f(u, "/x /y", "Content-Location", "/y", "Location", "/x")
	f(u, "/a/x", "Location", "x")
	f(u, "/x", "Location", "../x")
	f(u, "/a/b?d", "Location", "?d")
	f(u, "/x", "Location", "http://example.com/x#fragment")
	f(u, "/x", "Location", "//EXAMPLE.com:80/x")
	f(u, "/%7Ex%2fy", "Location", "/%7Ex%2fy")
	f(u, "/a|b?{c}", "Location", "/a|b?{c}#d")
	f(u, `/a"b`, "Location", `HTTP://EXAMPLE.com/a"b`)
	f(u, "/c", "Location", "/a/../c")
	f(u, "", "Location", "http://example.comevil/x")
	f(u, "", "Location", "http://example.com@evil/x")
	f(u, "", "Location", "//evil/x")
	f(u, "/", "Location", "http://example.com")
	f(u, "/?q", "Location", "http://example.com?q")
	// Other origins, other schemes, and invalid URLs.
	f(u, "", "Location", "https://example.com/x")
	f(u, "", "Location", "http://example.com:8080/x")
	f(u, "", "Location", "http://example.org/x")
	f(u, "", "Location", "http://user@example.org/x")
	f(u, "", "Location", "mailto:a@example.com")
	f(u, "", "Location", "http:x")
	f(u, "", "Location", "http://[bad/x")
	f(u, "", "Location", "/%zz")
	// The target itself is invalidated anyhow.
	f(u, "", "Location", "/a/b?c", "Content-Location", "")
	secure := URI{"https", "example.com:8443", "/"}
	f(secure, "/x", "Location", "https://example.com:8443/x")
	f(secure, "", "Location", "https://example.com/x")
	f(URI{"https", "example.com", "/"}, "/x", "Location", "https://example.com:443/x")
	f(URI{"http", "[::1]:8080", "/"}, "/x", "Location", "http://[::1]:8080/x")
	f(URI{"http", "bad host", "/"}, "", "Location", "x")
}
