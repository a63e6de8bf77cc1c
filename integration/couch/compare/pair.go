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

// answer is what matters of an answer.
type answer struct {
	status int
	header map[string]string
	body   string
}

// send sends a request to the server at address, with its path as it is written.
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

// server is what the nodes begin Location with: an address of their own, whatever Host
// says. CouchDB takes Host.
var server = regexp.MustCompile(`^http://127\.0\.0\.1:\d+`)

// headerOf are the fields of an answer that are compared: all but how it is framed and
// when, which connection and request it was, and what Kasoku says of itself.
func headerOf(resp *http.Response) map[string]string {
	out := map[string]string{}
	for name, values := range resp.Header {
		switch name {
		case "Content-Type", "Cache-Control":
			if resp.StatusCode == http.StatusNotModified { // which may say what the 200 would
				continue
			}
		case "Date", "Age", "Connection", "Keep-Alive", "Content-Length", "Transfer-Encoding", "Cache-Status", "X-Request-Id", "X-Couch-Request-Id", "Via", "Vary":
			continue
		}
		out[name] = server.ReplaceAllString(strings.Join(values, ", "), "http://node")
	}
	return out
}

// volatile is what a node says of itself alone: positions, times and sizes.
var volatile = regexp.MustCompile(`"(seq|last_seq|update_seq|instance_start_time|disk_size|data_size|uuid|db_uuid|server_uuid|revpos)":("[^"]*"|\d+)`)

func bodyOf(text string) string {
	text = volatile.ReplaceAllString(text, `"$1":0`)
	var feed struct {
		Results []json.RawMessage
		Last    *int `json:"last_seq"`
	}
	if json.Unmarshal([]byte(text), &feed) == nil && feed.Last != nil {
		return inOrder(feed.Results) // its order is a node's own as well
	}
	var outcomes []json.RawMessage
	if json.Unmarshal([]byte(text), &outcomes) == nil {
		return inOrder(outcomes) // of _bulk_docs, as they came about
	}
	return text
}

func inOrder(list []json.RawMessage) string {
	slices.SortFunc(list, func(a, b json.RawMessage) int { return strings.Compare(string(a), string(b)) })
	return fmt.Sprintf("%s", list)
}

// computed tells whether a node gives what r asks for no validator, so that Kasoku gives
// it one.
func computed(r *request) bool {
	for _, part := range []string{"meta=", "open_revs=", "revs=", "conflicts=", "local_seq=", "/_view/", "/_list/", "/_show/", "/_all_docs", "/_find", "/_bulk_get", "/_index", "/_design_docs"} {
		if strings.Contains(r.path, part) {
			return true
		}
	}
	return false
}

// differences tells how what came through Kasoku is not what the node said; "" if it
// is. The order of an object's members counts only if exact: nodes write it otherwise in
// what was replicated to them.
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
			list = append(list, fmt.Sprintf("%s: %q, which the node does not say", name, value))
		}
	}
	return strings.Join(list, "; ")
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// learn takes from the node's answer what later requests need.
func (g *generator) learn(r *request, a answer) {
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
		var said []struct{ ID, Rev string }
		if json.Unmarshal([]byte(r.body), &sent) != nil || json.Unmarshal([]byte(a.body), &said) != nil {
			return
		}
		for _, doc := range said {
			gone := slices.ContainsFunc(sent.Docs, func(d struct {
				ID      string `json:"_id"`
				Deleted bool   `json:"_deleted"`
			}) bool {
				return d.ID == doc.ID && d.Deleted
			})
			g.wrote(doc.ID, doc.Rev, gone)
		}
	case r.method == "PUT" || r.method == "DELETE" || r.method == "COPY":
		var said struct{ ID, Rev string }
		if json.Unmarshal([]byte(a.body), &said) == nil {
			g.wrote(said.ID, said.Rev, r.method == "DELETE")
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
