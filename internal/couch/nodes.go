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

// nodes are the ways of Kasoku's own requests: feeds, questions, replications. They
// are apart from those of clients' requests, so that neither waits for the other's
// connections, and no failure of one is charged to the other.
type nodes struct {
	transports []*origin.Transport
	own        http1.Fields // Kasoku's credentials
	head       http1.Fields // of requests without a body
	post       http1.Fields // of those with JSON

	// numbering are the nodes, a bit each, that have said X-Couch-Request-ID.
	numbering atomic.Uint64
}

// maxAnswer is how long an answer to one of Kasoku's own requests may be.
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
		way, err := origin.NewTransport(tc)
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", cfg.Name, err)
		}
		n.transports = append(n.transports, way)
	}
	return n, nil
}

func (n *nodes) close() {
	for _, way := range n.transports {
		way.Close()
	}
}

// isOwnAnswer tells whether an answer is the node's own, and not one of somebody on the way
// to it. CouchDB numbers its answers; a node that has done so once does it always, and a
// node that is followed has answered before anything of it is kept. What it did not say
// itself must not be kept, since nothing that it announces would ever put it out of reach.
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

// get is the way of the requests of a node's feeds.
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

// ask is the way of the requests of feeds that clients share. The feeds look after
// pauses themselves.
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

// winningRevision returns the revision of a document that a node answers with when none is named:
// a leaf, if the document is not deleted. It is "" if the node does not say.
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

// winnerTimeout is how long a node may take to tell which revision is the current one. An
// answer waits for it.
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
