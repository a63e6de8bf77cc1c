package local_test

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
	"github.com/kasoku/kasoku/internal/dynamo/local"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
)

// TestOrigin checks the answers of a store as those of an origin, the faults that it
// injects, and the error once it is closed.
func TestOrigin(t *testing.T) {
	store, err := embedded.Open(memory.New(), embedded.Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o := local.Origin{Store: store}
	request := func(method, target string) *origin.Request {
		return &origin.Request{Method: method, Path: "/", Body: []byte(`{}`),
			Header: http1.FieldsOf("X-Amz-Target", "DynamoDB_20120810."+target, "Content-Type", "application/json")}
	}
	for _, test := range []struct {
		r                *origin.Request
		status           int
		class            origin.Class
		contentType, crc string
	}{
		{request("POST", "ListTables"), 200, origin.Good, "application/json", "1315925753"},
		{request("POST", "Nothing"), 400, origin.Refused, "application/json", "1368724161"},
		{request("GET", ""), 200, origin.Good, "text/plain", ""},
		{request("PUT", ""), 404, origin.Refused, "", ""},
	} {
		resp, err := o.Do(t.Context(), test.r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Status != test.status || resp.Class != test.class || resp.Attempts != 1 ||
			string(resp.Header.Get("Content-Type")) != test.contentType || string(resp.Header.Get("X-Amz-Crc32")) != test.crc {
			t.Errorf("%s %s: got %d %v %s %s", test.r.Method, test.r.Header, resp.Status, resp.Class, resp.Header, resp.Body)
		}
	}
	if s := o.State(); s.Requests != 4 || s.InFlight != 0 {
		t.Errorf("got %d requests, %d in flight", s.Requests, s.InFlight)
	}
	plan, err := faults.Parse([]byte(`{"rules":[{"operations":"ListTables","count":1,"reset":true},{"operations":"ListTables","count":1,"reset":true,"executed":true},
 {"operations":"ListTables","count":1,"executed":true,"error":"ThrottlingException"},{"operations":"ListTables","error":"ThrottlingException"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.SetFaults(plan); err != nil {
		t.Fatal(err)
	}
	for _, reached := range []bool{false, true} {
		_, err = o.Do(t.Context(), request("POST", "ListTables"))
		if fault, ok := errors.AsType[*origin.Fault](err); !ok || fault.Kind != origin.Reset || !fault.Hangup || fault.Reached != reached {
			t.Errorf("a reset: %v", err)
		}
	}
	for _, class := range []origin.Class{origin.Failed, origin.Refused} {
		if resp, err := o.Do(t.Context(), request("POST", "ListTables")); err != nil || resp.Status != 400 || resp.Class != class {
			t.Errorf("an error: got %+v, %v; want %v", resp, err, class)
		}
	}
	own := request("POST", "ListTables")
	own.Own = true
	if resp, err := o.Do(t.Context(), own); err != nil || resp.Status != 200 {
		t.Errorf("a request of the service itself: got %+v, %v", resp, err)
	}
	store.Close()
	_, err = o.Do(t.Context(), request("POST", "ListTables"))
	if fault, ok := errors.AsType[*origin.Fault](err); !ok || fault.Kind != origin.Unprepared || !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
