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

// side stands in requests for what tells the tables and tokens of the two ends
// and of different runs apart: both ends may be one server.
const side = "SIDE"

// server is one of the two that are compared.
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

// endpoint is a server as one round sees it.
type endpoint struct {
	*server
	side string // what side becomes
}

// answer is what an endpoint answered.
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

// signature has the shape of a signature, which is all that DynamoDB Local asks.
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

// maxPages is more pages than any of our reads has.
const maxPages = 500

// sendAll sends a request, and for a read that is answered in pages, or in
// segments, those that give the rest; their answers are made one.
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

// paged are the operations that are asked for all of their pages.
var paged = map[string]bool{"Query": true, "Scan": true, "ExecuteStatement": true, "ListTables": true}

// continued are the members of an answer that say where the next page begins,
// with those of the request that take them.
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
			if len(all) > 0 { // whether the last one has a key is anybody's
				whole.body.(object)["pages"] = append(all[:len(all)-1], object{"scanned": all[len(all)-1].(object)["scanned"]})
			}
			return whole, nil
		}
	}
	return answer{}, fmt.Errorf("%s answers %s with more than %d pages", e.name, r, maxPages)
}

// page is what has to be the same of a page: how many items it took, and which was
// its last, as far as the order of items is the API's. A page without any may come
// or not.
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

// maxPageItems is the most items of a page that surely ends for their number, and
// not for their size.
const maxPageItems = 5

// join adds a page to those before.
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
