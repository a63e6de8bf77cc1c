package cli

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// record is the checked part of a record.
type record struct {
	Agent                              string `json:"user_agent"`
	Decision, Reason, Error, Principal string
}

// TestRecords reads the access log of services of every type: the reasons for the decisions,
// the errors, and the principals of the requests.
func TestRecords(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cut" {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
			return
		}
		w.Header().Set("Cache-Control", "max-age=60, public")
		io.WriteString(w, "text")
	}))
	defer web.Close()
	relax, away := newRelax(t, "one"), refusing(t)
	t.Setenv("SHOP_SECRET", "secret-of-the-shop")
	r := run(t, strings.NewReplacer("WEB", web.URL, "RELAX", relax.URL, "AWAY", away).Replace(`
access_log: {to: stdout, fields: [user_agent, decision, reason, error, principal]}
admin: {listen: "127.0.0.1:0"}
services:
  web: {type: http, listen: "127.0.0.1:0", origins: ["WEB"]}
  away: {type: http, listen: "127.0.0.1:0", origins: ["http://AWAY"]}
  couch: {type: couchdb, listen: "127.0.0.1:0", nodes: ["RELAX/"]}
  values:
    type: memcached
    listen: "127.0.0.1:0"
    servers: ["AWAY"]
    locations: [{path: /value, key: "${arg.k}"}]
  signed: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:data", auth: {keys: [{id: SHOP, secret_env: SHOP_SECRET, tables: ["shop"], allow: [read]}]}}
  open: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:data2", auth: {mode: none}}
`))
	// Records of different connections may be written in any order: each is found by its
	// User-Agent.
	sent := 0
	send := func(method, service, path, body string, fields ...string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.ServiceAddr(service).String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(fields); i += 2 {
			req.Header.Set(fields[i], fields[i+1])
		}
		req.Header.Set("User-Agent", strconv.Itoa(sent))
		sent++
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body) // fails for the answer that is cut off
		resp.Body.Close()
		r.settle(service)
	}
	get := func(service, path string, fields ...string) {
		t.Helper()
		send("GET", service, path, "", fields...)
	}
	getItem := func(service, body string, fields ...string) {
		t.Helper()
		send("POST", service, "/", body, append(fields, "X-Amz-Target", "DynamoDB_20120810.GetItem", "Content-Type", "application/x-amz-json-1.0")...)
	}
	basic := func(user string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":password"))
	}
	session := "a=b; AuthSession=" + base64.RawURLEncoding.EncodeToString([]byte("bert:5F000000:\x01\xff:\x02"))
	const signature = "AWS4-HMAC-SHA256 Credential=SHOP/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=00"
	const key = `{"TableName":"none","Key":{"id":{"S":"1"}}}`

	get("web", "/a")
	get("web", "/a", "Authorization", basic("reader"))
	get("web", "/b", "Authorization", "Bearer token")
	get("web", "/c", "Authorization", basic(strings.Repeat("u", 300)))
	get("web", "/cut")
	get("away", "/a")
	get("couch", "/db/a", "Authorization", basic("anna"))
	get("couch", "/db/a", "Cookie", session)
	get("couch", "/db/a", "X-Auth-CouchDB-UserName", "carl") // not sent by a trusted proxy
	get("values", "/value?k=1", "Authorization", basic("dora"))
	getItem("open", key)
	getItem("open", `{`)
	getItem("signed", key, "Authorization", signature, "X-Amz-Date", "20260101T000000Z")
	get("signed", "/")
	conn, err := net.Dial("tcp", r.ServiceAddr("web").String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: %d\r\nbad field\r\n\r\n", sent)
	io.Copy(io.Discard, conn)
	conn.Close()
	r.settle("web")
	r.stop()

	lines := map[string]record{}
	for scan := bufio.NewScanner(r.out); scan.Scan(); {
		var l record
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", scan.Bytes(), err)
		}
		lines[l.Agent] = l
	}
	for i, want := range []record{
		{"", "miss", "uri-miss", "", ""},
		{"", "hit", "fresh", "", "reader"},
		{"", "miss", "uri-miss", "", ""},
		{"", "miss", "uri-miss", "", ""},
		{"", "miss", "uri-miss", "unexpected EOF", ""},
		{"", "local", "origin-silent", "connection refused", ""},
		{"", "-", "-", "", "anna"},
		{"", "-", "-", "", "bert"},
		{"", "-", "-", "", ""},
		{"", "miss", "down", "memcached is unavailable", "dora"},
		{"", "bypass-uncacheable", "", "ResourceNotFoundException", ""},
		{"", "local", "malformed", "SerializationException", ""},
		{"", "local", "authentication", "-", "SHOP"},
		{"", "local", "health", "", ""},
		{"", "local", "malformed", "-", ""},
	} {
		got := lines[strconv.Itoa(i)]
		is := func(got, want string) bool { return got == want || want == "-" && got != "" }
		if !is(got.Decision, want.Decision) || !is(got.Reason, want.Reason) || got.Principal != want.Principal ||
			!is(got.Error, want.Error) && (want.Error == "" || !strings.Contains(got.Error, want.Error)) {
			t.Errorf("record %d: got %+v, want %+v", i, got, want)
		}
	}
}
