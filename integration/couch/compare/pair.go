package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// answer is the compared part of an answer.
type answer struct {
	status int
	header map[string]string
	body   string
}

// send sends a request to the server at address, with its path unchanged.
func send(ctx context.Context, address string, r *request) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, address+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Accept", "application/json")
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Body, req.ContentLength = nil, 0
	}
	for i := 0; i < len(r.header); i += 2 {
		req.Header.Set(r.header[i], r.header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, fmt.Errorf("after %q: %w", text, err)
	}
	return answer{resp.StatusCode, headerOf(resp), bodyOf(string(text))}, nil
}

// server matches the beginning of the nodes' Location, which has an address of their own,
// whatever Host is. CouchDB uses Host.
var server = regexp.MustCompile(`^http://127\.0\.0\.1:\d+`)

// headerOf returns the compared fields of an answer: all except framing, dates, the ids of
// connection and request, and Kasoku's own fields.
func headerOf(resp *http.Response) map[string]string {
	out := map[string]string{}
	for name, values := range resp.Header {
		switch name {
		case "Content-Type", "Cache-Control":
			if resp.StatusCode == http.StatusNotModified { // which may have the fields of the 200
				continue
			}
		case "Date", "Age", "Connection", "Keep-Alive", "Content-Length", "Transfer-Encoding", "Cache-Status", "X-Request-Id", "X-Couch-Request-Id", "Via", "Vary":
			continue
		}
		out[name] = server.ReplaceAllString(strings.Join(values, ", "), "http://node")
	}
	return out
}

// volatile matches the members that differ between nodes: positions, times and sizes.
var volatile = regexp.MustCompile(`"(seq|last_seq|update_seq|instance_start_time|disk_size|data_size|uuid|db_uuid|server_uuid|revpos)":("[^"]*"|\d+)`)

func bodyOf(text string) string {
	text = volatile.ReplaceAllString(text, `"$1":0`)
	var feed struct {
		Results []json.RawMessage
		Last    *int `json:"last_seq"`
	}
	if json.Unmarshal([]byte(text), &feed) == nil && feed.Last != nil {
		return inOrder(feed.Results) // the order depends on the node as well
	}
	var outcomes []json.RawMessage
	if json.Unmarshal([]byte(text), &outcomes) == nil {
		return inOrder(outcomes) // of _bulk_docs, in the order of execution
	}
	return text
}

func inOrder(list []json.RawMessage) string {
	slices.SortFunc(list, func(a, b json.RawMessage) int { return strings.Compare(string(a), string(b)) })
	return fmt.Sprintf("%s", list)
}

// computed reports whether a node's answer to r has no validator, so that Kasoku adds one.
func computed(r *request) bool {
	for _, part := range []string{"meta=", "open_revs=", "revs=", "conflicts=", "local_seq=", "/_view/", "/_list/", "/_show/", "/_all_docs", "/_find", "/_bulk_get", "/_index", "/_design_docs"} {
		if strings.Contains(r.path, part) {
			return true
		}
	}
	return false
}

// differences returns the differences between the node's answer and Kasoku's; "" if there
// are none. The order of an object's members counts only if exact is true, since nodes
// change it in replicated documents.
func differences(r *request, direct, through answer, exact bool) string {
	var list []string
	if direct.status != through.status {
		list = append(list, fmt.Sprintf("status %d, not %d", through.status, direct.status))
	}
	if direct.body != through.body && (exact || !sameJSON(direct.body, through.body)) {
		list = append(list, fmt.Sprintf("body\n%.1500s\nnot\n%.1500s", through.body, direct.body))
	}
	for name, value := range direct.header {
		if through.header[name] != value {
			list = append(list, fmt.Sprintf("%s: %q, not %q", name, through.header[name], value))
		}
	}
	for name, value := range through.header {
		_, there := direct.header[name]
		if !there && !(name == "Etag" && computed(r)) {
			list = append(list, fmt.Sprintf("%s: %q, which the node does not send", name, value))
		}
	}
	return strings.Join(list, "; ")
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// record records the parts of the node's answer that later requests need.
func (g *generator) record(r *request, a answer) {
	if a.status/100 != 2 {
		return
	}
	switch {
	case strings.HasSuffix(r.path, "/_bulk_docs"):
		var sent struct {
			Docs []struct {
				ID      string `json:"_id"`
				Deleted bool   `json:"_deleted"`
			}
		}
		var reply []struct{ ID, Rev string }
		if json.Unmarshal([]byte(r.body), &sent) != nil || json.Unmarshal([]byte(a.body), &reply) != nil {
			return
		}
		for _, doc := range reply {
			gone := slices.ContainsFunc(sent.Docs, func(d struct {
				ID      string `json:"_id"`
				Deleted bool   `json:"_deleted"`
			}) bool {
				return d.ID == doc.ID && d.Deleted
			})
			g.wrote(doc.ID, doc.Rev, gone)
		}
	case r.method == "PUT" || r.method == "DELETE" || r.method == "COPY":
		var reply struct{ ID, Rev string }
		if json.Unmarshal([]byte(a.body), &reply) == nil {
			g.wrote(reply.ID, reply.Rev, r.method == "DELETE")
		}
	case r.method == "GET" && a.header["Etag"] != "":
		var doc struct {
			ID  string `json:"_id"`
			Rev string `json:"_rev"`
		}
		if json.Unmarshal([]byte(a.body), &doc) == nil && g.rev(doc.ID) != doc.Rev && !strings.Contains(r.path, "rev=") {
			g.wrote(doc.ID, doc.Rev, false) // by an update function
		}
	}
}

func (g *generator) wrote(id, rev string, gone bool) {
	if id == "" || rev == "" {
		return
	}
	g.revs[id] = append(g.revs[id], rev)
	if gone {
		g.revs[id] = append(g.revs[id], "")
	}
}
