package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	nameDirect = "direct"

	couchDocument = "CouchDB document"
	couchView     = "CouchDB view of 10"
	couchList     = "CouchDB list of 196 KB"
	byAB          = ", ab"
)

// couchPaths are the paths to request. The list has enough rows for 196 KB.
var couchPaths = map[string]string{
	couchDocument: "/tweets/t00007",
	couchView:     "/tweets/_design/tweets/_view/by_date?limit=10&descending=true",
	couchList:     "/tweets/_design/tweets/_list/html/by_date?limit=565",
}

// couchScenarios returns the scenarios. They run over kept connections and then, if ab is
// installed, with a connection for each request, as in 2010.
func couchScenarios() (list []scenario) {
	for _, suffix := range []string{"", byAB} {
		for _, name := range []string{couchDocument, couchView, couchList} {
			list = append(list, scenario{name: name + suffix, conns: 30})
		}
	}
	return list
}

// compareCouch compares caches in front of two CouchDB-like nodes, which replicate to each
// other, with one of the nodes itself.
func (l *lab) compareCouch() error {
	var nodes [2]*proc.Process
	var err error
	for i := range nodes {
		if nodes[i], err = l.startNode(i); errors.Is(err, errNoNode) {
			l.report.note("caches in front of CouchDB are left out: %v", err)
			return nil
		} else if err != nil {
			return err
		}
	}
	progress("filling two nodes with %d documents", l.plan.tweets)
	if err := l.fillNodes(nodes); err != nil {
		return fmt.Errorf("fill the nodes: %w", err)
	}
	targets := []target{{name: nameDirect, addr: nodes[0].Addr, proc: nodes[0]}}
	for _, c := range []struct {
		name  string
		start func(nodes [2]*proc.Process) (*proc.Process, error)
	}{{nameVarnish, l.startVarnishBefore}, {nameKasoku, l.startCouch}} {
		p, err := c.start(nodes)
		if errors.Is(err, errNoPeer) {
			l.report.note("%s is left out: %v", c.name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		targets = append(targets, target{name: c.name, addr: p.Addr, proc: p})
	}
	for _, c := range chosen(couchScenarios(), "couch", l.only) {
		if err := l.contestCouch(c, targets); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// contestCouch measures the targets in turn on one path.
func (l *lab) contestCouch(c scenario, targets []target) error {
	targets = slices.Clone(targets)
	name, ab := bytes.CutSuffix([]byte(c.name), []byte(byAB))
	path := couchPaths[string(name)]
	body, err := get(targets[0].addr, path)
	if err != nil {
		return err
	}
	for _, t := range targets[1:] {
		for range 2 {
			if got, err := get(t.addr, path); err != nil || !bytes.Equal(got, body) {
				return fmt.Errorf("%s does not answer like the node: %.100q, %w", t.name, got, err)
			}
		}
	}
	if err := l.awaitKept(targets[len(targets)-1].addr, path); err != nil {
		return err
	}
	if ab {
		return l.contestAB(c.name, path, targets)
	}
	for i, t := range targets {
		// A cache may store an answer for each host name.
		request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n", path, t.addr)
		targets[i].load = traffic{next: func(int, []byte) []byte { return request }, check: exactly(len(body)), all: [][]byte{request}}
	}
	c.traffic = func(int) (traffic, error) { return traffic{}, nil }
	return l.contest(c, targets, nil)
}

// awaitKept sends requests to Kasoku until it answers from memory, which it does once it
// follows both nodes. The requests are those of the load: a list may depend on Accept.
func (l *lab) awaitKept(addr, path string) error {
	req, err := http.NewRequestWithContext(l.ctx, "GET", "http://"+addr+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "*/*")
	for {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || strings.Contains(resp.Header.Get("Cache-Status"), "; hit") {
			return err
		}
		select {
		case <-l.ctx.Done():
			return fmt.Errorf("nothing is cached: %w", l.ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// exactly returns a check that accepts answers whose body has that length.
func exactly(length int) func(int, int, []byte) error {
	return func(_, status int, body []byte) error {
		if status != http.StatusOK || len(body) != length {
			return fmt.Errorf("status %d with %d bytes instead of 200 with %d: %.200q", status, len(body), length, body)
		}
		return nil
	}
}

// errNoNode reports that there is no CouchDB-like node. The group is left out, which is not
// a failure.
var errNoNode = errors.New("pouchdb-server is not installed below .tools (make tools fetches it)")

// startNode starts the CouchDB-like node of integration/couch with its data on disk.
func (l *lab) startNode(i int) (*proc.Process, error) {
	modules := filepath.Join(l.root, ".tools", "couch", "node_modules")
	if _, err := os.Stat(modules); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoNode
	}
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	home := filepath.Join(l.dir, fmt.Sprint("couch-", i))
	return l.start(proc.Command{Name: fmt.Sprint("couch-", i), Addr: addr, Env: []string{"NODE_PATH=" + modules}, Args: []string{
		"node", "--no-deprecation", filepath.Join(l.root, "integration", "couch", "js", "node.js"), port, home, home + "-maintenance"}})
}

// fillNodes stores the tweets on the first node and replicates them both ways.
func (l *lab) fillNodes(nodes [2]*proc.Process) error {
	for i, n := range nodes {
		if err := l.send(n, "PUT", "/tweets", ""); err != nil {
			return err
		}
		job := fmt.Sprintf(`{"source":"http://%s/tweets","target":"http://%s/tweets","continuous":true}`, nodes[1-i].Addr, n.Addr)
		if err := l.send(n, "PUT", "/_replicator/tweets", job); err != nil {
			return err
		}
	}
	if err := l.send(nodes[0], "PUT", "/tweets/_design/tweets", dataset.TweetDesign); err != nil {
		return err
	}
	const batch = 500
	for i := 0; i < l.plan.tweets; i += batch {
		if err := l.send(nodes[0], "POST", "/tweets/_bulk_docs", string(dataset.AppendTweets(nil, i, min(batch, l.plan.tweets-i)))); err != nil {
			return err
		}
	}
	if err := l.awaitReplication(nodes[1]); err != nil {
		return err
	}
	for _, n := range nodes { // builds the views
		if err := l.send(n, "GET", couchPaths[couchView], ""); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) awaitReplication(n *proc.Process) error {
	for {
		text, err := get(n.Addr, "/tweets")
		if err != nil {
			return err
		}
		var info struct {
			Count int `json:"doc_count"`
		}
		if err := json.Unmarshal(text, &info); err != nil || info.Count == l.plan.tweets+1 {
			return err
		}
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// send sends a request that may take long and discards its answer, which must have status
// 2xx.
func (l *lab) send(n *proc.Process, method, path, body string) error {
	ctx, cancel := context.WithTimeout(l.ctx, 5*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+n.Addr+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.200s %w", method, path, resp.Status, text, err)
	}
	return nil
}

// startCouch starts a Kasoku with a service of type couchdb and defaults.
func (l *lab) startCouch(nodes [2]*proc.Process) (*proc.Process, error) {
	return l.startService("kasoku-couch", func(listen, admin string) string { return couchText(listen, admin, nodes[0].Addr, nodes[1].Addr) })
}

func couchText(listen, admin, a, b string) string {
	return fmt.Sprintf("admin: {listen: %q}\ncache: {memory: 256MiB}\naccess_log: {to: none}\nservices:\n"+
		"  relax:\n    type: couchdb\n    listen: %q\n    nodes: [%q, %q]\n", admin, listen, "http://"+a, "http://"+b)
}

// startVarnishBefore starts Varnish as users of CouchDB configure it: requests alternate
// between the nodes, and answers are fresh for Varnish's default time.
func (l *lab) startVarnishBefore(nodes [2]*proc.Process) (*proc.Process, error) {
	text := "vcl 4.1;\nimport directors;\n"
	for i, n := range nodes {
		host, port, err := net.SplitHostPort(n.Addr)
		if err != nil {
			return nil, err
		}
		text += fmt.Sprintf("backend n%d { .host = %q; .port = %q; }\n", i, host, port)
	}
	text += "sub vcl_init { new nodes = directors.round_robin(); nodes.add_backend(n0); nodes.add_backend(n1); }\n" +
		"sub vcl_recv { set req.backend_hint = nodes.backend(); }\n"
	return l.runVarnish("couch", text)
}

// judgeCouch adds the goals of caches in front of CouchDB.
func (r *report) judgeCouch(atLeast func(name string, value, bound float64)) {
	list := r.ratio(couchList+byAB, nameKasoku, throughput)
	atLeast("throughput of a CouchDB list of 196 KB by ab, in direct ones", list, 100)
	if varnish := r.ratio(couchList+byAB, nameVarnish, throughput); varnish > 0 {
		atLeast("the same, in Varnish's", list/varnish, 1.5)
	}
}
