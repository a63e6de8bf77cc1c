package plain

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// TestRawRoutes checks that each operation has a route, except those that delete tables.
func TestRawRoutes(t *testing.T) {
	f := newFixture(t)
	for _, ops := range [][]wire.Operation{wire.Operations, wire.StreamOperations} {
		for i := range ops {
			name := ops[i].Name
			switch name {
			case "DeleteTable", "DeleteBackup", "DeleteResourcePolicy":
				f.expect("POST", "/"+name, `{"a":1}`, http.StatusTeapot, `the service's own`)
				f.expectRequests()
			case "BatchGetItem", "BatchWriteItem": // have tests of their own
			default:
				f.expect("POST", "/"+name, `{"a":1}`, http.StatusOK, `{}`)
				f.expectRequests(name + ` {"a":1}`)
			}
		}
	}
}

func TestTargets(t *testing.T) {
	f := newFixture(t)
	targets := map[string]string{}
	for path, r := range newRouteTable().whole {
		targets[path] = string(r.target)
	}
	for path, want := range map[string]string{
		"/GetItem": "DynamoDB_20120810.GetItem", "/GetRecords": "DynamoDBStreams_20120810.GetRecords",
		"/GetItemJSON": "DynamoDB_20120810.GetItem", "/PutItemJSON": "DynamoDB_20120810.PutItem", "/Status": "",
	} {
		if targets[path] != want {
			t.Errorf("%s: got the target %q; want %q", path, targets[path], want)
		}
	}
	f.do("POST", "/RawPost/DynamoDB_20120810.DeleteTable", `{"TableName":"t"}`)
	f.do("POST", "/RawPost/DynamoDBStreams_20120810%2EListStreams", `{}`)
	f.do("POST", "/RawPost/GetItem", `{}`)
	f.expectRequests(`DeleteTable {"TableName":"t"}`, `ListStreams {}`, `?GetItem {}`)
}

// TestForwardedRequests checks that requests without a route are forwarded unchanged.
func TestForwardedRequests(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/x", "/getitem", "/GetItem/", "/GetItem/x", "/StatusTable", "/StatusTable/", "/StatusTable/a/b", "/DescribeTable/",
		"/RawPost", "/RawPost/", "/RawPost/a/b", "/status", "*", "/service/DynamoDB_20120810/operation/GetItem", "/DeleteTable"} {
		f.expect("POST", path, `{}`, http.StatusTeapot, `the service's own`)
	}
	f.expect("GET", "/", ``, http.StatusTeapot, `the service's own`)
	f.expect("POST", "/", `{}`, http.StatusTeapot, `the service's own`)
	f.expect("GET", "/", ``, http.StatusTeapot, `the service's own`, "X-Amz-Target", "ListTables")
	f.expectRequests()
}

func TestMethods(t *testing.T) {
	f := newFixture(t)
	refused := func(method, path, allow string) {
		t.Helper()
		got := f.expect(method, path, ``, http.StatusMethodNotAllowed,
			errorBody("UnknownOperationException", method+" is not a method of "+path+"; it takes "+allow))
		if got.head.Get("Allow") != allow || got.head.Get("Content-Type") != "application/json" || got.head.Get("Cache-Status") != "kasoku; detail=local" {
			t.Errorf("%s %s: got the fields %v", method, path, got.head)
		}
	}
	for path, r := range newRouteTable().whole {
		switch r.allow {
		case postMethod:
			refused("GET", path, "POST")
			refused("HEAD", path, "POST")
			refused("PUT", path, "POST")
			refused("OPTIONS", path, "POST")
		case readMethods:
			refused("POST", path, "GET, HEAD")
			refused("DELETE", path, "GET, HEAD")
		default:
			refused("PUT", path, "GET, HEAD, POST")
		}
	}
	f.expectRequests()
	for _, path := range []string{"/StatusTable/t", "/DescribeTable/t"} {
		if got := f.do("POST", path, ``); got.status != http.StatusMethodNotAllowed || got.head.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: got %d %v", path, got.status, got.head)
		}
	}
	f.expectRequests()
	for _, path := range []string{"/Status", "/ListTables", "/DescribeTable/t"} {
		if got := f.do("HEAD", path, ``); got.status != http.StatusOK {
			t.Errorf("HEAD %s: got %d", path, got.status)
		}
	}
}

