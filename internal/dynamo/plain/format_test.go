package plain

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestIndent(t *testing.T) {
	f := newFixture(t)
	f.setAnswer(200, `{"Item":{"n":{"N":"9007199254740993"}}}`)
	got := f.do("POST", "/GetItemJSON", `{}`, "X-Bbpd-Indent", "")
	if got.body != "{\n\t\"Item\": {\n\t\t\"n\": 9007199254740993\n\t}\n}" {
		t.Errorf("got %s", got.body)
	}
	got = f.do("POST", "/GetItem", `{}`, "x-bbpd-indent", "0")
	if !strings.HasPrefix(got.body, "{\n\t\"Item\"") || got.head.Get("x-amz-crc32") != "" || got.head.Get("Content-Type") != "application/json" {
		t.Errorf("got %s %v", got.body, got.head)
	}
	f.setAnswer(400, `{"__type":"x"}`)
	if got = f.do("POST", "/GetItem", `{}`, "X-Bbpd-Indent", "True"); got.status != 400 || got.body != "{\n\t\"__type\": \"x\"\n}" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	f.setAnswer(413, ``)
	if got = f.do("POST", "/GetItem", `{}`, "X-Bbpd-Indent", "True"); got.status != 413 || got.body != "" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	f.setAnswer(404, "<UnknownOperationException/>\n")
	if got = f.do("POST", "/GetItem", `{}`, "X-Bbpd-Indent", "True"); got.body != "<UnknownOperationException/>\n" {
		t.Errorf("got %s", got.body)
	}
}

// TestChecksumOfUnchangedAnswer checks that an unchanged answer of the service keeps its checksum.
func TestChecksumOfUnchangedAnswer(t *testing.T) {
	f := newFixture(t)
	got := f.do("POST", "/GetItem", `{}`)
	if got.head.Get("x-amz-crc32") != "4711" || got.head.Get("Content-Type") != "application/json" || len(got.head.Values("Content-Type")) != 1 {
		t.Errorf("got the fields %v", got.head)
	}
}

// envelope is bbpd's envelope of an answer.
type envelope struct {
	Name       string
	StatusCode int
	Body       string
	Run        struct {
		Method, Host, Duration string
		Start, End             time.Time
	}
}

func TestVerbose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.svc.reply = func(op, _ string) (int, string) {
			time.Sleep(1230 * time.Microsecond)
			return 200, `{"Item":{"a":{"S":"\"<\n"}}}`
		}
		try := func(method, path, name, body string, fields ...string) {
			t.Helper()
			start := time.Now()
			got := f.do(method, path, `{}`, append(fields, "X-Bbpd-Verbose", "")...)
			var e envelope
			if err := json.Unmarshal([]byte(got.body), &e); err != nil {
				t.Fatalf("%s: %v", got.body, err)
			}
			if e.Name != name || e.StatusCode != 200 || e.Body != body || e.Run.Method != method || e.Run.Host != "localhost" ||
				!e.Run.Start.Equal(start) || e.Run.End.Sub(start) != time.Since(start) || e.Run.Duration != time.Since(start).String() {
				t.Errorf("%s: got the envelope %+v", path, e)
			}
			if got.head.Get("x-amz-crc32") != "" {
				t.Errorf("got the fields %v", got.head)
			}
			if !strings.HasPrefix(got.body, `{"Name":"`+name+`","StatusCode":200,"Body":"{`) {
				t.Errorf("got %s", got.body)
			}
		}
		raw := `{"Item":{"a":{"S":"\"<\n"}}}`
		try("POST", "/GetItemJSON", "GetItemJSON", `{"Item":{"a":"\"<\n"}}`)
		try("POST", "/GetItem", "DynamoDB_20120810.GetItem", raw)
		try("POST", "/GetRecords", "DynamoDBStreams_20120810.GetRecords", raw)
		try("POST", "/RawPost/DynamoDB_20120810.Query", "DynamoDB_20120810.Query", raw)
		try("POST", "/", "DynamoDB_20120810.Scan", raw, "X-Amz-Target", "Scan")
		try("POST", "/", "Later", raw, "X-Amz-Target", "Later")
		try("POST", "/BatchGetItem", "BatchGetItem", raw)
		try("GET", "/ListTables", "ListTables", raw)
		try("GET", "/DescribeTable/t", "DescribeTable", raw)
	})
}

// TestVerboseIndented checks that the envelope may be indented, and that its content is a string.
func TestVerboseIndented(t *testing.T) {
	f := newFixture(t)
	got := f.do("POST", "/GetItem", `{}`, "X-Bbpd-Verbose", "1", "X-Bbpd-Indent", "1")
	if !strings.HasPrefix(got.body, "{\n\t\"Name\": \"DynamoDB_20120810.GetItem\",\n\t\"StatusCode\": 200,\n\t\"Body\": \"{}\",\n\t\"Run\": {\n\t\t\"Method\"") {
		t.Errorf("got %s", got.body)
	}
}

// TestVerboseError checks that errors have the same form on all routes.
func TestVerboseError(t *testing.T) {
	f := newFixture(t)
	f.setAnswer(400, errorBody("ValidationException", "x"))
	f.expect("POST", "/GetItem", `{}`, http.StatusBadRequest, errorBody("ValidationException", "x"), "X-Bbpd-Verbose", "1")
}
