package transfer

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewEndpoint(t *testing.T) {
	f := func(address string, ok bool) {
		t.Helper()
		if _, err := NewEndpoint(address, "us-east-1"); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	f("http://127.0.0.1:8000", true)
	f("http://127.0.0.1:8000/", true)
	f("https://dynamodb.eu-west-1.amazonaws.com", true)
	f("unix:/tmp/s", true)
	f("127.0.0.1:8000", false)
	f("localhost", false)
	f("ftp://localhost", false)
	f("http://localhost/path", false)
	f("http://user:password@localhost", false)
	f("", false)
}

// Requests to AWS are signed for the region of the host.
func TestRegionOfHost(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	f := func(address, want string) {
		t.Helper()
		e, err := NewEndpoint(address, "us-east-1")
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", address, nil)
		if err := e.sign(t.Context(), r, "ListTables", nil); err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Get("Authorization"); !strings.Contains(got, "/"+want+"/dynamodb/") {
			t.Errorf("%s: signed with %s", address, got)
		}
	}
	f("https://dynamodb.eu-west-1.amazonaws.com", "eu-west-1")
	f("https://dynamodb.cn-north-1.amazonaws.com.cn", "cn-north-1")
	f("http://localhost:8000", "us-east-1")
}

func TestErrors(t *testing.T) {
	status, body := 400, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write([]byte(body))
	}))
	defer s.Close()
	e, err := NewEndpoint(s.URL, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	f := func(code int, text, want string) {
		t.Helper()
		status, body = code, text
		if _, err := e.Call(t.Context(), "ListTables", []byte("{}")); err == nil || err.Error() != want {
			t.Errorf("%d %s: got %v", code, text, err)
		}
	}
	f(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no table"}`, "ResourceNotFoundException: no table")
	f(400, `{"__type":"x#AccessDeniedException","Message":"no"}`, "AccessDeniedException: no")
	f(500, `{"__type":"x#InternalServerError"}`, "InternalServerError")
	f(502, "<html>", "status 502, which is no answer of DynamoDB")
	f(200, "<html>", "status 200, which is no answer of DynamoDB")
	f(301, "{}", "status 301, which is no answer of DynamoDB")
	s.Close()
	if _, err := e.Call(t.Context(), "ListTables", nil); err == nil || !strings.HasPrefix(err.Error(), "no answer from "+s.URL) {
		t.Errorf("got %v", err)
	}
}

// A store that throttles or fails is asked again, until the time is over.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := make(chan error, 100)
		c := fakeCaller(results)
		f := func(want string, list ...error) {
			t.Helper()
			for _, err := range list {
				results <- err
			}
			_, err := c.call(t.Context(), "Scan", nil)
			if err != nil && err.Error() != want || err == nil && want != "" {
				t.Errorf("got %v, want %s", err, want)
			}
			if len(results) > 0 {
				t.Errorf("%d results are left", len(results))
			}
		}
		throttled := &ServiceError{400, "ThrottlingException", "slow"}
		f("", nil)
		f("", throttled, &ServiceError{500, "InternalServerError", ""}, &ServiceError{503, "", ""}, errors.New("reset"), nil)
		f("Scan: ValidationException: bad", throttled, &ServiceError{400, "ValidationException", "bad"})
		start := time.Now()
		for range 90 {
			results <- throttled
		}
		if _, err := c.call(t.Context(), "Scan", nil); err == nil || !strings.HasPrefix(err.Error(), "Scan: given up after 1m0s: Thrott") {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d < time.Minute || d > 70*time.Second {
			t.Errorf("given up after %s", d)
		}
	})
}

// An endpoint that has never answered is not asked again: its address may be wrong.
func TestWrongAddressFailsAtOnce(t *testing.T) {
	results := make(chan error, 1)
	results <- errors.New("connection refused")
	if _, err := fakeCaller(results).call(t.Context(), "ListTables", nil); err == nil || err.Error() != "ListTables: connection refused" {
		t.Errorf("got %v", err)
	}
}

// fakeCaller returns a caller whose requests get the results of a channel.
func fakeCaller(results chan error) *caller {
	c := &caller{giveUp: time.Minute, retries: new(atomic.Int64)}
	c.send = func(context.Context, string, []byte) ([]byte, error) { return nil, <-results }
	return c
}
