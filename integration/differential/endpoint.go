package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// side is the placeholder in requests for the part of names that distinguishes the tables
// and tokens of the two ends and of different runs: both ends may be one server.
const side = "SIDE"

// server is one of the two compared servers.
type server struct {
	name   string
	url    string
	client *http.Client
}

func newServer(name, url string) *server {
	return &server{name: name, url: url, client: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	}}
}

// endpoint is a server in one round.
type endpoint struct {
	*server
	side string // replaces the placeholder side
}

// answer is an endpoint's answer.
type answer struct {
	status int
	fault  string // the error's type without name space, "" for none
	body   any
}

func (a answer) String() string {
	if a.fault != "" {
		return fmt.Sprintf("%d %s %s", a.status, a.fault, text(a.body))
	}
	return fmt.Sprintf("%d %s", a.status, text(a.body))
}

// signature has the form of a signature, which is enough for DynamoDB Local.
const signature = "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request,SignedHeaders=host,Signature=0"

// send sends one request.
func (e *endpoint) send(ctx context.Context, r request) (answer, error) {
	body := strings.ReplaceAll(e.named(ctx, text(r.body)), side, e.side)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	api := "DynamoDB_20120810."
	if streamOperations[r.operation] {
		api = "DynamoDBStreams_20120810."
	}
	req.Header.Set("X-Amz-Target", api+r.operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("Authorization", signature)
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	resp, err := e.client.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", e.name, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", e.name, err)
	}
	a := answer{status: resp.StatusCode}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), e.side, side)), &a.body); err != nil {
		return answer{}, fmt.Errorf("%s answers %s with %d and no JSON: %q", e.name, r, resp.StatusCode, raw)
	}
	if o, ok := a.body.(object); ok && a.status != http.StatusOK {
		typ, _ := o["__type"].(string)
		a.fault = typ[strings.LastIndexByte(typ, '#')+1:]
	}
	return a, nil
}

// maxPages is more than the number of pages of any read.
const maxPages = 500

// sendAll sends a request and, for a read with pages or segments, the requests for the rest.
// It joins the answers.
func (e *endpoint) sendAll(ctx context.Context, r request) (answer, error) {
	body, ok := r.body.(object)
	if !ok || !paged[r.operation] {
		return e.send(ctx, r)
	}
	segments, segmented := body["TotalSegments"].(int)
	segment, _ := body["Segment"].(int)
	if !segmented || segment < 0 || segment >= segments {
		return e.pages(ctx, request{operation: r.operation, body: clone(body)})
	}
	var whole answer
	for i := range segments {
		part := clone(body).(object)
		part["Segment"] = i
		a, err := e.pages(ctx, request{operation: r.operation, body: part})
		if err != nil || a.fault != "" {
			return a, err
		}
		whole = join(whole, a)
	}
	return whole, nil
}

// paged are the operations whose pages are all read.
var paged = map[string]bool{"Query": true, "Scan": true, "ExecuteStatement": true, "ListTables": true}

// continued maps the members of an answer that name the beginning of the next page to the
// members of the next request.
var continued = map[string]string{"LastEvaluatedKey": "ExclusiveStartKey", "LastEvaluatedTableName": "ExclusiveStartTableName", "NextToken": "NextToken"}

func (e *endpoint) pages(ctx context.Context, r request) (answer, error) {
	var whole answer
	var all list
	for range maxPages {
		a, err := e.send(ctx, r)
		if err != nil || a.fault != "" {
			return a, err
		}
		last := page(r, a)
		whole = join(whole, a)
		if last != nil {
			all = append(all, last)
		}
		more := false
		for from, to := range continued {
			if next := a.body.(object)[from]; next != nil && r.operation == "ExecuteStatement" == (from == "NextToken") {
				r.body.(object)[to] = next
				more = true
			}
		}
		if !more {
			if len(all) > 0 { // whether the last page has a key is undefined
				whole.body.(object)["pages"] = append(all[:len(all)-1], object{"scanned": all[len(all)-1].(object)["scanned"]})
			}
			return whole, nil
		}
	}
	return answer{}, fmt.Errorf("%s answers %s with more than %d pages", e.name, r, maxPages)
}

// page returns the defined properties of a page: the number of its items and, as far as the
// API defines the order of items, the last one. Empty pages may be missing.
func page(r request, a answer) object {
	body, ok := r.body.(object)
	limit, limited := body["Limit"].(int)
	scanned := a.member("ScannedCount")
	if !ok || body["TotalSegments"] != nil || !limited || limit > maxPageItems || scanned == nil || scanned == 0.0 {
		return nil
	}
	p := object{"scanned": scanned}
	if last, ok := a.member("LastEvaluatedKey").(object); ok {
		names := list{}
		for _, name := range sorted(last) {
			names = append(names, name)
		}
		p["names"] = names
		if r.operation == "Query" && body["IndexName"] == nil {
			p["last"] = last
		}
	}
	return p
}

// maxPageItems is the maximum number of items of a page that is certain to end because of
// their number and not their size.
const maxPageItems = 5

// join appends a page to the pages before.
func join(whole, page answer) answer {
	w, ok := whole.body.(object)
	if !ok {
		return page
	}
	p, _ := page.body.(object)
	for _, name := range []string{"Items", "TableNames"} {
		if some, ok := p[name].(list); ok {
			before, _ := w[name].(list)
			w[name] = append(before, some...)
		}
	}
	for _, count := range []string{"Count", "ScannedCount"} {
		n, ok := p[count].(float64)
		if before, there := w[count].(float64); ok && there {
			w[count] = before + n
		}
	}
	return whole
}

var streamOperations = map[string]bool{"DescribeStream": true, "GetShardIterator": true, "GetRecords": true, "ListStreams": true}
