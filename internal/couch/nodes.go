package couch

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/couch/feed"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
)

// nodes are the connections for Kasoku's own requests: feeds, comparisons, replications.
// They are separate from the connections for clients' requests, so that neither waits for
// the other, and failures don't affect the other's health.
type nodes struct {
	transports []*origin.Transport
	own        http1.Fields // Kasoku's credentials
	head       http1.Fields // of requests without a body
	post       http1.Fields // of requests with JSON

	// numbering is the set of nodes, a bit each, that have sent X-Couch-Request-ID.
	numbering atomic.Uint64
}

// requestTimeout is the timeout of a small request to a node.
const requestTimeout = 10 * time.Second

// maxAnswer is the maximum size of an answer to one of Kasoku's own requests.
const maxAnswer = 16 << 20

var errAnswerTooLong = errors.New("the answer is longer than 16 MiB")

func newNodes(cfg *Config) (*nodes, error) {
	n := &nodes{head: http1.FieldsOf("Accept", "application/json")}
	if cfg.User != "" {
		basic := base64.StdEncoding.EncodeToString([]byte(cfg.User + ":" + cfg.Password))
		n.own = http1.FieldsOf("Authorization", "Basic "+basic)
		n.head = append(n.head, n.own...)
	}
	n.post = append(n.head.Clone(), http1.FieldsOf("Content-Type", "application/json")...)
	for _, url := range cfg.Nodes {
		tc := cfg.HTTP.Group.Transport
		tc.Name, tc.Member, tc.URL, tc.Metrics, tc.BothFramings = cfg.Name, url, url, nil, true
		transport, err := origin.NewTransport(tc)
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", cfg.Name, err)
		}
		n.transports = append(n.transports, transport)
	}
	return n, nil
}

func (n *nodes) close() {
	for _, transport := range n.transports {
		transport.Close()
	}
}

// isOwnAnswer reports whether an answer is from the node itself and not from a proxy in
// front of it. CouchDB numbers its answers; a node that has sent a number once always does.
// A followed node has answered before anything of it is cached. An answer of a proxy must
// not be cached, since no event of the node would invalidate it.
func (n *nodes) isOwnAnswer(node int, header http1.Fields) bool {
	mine := uint64(1) << node
	if len(header.Get("X-Couch-Request-ID")) > 0 {
		if n.numbering.Load()&mine == 0 {
			n.numbering.Or(mine)
		}
		return true
	}
	return n.numbering.Load()&mine == 0
}

// get returns the function that sends the requests of a node's feeds.
func (n *nodes) get(node int) follow.Get {
	return func(ctx context.Context, target string) (int, io.ReadCloser, error) {
		in, fault := n.transports[node].Exchange(ctx, &origin.Outbound{Method: []byte("GET"), Target: []byte(target), Header: n.head})
		if fault != nil {
			return 0, nil, fault
		}
		n.isOwnAnswer(node, in.Header)
		return in.Status, in, nil
	}
}

// ask sends the requests of shared feeds, which handle pauses themselves.
func (n *nodes) ask(ctx context.Context, r *feed.Request) (*feed.Answer, error) {
	q := &origin.Outbound{Method: []byte(r.Method), Target: []byte(r.Target), Header: r.Header, HeadTimeout: feedPause, StallTimeout: feedPause}
	if r.OwnCredentials {
		q.Header = slices.Concat(r.Header, n.own)
	}
	if len(r.Body) > 0 {
		q.Content, q.Repeatable = r.Body, true
	}
	in, fault := n.transports[r.Node].Exchange(ctx, q)
	if fault != nil {
		return nil, fault
	}
	return &feed.Answer{Status: in.Status, Header: in.Header, Body: in}, nil
}

// winningRevision returns the revision that a node returns if none is requested: a leaf,
// unless the document is deleted. It returns "" if the node does not answer with one.
func (n *nodes) winningRevision(ctx context.Context, node int, path string) string {
	q := &origin.Outbound{Method: []byte("HEAD"), Target: []byte(path), Header: n.head, HeadTimeout: winnerTimeout}
	in, fault := n.transports[node].Exchange(ctx, q)
	if fault != nil {
		return ""
	}
	defer in.Close()
	if in.Status != http.StatusOK {
		return ""
	}
	return strings.Trim(string(in.Header.Get("ETag")), `"`)
}

// winnerTimeout is the timeout of winningRevision, during which a client's answer waits.
const winnerTimeout = 5 * time.Second

// do sends a node a request and returns the whole answer. body is JSON, or nil.
func (n *nodes) do(ctx context.Context, node int, method, path string, body []byte) (status int, answer []byte, err error) {
	q := &origin.Outbound{Method: []byte(method), Target: []byte(path), Header: n.head}
	if body != nil {
		q.Header, q.Content = n.post, body
	}
	in, fault := n.transports[node].Exchange(ctx, q)
	if fault != nil {
		return 0, nil, fault
	}
	defer in.Close()
	answer, err = io.ReadAll(io.LimitReader(in, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = errAnswerTooLong
	}
	return in.Status, answer, err
}