// TestBbpdRequestsToRoot checks that requests to / in bbpd's form are answered like the routes, and
// that those in DynamoDB's form are forwarded unchanged.
func TestBbpdRequestsToRoot(t *testing.T) {
	f := newFixture(t)
	asked := func(want string, fields ...string) {
		t.Helper()
		got := f.do("POST", "/", `{}`, fields...)
		if want == "" {
			f.expectRequests()
			if got.status != http.StatusTeapot {
				t.Errorf("%v: got %d; want the service's answer", fields, got.status)
			}
			return
		}
		f.expectRequests(want)
	}
	const own = "application/x-amz-json-1.0"
	asked("", "X-Amz-Target", "DynamoDB_20120810.GetItem", "Content-Type", own)
	asked("", "x-amz-target", "DynamoDB_20120810.GetItem", "content-type", "Application/X-Amz-Json-1.0; charset=utf-8")
	asked("", "X-Amz-Target", "DynamoDBStreams_20120810.ListStreams", "Content-Type", own)
	asked("", "X-Amz-Target", "DynamoDB_20111205.GetItem", "Content-Type", own)
	asked("GetItem {}", "X-Amz-Target", "DynamoDB_20120810.GetItem", "Content-Type", "application/x-www-form-urlencoded")
	asked("GetItem {}", "X-Amz-Target", "DynamoDB_20120810.GetItem", "Content-Type", "application/json")
	asked("GetItem {}", "X-Amz-Target", "DynamoDB_20120810.GetItem")
	asked("GetItem {}", "X-Amz-Target", "GetItem", "Content-Type", own)
	asked("DeleteTable {}", "X-Amz-Target", "DeleteTable")
	asked("GetItem {}", "X-Amz-Target", "DynamoDB_20120810.GetItem", "Content-Type", own, "X-Bbpd-Indent", "")
	asked("GetItem {}", "X-Amz-Target", "DynamoDB_20120810.GetItem", "Content-Type", own, "x-bbpd-verbose", "0")
	asked("ListStreams {}", "X-Amz-Target", "DynamoDBStreams_20120810.ListStreams")
	// Names that only paths have, and unknown names: the service refuses them.
	asked("GetItemJSON {}", "X-Amz-Target", "GetItemJSON")
	asked("Status {}", "X-Amz-Target", "Status")
	asked("GetItem {}", "X-Amz-Target", "DynamoDB_20111205.GetItem")
	asked(" {}", "X-Amz-Target", "")
}

// TestHeaderIsReplaced checks that the service gets the header fields of its protocol once,
// whatever the client sent.
func TestHeaderIsReplaced(t *testing.T) {
	f := newFixture(t)
	f.do("POST", "/GetItem", `{}`, "Content-Type", "text/plain", "X-Amz-Target", "DynamoDB_20120810.DeleteTable",
		"content-encoding", "gzip", "amz-sdk-request", "ttl=1")
	f.expectRequests("GetItem {}")
}

// TestCrossOrigin checks that a browser that shows a page of another site can't use a service
// on its user's machine.
func TestCrossOrigin(t *testing.T) {
	f := newFixture(t)
	try := func(allowed bool, fields ...string) {
		t.Helper()
		for _, path := range []string{"/PutItemJSON", "/RawPost/DynamoDB_20120810.DeleteTable", "/BatchWriteItem"} {
			got := f.do("POST", path, `{}`, fields...)
			if (got.status == http.StatusOK) != allowed {
				t.Errorf("%s with %v: got %d %s", path, fields, got.status, got.body)
			}
			if !allowed && (got.status != http.StatusForbidden || got.body != errorBody("AccessDeniedException", "A page of another origin may not use this route")) {
				t.Errorf("%s with %v: got %d %s", path, fields, got.status, got.body)
			}
		}
	}
	try(true)
	try(true, "Origin", "http://127.0.0.1:12333")
	try(true, "Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:12333")
	try(true, "Sec-Fetch-Site", "none")
	try(false, "Origin", "http://evil.example")
	try(false, "Origin", "http://127.0.0.1:8080")
	try(false, "Origin", "null")
	try(false, "Origin", "")
	try(false, "Sec-Fetch-Site", "cross-site")
	try(false, "Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:12333")
	f.expect("GET", "/ListTables", ``, http.StatusOK, `{}`, "Origin", "http://evil.example")
}

// TestNotAdmitted checks that a client that isn't authenticated gets the service's error, and that
// nothing is forwarded.
func TestNotAdmitted(t *testing.T) {
	f := newFixture(t)
	f.svc.rejectAll = true
	for path, r := range newRouteTable().whole {
		method := strings.SplitN(r.allow, ",", 2)[0]
		got := f.expect(method, path, `{}`, http.StatusBadRequest, errorBody("InvalidSignatureException", "no"))
		if got.head.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got the fields %v", path, got.head)
		}
	}
	f.expectRequests()
}
