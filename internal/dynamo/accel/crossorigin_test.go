package accel

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
)

const (
	allowOrigin   = "Access-Control-Allow-Origin: *\r\n"
	exposeHeaders = "Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date\r\n"
)

// TestCrossOrigin sends requests from local and remote pages, to a service with signatures
// and to one without.
func TestCrossOrigin(t *testing.T) {
	signed := newFixture(t, func(c *Config, _ *cache.Config) { c.Keys = []Key{{ID: "A", Secret: "s"}} })
	open := newFixture(t)
	f := func(f *fixture, from string, allowed bool) {
		t.Helper()
		r := request("GetItem")
		r.Fields = append(r.Fields, http1.FieldsOf("Origin", from)...)
		if got := f.send(r, "["); strings.Contains(got.head, allowOrigin) != allowed || strings.Contains(got.head, exposeHeaders) != allowed {
			t.Errorf("%s: got %d %s", from, got.status, got.head)
		}
		r.Method, r.Fields = []byte("OPTIONS"), http1.FieldsOf("Origin", from, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x-amz-target,x")
		got := f.send(r, "")
		if !allowed {
			if got.status != 404 || strings.Contains(got.head, "Access-Control") {
				t.Errorf("%s: got %d %s", from, got.status, got.head)
			}
			return
		}
		for _, line := range []string{allowOrigin, exposeHeaders, "Access-Control-Allow-Headers: x-amz-target,x\r\n", "Access-Control-Allow-Methods: POST\r\n", "Access-Control-Max-Age: 172800\r\n"} {
			if got.status != 200 || got.body != "" || !strings.Contains(got.head, line) {
				t.Errorf("%s: got %d %q %s; want %s", from, got.status, got.body, got.head, line)
			}
		}
	}
	f(signed, "https://example.com", true)
	f(signed, "http://localhost:3000", true)
	f(open, "http://localhost:3000", true)
	f(open, "http://127.0.0.1", true)
	f(open, "http://[::1]:8080", true)
	f(open, "http://app.localhost", true)
	f(open, "https://example.com", false)
	f(open, "http://localhost.example.com", false)
	f(open, "http://127.0.0.1.example.com:80", false)
	f(open, "null", false)
	r := request("GetItem")
	if got := signed.send(r, "["); strings.Contains(got.head, "Access-Control") {
		t.Errorf("without an Origin field: %s", got.head)
	}
	r.Method = []byte("OPTIONS")
	if got := signed.send(r, ""); got.status != 404 {
		t.Errorf("without an Origin field: status %d", got.status)
	}
}

// TestNonJSONRepliesHaveIDs checks that replies that aren't JSON also have a request ID and a
// checksum.
func TestNonJSONRepliesHaveIDs(t *testing.T) {
	f := newFixture(t)
	r := request("GetItem")
	r.Path = []byte("/x")
	got := f.send(r, "{}")
	if got.status != 404 || got.body != "<UnknownOperationException/>\n" || !strings.Contains(got.head, "x-amz-crc32: 3552371480\r\n") || !strings.Contains(got.head, "x-amzn-RequestId: ") {
		t.Errorf("got %d %q %s", got.status, got.body, got.head)
	}
	r = request("GetItem")
	r.Method = []byte("GET")
	if got = f.send(r, ""); got.status != 200 || got.body != "healthy: 127.0.0.1 " || !strings.Contains(got.head, "x-amz-crc32: ") || !strings.Contains(got.head, "x-amzn-RequestId: ") {
		t.Errorf("got %d %q %s", got.status, got.body, got.head)
	}
}
