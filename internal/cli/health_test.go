package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestHealthOfUnreadyNode checks that the reason is printed if a node is not ready.
func TestHealthOfUnreadyNode(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || r.Header.Get("Authorization") != "" {
			t.Errorf("a request for %s with authorization %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte("not ready: stopping\n"))
	}))
	defer s.Close()
	t.Setenv(standardTokenEnv, "t0ken")
	var out, errs bytes.Buffer
	code := Main([]string{"health", "--admin", s.URL}, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv})
	if code != codeInput || out.Len() > 0 || !strings.Contains(errs.String(), "answers 503: not ready: stopping") {
		t.Errorf("exit code %d, output %q, errors %q", code, out.String(), errs.String())
	}
}
