package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	bbpdHead = "admin: {listen: \"127.0.0.1:0\"}\nservices:\n  bbpd: {type: dynamodb, listen: \"127.0.0.1:0\", plain_json: true, auth: {mode: none}, "
	bbpd     = bbpdHead + "origin: \"embedded:./data\"}\n"
	bbpdFar  = bbpdHead + "origin: \"%s\", region: local}\n"
)

// bbpdNode is a node with the routes of bbpd, and its log.
type bbpdNode struct {
	*Node
	t   *testing.T
	log *lockedText
}

func runBBPD(t *testing.T, text string) *bbpdNode {
	t.Helper()
	file := writeFile(t, text)
	cfg, err := load(file, &Environment{Lookup: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	b := &bbpdNode{t: t, log: &lockedText{}}
	if b.Node, err = start(cfg, file, io.Discard, slog.New(slog.NewTextHandler(b.log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bbpdNode) url(path string) string { return "http://" + b.ServiceAddr("bbpd").String() + path }

// ask sends a request as curl does.
func (b *bbpdNode) ask(method, path, body string) (status int, answer string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url(path), strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.send(r)
}

func (b *bbpdNode) send(r *http.Request) (status int, answer string) {
	b.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// want sends a request and checks status and a part of the answer.
func (b *bbpdNode) want(method, path, body string, status int, part string) string {
	b.t.Helper()
	got, answer := b.ask(method, path, body)
	if got != status || !strings.Contains(answer, part) {
		b.t.Errorf("%s %s %.200s\n got %d %.900s\nwant %d with %s", method, path, body, got, answer, status, part)
	}
	return answer
}

// create makes a table with the string key k.
func (b *bbpdNode) create(table string) {
	b.t.Helper()
	b.want("POST", "/CreateTable", `{"TableName":"`+table+`","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],`+
		`"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`, 200, `"TableName":"`+table+`"`)
}

// throttling is an origin that throttles some requests, or all.
func throttling(t *testing.T) (srv *httptest.Server, asked *atomic.Int64) {
	asked = &atomic.Int64{}
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"too fast"}`)
	}))
	t.Cleanup(srv.Close)
	return srv, asked
}

func plainPuts(from, to int) string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf(`{"PutRequest":{"Item":{"k":"%04d","n":%d}}}`, i, i))
	}
	return strings.Join(list, ",")
}

// TestBBPDDefects tests the known defects of bbpd, by the numbers in docs/bbpd.md.
func TestBBPDDefects(t *testing.T) {
	t.Run("1 DescribeTable by path", func(t *testing.T) {
		b := runBBPD(t, bbpd)
		b.create("tab")
		b.want("GET", "/DescribeTable/tab", "", 200, `"TableName":"tab"`)
		b.want("GET", "/DescribeTable/none", "", 400, "ResourceNotFoundException")
		b.want("GET", "/Status", "", 200, `"/DescribeTable/"`)
	})
	t.Run("2 batches", batchDefects)
	t.Run("3 plain JSON", func(t *testing.T) {
		b := runBBPD(t, strings.Replace(bbpd, "plain_json: true,", "plain_json: true, tables: {lst: {arrays: lists}},", 1))
		b.create("tab")
		b.create("lst")
		for table, arrays := range map[string]string{"tab": `"a":[1,2,10],"b":["x","y"]`, "lst": `"a":[10,2,1,2],"b":["y","x","y"]`} {
			b.want("POST", "/PutItemJSON", `{"TableName":"`+table+`","Item":{"k":"1","null":null,"s":"","l":[],"m":{},"big":9007199254740993,`+
				`"long":0.12345678901234567890123456789012345678,"a":[10,2,1,2],"b":["y","x","y"]}}`, 200, `{}`)
			want := `{"Item":{"k":"1","null":null,"s":"","l":[],"m":{},"big":9007199254740993,"long":0.12345678901234567890123456789012345678,` + arrays + `}}`
			for range 5 {
				if got := b.want("POST", "/GetItemJSON", `{"TableName":"`+table+`","Key":{"k":{"S":"1"}}}`, 200, ``); !sameMembers(t, got, want) {
					t.Errorf("%s: %s", table, got)
				}
			}
		}
	})
	t.Run("4 access", func(t *testing.T) {
		wantAll := strings.Replace(bbpd, `bbpd: {type: dynamodb, listen: "127.0.0.1:0"`, `bbpd: {type: dynamodb, listen: ":12333"`, 1)
		if _, err := load(writeFile(t, wantAll), &Environment{Lookup: os.LookupEnv}); err == nil || !strings.Contains(err.Error(), "is reachable from other machines") {
			t.Errorf("a listener on every interface without keys: got error %v", err)
		}
		t.Setenv("BBPD_SECRET", "s")
		b := runBBPD(t, strings.Replace(bbpd, "auth: {mode: none}", "auth: {keys: [{id: APP, secret_env: BBPD_SECRET}]}", 1))
		b.want("POST", "/GetItemJSON", `{"TableName":"tab","Key":{"k":{"S":"1"}}}`, 400, "MissingAuthenticationTokenException")
		b.want("POST", "/RawPost/DynamoDB_20120810.ListTables", `{}`, 400, "MissingAuthenticationTokenException")
	})
	t.Run("5 time", func(t *testing.T) {
		srv, asked := throttling(t)
		t.Setenv("AWS_ACCESS_KEY_ID", "origin")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "origin")
		b := runBBPD(t, strings.ReplaceAll(strings.Replace(bbpdFar, "plain_json", "limits: {request_timeout: 500ms}, plain_json", 1), "%s", srv.URL))
		// The answer arrives, and is the origin's.
		b.want("POST", "/BatchWriteItemJSON", `{"RequestItems":{"tab":[`+plainPuts(0, 60)+`]}}`, 400, `"message":"too fast"`)
		b.want("POST", "/PutItemJSON", `{"TableName":"tab","Item":{"k":"1"}}`, 400, `"message":"too fast"`)
		if err := b.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		before := asked.Load()
		<-time.After(50 * time.Millisecond)
		if after := asked.Load(); after != before {
			t.Errorf("%d requests to the origin without a client request", after-before)
		}
	})
	t.Run("6 errors", func(t *testing.T) {
		b := runBBPD(t, bbpd)
		b.create("tab")
		for _, path := range []string{"/PutItemJSON", "/GetItemJSON", "/BatchWriteItemJSON", "/BatchGetItemJSON", "/PutItem", "/Query"} {
			if answer := b.want("POST", path, `{"TableName":`, 400, "SerializationException"); !json.Valid([]byte(answer)) {
				t.Errorf("%s: %s", path, answer)
			}
		}
		b.want("POST", "/PutItemJSON", `{"TableName":"tab","Item":{"other":1}}`, 400, `{"__type":"com.amazon.coral.validate#ValidationException","message":"One or more parameter values were invalid: Missing the key k in the item"}`)
		b.want("POST", "/GetItemJSON", `{"TableName":"none","Key":{"k":{"S":"1"}}}`, 400, `"message":"Requested resource not found"`)
	})
	t.Run("7 stop", func(t *testing.T) {
		b := runBBPD(t, bbpd)
		idle, err := net.Dial("tcp", b.ServiceAddr("bbpd").String())
		if err != nil {
			t.Fatal(err)
		}
		defer idle.Close()
		fmt.Fprint(idle, "GET /Status HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := idle.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		addr := b.ServiceAddr("bbpd").String()
		if err := b.Stop(t.Context()); err != nil { // does not wait for the idle connection
			t.Error(err)
		}
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Error("connections are still accepted")
		}
	})
	t.Run("8 average", averageDefect)
	t.Run("9 signals", func(t *testing.T) {
		b := runBBPD(t, bbpd)
		for range 100 {
			b.want("GET", "/Status", "", 200, "ready")
		}
		if lines := strings.Count(b.log.String(), "\n"); lines > 3 {
			t.Errorf("requests or signals are logged:\n%s", b.log)
		}
	})
	t.Run("10 clear text and payloads", func(t *testing.T) {
		srv, _ := throttling(t)
		url := srv.URL
		srv.Close()
		t.Setenv("AWS_ACCESS_KEY_ID", "origin")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "origin")
		b := runBBPD(t, strings.ReplaceAll(bbpdFar, "%s", url))
		b.want("POST", "/PutItemJSON", `{"TableName":"tab","Item":{"k":"a private matter"}}`, 503, "ServiceUnavailable")
		if log := b.log.String(); !strings.Contains(log, "the origin failed a request") || strings.Contains(log, "private") {
			t.Errorf("the log has\n%s", log)
		}
	})
	// 11, the sample configuration, is in testdata/script/import.txtar.
	t.Run("12 operations since 2014", func(t *testing.T) {
		b := runBBPD(t, bbpd)
		b.create("tab")
		b.want("POST", "/TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"k":{"S":"1"}}}}]}`, 200, `{}`)
		b.want("POST", "/TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"tab","Key":{"k":{"S":"1"}}}}]}`, 200, `{"Item":{"k":{"S":"1"}}}`)
		b.want("POST", "/DescribeTimeToLive", `{"TableName":"tab"}`, 200, `"TimeToLiveStatus":"DISABLED"`)
	})
	t.Run("13 no credentials", func(t *testing.T) {
		srv, _ := throttling(t)
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
			t.Setenv(name, "")
		}
		missing := filepath.Join(t.TempDir(), "none")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", missing)
		t.Setenv("AWS_CONFIG_FILE", missing)
		t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		far := strings.Replace(srv.URL, "127.0.0.1", "dynamodb.us-east-1.amazonaws.com", 1) // another host: an origin on this machine needs no credentials
		b := runBBPD(t, strings.NewReplacer("%s", far, "region: local", "region: us-east-1").Replace(bbpdFar))
		answer := b.want("POST", "/PutItemJSON", `{"TableName":"tab","Item":{"k":"1"}}`, 503, "ServiceUnavailable")
		if log := b.log.String(); !json.Valid([]byte(answer)) || !strings.Contains(log, "credentials") {
			t.Errorf("%s\n%s", answer, log)
		}
	})
	t.Run("14 newlines in files", func(t *testing.T) {
		secret := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := runBBPD(t, strings.Replace(bbpd, "auth: {mode: none}", "region: us-east-1, auth: {keys: [{id: APP, secret_file: "+secret+", allow: [read, write, admin]}]}", 1))
		r, err := http.NewRequestWithContext(t.Context(), "GET", b.url("/ListTables?Limit=5"), nil)
		if err != nil {
			t.Fatal(err)
		}
		key := aws.Credentials{AccessKeyID: "APP", SecretAccessKey: "s3cret"}
		const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		if err := v4.NewSigner().SignHTTP(t.Context(), key, r, nothing, "dynamodb", "us-east-1", time.Now()); err != nil {
			t.Fatal(err)
		}
		if status, answer := b.send(r); status != 200 || answer != `{"TableNames":[]}` {
			t.Errorf("%d %s", status, answer)
		}
	})
	t.Run("15 methods", func(t *testing.T) {
		b := runBBPD(t, bbpd)
		b.want("GET", "/PutItem", "", 405, "it takes POST")
		b.want("PUT", "/GetItemJSON", `{}`, 405, "it takes POST")
		b.want("POST", "/Status", `{}`, 405, "it takes GET, HEAD")
	})
}

func batchDefects(t *testing.T) {
	b := runBBPD(t, bbpd)
	b.create("tab")
	b.want("POST", "/BatchWriteItemJSON", `{"RequestItems":{"tab":[`+plainPuts(0, 240)+`]}}`, 200, `{"UnprocessedItems":{}}`)
	// A projection of more keys than a request may have returns the items in the order of the keys.
	var keys, items []string
	for i := range 240 {
		keys = append(keys, fmt.Sprintf(`{"k":{"S":"%04d"}}`, i))
		items = append(items, fmt.Sprintf(`{"n":%d}`, i))
	}
	answer := b.want("POST", "/BatchGetItemJSON", `{"RequestItems":{"tab":{"Keys":[`+strings.Join(keys, ",")+`],"ProjectionExpression":"n"}},"ReturnConsumedCapacity":"TOTAL"}`,
		200, `{"Responses":{"tab":[`+strings.Join(items, ",")+`]},"UnprocessedKeys":{}`)
	if !strings.Contains(answer, `"ConsumedCapacity":[{"TableName":"tab","CapacityUnits":120.0}]`) {
		t.Errorf("capacity: %s", answer[strings.LastIndex(answer, "Unprocessed"):])
	}
	// AWS's own message, and its status.
	b.want("POST", "/BatchGetItem", `{"RequestItems":{"none":{"Keys":[{"k":{"S":"1"}}]}}}`, 400, `"message":"Requested resource not found"`)
	b.want("POST", "/BatchGetItem", `{"RequestItems":{"tab":null}}`, 400, `"__type":"com.amazon.coral`)
	// Typed values are passed unchanged, including empty ones.
	b.want("POST", "/BatchWriteItem", `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"k":{"S":"e"},"s":{"S":""},"l":{"L":[]},"m":{"M":{}}}}}]}}`, 200, `{}`)
	b.want("POST", "/BatchGetItem", `{"RequestItems":{"tab":{"Keys":[{"k":{"S":"e"}}]}}}`, 200, `"s":{"S":""}`)
	// One of 60 puts is invalid: the writes that were not executed are reported, with the
	// reason.
	puts := plainPuts(1000, 1060)
	puts = strings.Replace(puts, `"k":"1030"`, `"k":""`, 1)
	answer = b.want("POST", "/BatchWriteItemJSON", `{"RequestItems":{"tab":[`+puts+`]}}`, 200, `{"UnprocessedItems":{},"Errors":[{"Status":400,"Error":{"__type":"com.amazon.coral.validate#ValidationException"`)
	var result struct {
		Errors []struct{ RequestItems map[string][]json.RawMessage }
	}
	if err := json.Unmarshal([]byte(answer), &result); err != nil || len(result.Errors) != 1 || len(result.Errors[0].RequestItems["tab"]) != 25 {
		t.Errorf("%v: %s", err, answer)
	}
	b.want("POST", "/GetItemJSON", `{"TableName":"tab","Key":{"k":{"S":"1024"}}}`, 200, `"n":1024`)
	b.want("POST", "/GetItemJSON", `{"TableName":"tab","Key":{"k":{"S":"1025"}}}`, 200, `{"Item":{}}`)
	b.want("POST", "/GetItemJSON", `{"TableName":"tab","Key":{"k":{"S":"1059"}}}`, 200, `"n":1059`)
}

// averageDefect sends concurrent requests: each answer counts once, and the average is
// between the extremes. A page of items takes longer than the unit that /Status rounds to.
func averageDefect(t *testing.T) {
	b := runBBPD(t, bbpd)
	const clients, each, items = 8, 50, 20
	b.create("tab")
	for n := range items {
		b.want("POST", "/PutItemJSON", fmt.Sprintf(`{"TableName":"tab","Item":{"k":"%d","text":"%s"}}`, n, strings.Repeat("x", 10_000)), 200, "{}")
	}
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range each {
				b.ask("POST", "/Scan", `{"TableName":"tab"}`)
			}
		})
	}
	group.Wait()
	var page struct{ Summary map[string]string }
	if err := json.Unmarshal([]byte(b.want("GET", "/Status", "", 200, "ready")), &page); err != nil {
		t.Fatal(err)
	}
	average, err1 := time.ParseDuration(page.Summary["AverageResponse"])
	longest, err2 := time.ParseDuration(page.Summary["LongestResponse"])
	if page.Summary["ResponseCount"] != fmt.Sprint(clients*each+items+1) || err1 != nil || err2 != nil || average <= 0 || average > longest {
		t.Errorf("%v", page.Summary)
	}
}

// sameMembers compares JSON objects with their numbers as text.
func sameMembers(t *testing.T, a, b string) bool {
	t.Helper()
	norm := func(s string) string {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return norm(a) == norm(b)
}

// A reload turns the routes on and off; the figures of /Status and the clients' connections
// survive it.
func TestReloadTurnsRoutesOnAndOff(t *testing.T) {
	r := run(t, head+orders)
	get := func(want int, part string) {
		t.Helper()
		resp, err := http.Post("http://"+r.ServiceAddr("orders").String()+"/GetItemJSON", "", strings.NewReader(`{"TableName":"t","Key":{"id":{"S":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want || !strings.Contains(string(body), part) {
			t.Errorf("%d %s %v; want %d with %s", resp.StatusCode, body, err, want, part)
		}
	}
	const off = "<UnknownOperationException/>"
	on := strings.Replace(orders, "auth:", "plain_json: true, auth:", 1)
	get(404, off)
	r.mustReload(head + on)
	get(200, `{"Item":{"id":"1"}}`)
	r.mustReload(head + orders)
	get(404, off)
	r.mustReload(head + strings.Replace(on, "auth:", "arrays: lists, auth:", 1))
	get(200, `{"Item":{"id":"1"}}`)
	resp, err := http.Get("http://" + r.ServiceAddr("orders").String() + "/Status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Contains(page, []byte(`"ResponseCount":"2"`)) {
		t.Errorf("%s %v", page, err)
	}
	if !strings.Contains(r.page("/metrics"), `kasoku_edge_connections_accepted_total{service="orders"} 1`+"\n") {
		t.Error("a reload has closed a client's connection")
	}
}

// A reload turns the calls of the routes on and off as well.
func TestReloadTurnsCallsOnAndOff(t *testing.T) {
	r := run(t, head+orders)
	get := func(query, want string) {
		t.Helper()
		resp, err := http.Get("http://" + r.ServiceAddr("orders").String() + "/Status?" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.HasPrefix(string(body), want) || resp.ContentLength != int64(len(body)) {
			t.Errorf("%s: %s of %d bytes, %v; want %s", query, body, resp.ContentLength, err, want)
		}
	}
	with := func(more string) string {
		return head + strings.Replace(orders, "auth:", "plain_json: true, "+more+"auth:", 1)
	}
	r.mustReload(with(""))
	get("callback=f", "{")
	r.mustReload(with("jsonp: {}, "))
	get("callback=f", "/**/f({")
	get("callback=f%28", `{"__type":`)
	r.mustReload(with(`jsonp: {param: cb, prefix: "", invalid: passthrough}, `))
	get("cb=f", "f({")
	get("cb=f%28", "{")
	get("callback=f", "{")
	r.mustReload(with(""))
	get("callback=f", "{")
}

func TestPlainConfig(t *testing.T) {
	c, err := load(writeFile(t, strings.Replace(bbpd, "plain_json: true,", "plain_json: true, arrays: lists, tables: {a: {arrays: sets}, b: {arrays: lists}, c: {cache: false}},", 1)),
		&Environment{Lookup: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	got := plainConfig(c.Services[0].DynamoDB, nil)
	if !got.Lists || len(got.Tables) != 3 || got.Tables[0].Pattern != "a" || *got.Tables[0].Lists || !*got.Tables[1].Lists || got.Tables[2].Lists != nil {
		t.Errorf("%+v", got)
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
