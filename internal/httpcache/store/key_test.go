package store

import "testing"

func TestAppendKey(t *testing.T) {
	f := func(scheme, host, path string, query []byte, want string) {
		t.Helper()
		if got := string(AppendKey(nil, scheme, []byte(host), []byte(path), query)); got != want {
			t.Fatalf("got %s; want %s", got, want)
		}
	}
	f("http", "example.org", "/", nil, "http://example.org/")
	f("http", "Example.ORG:80", "/A", nil, "http://example.org/A")
	f("https", "example.org:443", "/", nil, "https://example.org/")
	f("https", "example.org:80", "/", nil, "https://example.org:80/")
	f("http", "example.org:443", "/", nil, "http://example.org:443/")
	f("http", "[::1]:80", "/", nil, "http://[::1]/")
	f("http", "h", "/a%2Fb//c", []byte("b=2&a=1"), "http://h/a%2Fb//c?b=2&a=1")
	f("http", "h", "/a", []byte(""), "http://h/a?")
	f("http", "h", "/a", []byte("x?y"), "http://h/a?x?y")
}

func TestParseURLSuccess(t *testing.T) {
	f := func(url, want string) {
		t.Helper()
		got, err := ParseURL(url)
		if err != nil || string(got) != want {
			t.Fatalf("ParseURL(%q) = %s, %v; want %s", url, got, err, want)
		}
	}
	f("http://h/", "http://h/")
	f("http://h", "http://h/")
	f("HTTP://H:80/A?b=C#d", "http://h/A?b=C")
	f("https://h:443?q", "https://h/?q")
	f("http://h/a?", "http://h/a?")
	f("http://h:8080/x", "http://h:8080/x")
	f("http://h./", "http://h./") // another key than http://h/
	f("http://[::1]:8080/%C3%A4?a=%20", "http://[::1]:8080/%C3%A4?a=%20")
}

func TestParseURLFailure(t *testing.T) {
	f := func(url string) {
		t.Helper()
		if got, err := ParseURL(url); err == nil {
			t.Fatalf("ParseURL(%q) = %s", url, got)
		}
	}
	f("")
	f("/a")
	f("h/a")
	f("ftp://h/a")
	f("http://")
	f("http:///a")
	f("http://user@h/a")
	f("http://user:secret@h/a")
	f("http://h:8o/")
	f("http://h,g/")
	f("http://[::1/")
	f("http://h h/")
	f("http://h/%")
	f("http://h/%4")
	f("http://h/%zz")
	f("http://h/?%g0")
	f("http://h/a b")
	f("http://h/\xc3\xa4")
	f("http://h/a\x00")
	f("http://h/../a")
	f("http://h/a/%2e%2E/..")
}

func TestTargetOf(t *testing.T) {
	f := func(key, want string) {
		t.Helper()
		if got := string(TargetOf([]byte(key))); got != want {
			t.Fatalf("TargetOf(%q) = %q, want %q", key, got, want)
		}
	}
	f("http://h/a?b=http://c/d", "/a?b=http://c/d")
	f("http://h/", "/")
	f("http://h", "")
	f("h/a", "")
}
