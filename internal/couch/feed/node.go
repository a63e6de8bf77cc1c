package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/http1"
)

// Request is a request to a node.
type Request struct {
	Node   int
	Method string
	Target string // origin-form, with its query
	// Header has the fields that the rows depend on. It may contain a client's credentials.
	Header http1.Fields
	// OwnCredentials is true if the request is to be sent with Kasoku's credentials.
	OwnCredentials bool
	Body           []byte // of a POST
}

// Answer is a node's answer after its header has arrived.
type Answer struct {
	Status int
	Header http1.Fields // valid as long as the Answer
	// Body is read to its end or closed. Reads fail when the request's context ends.
	Body io.ReadCloser
}

// Ask sends a request to its node, and never to another one.
type Ask func(ctx context.Context, q *Request) (*Answer, error)

// source is a feed on a node as requested by the clients that share it.
type source struct {
	ask            Ask
	node           int
	db             string // unescaped
	shared         string
	design         string
	filtered       bool
	method         string
	body           []byte
	header         http1.Fields
	ownCredentials bool
	silence        time.Duration
}

func (s *source) path(rest string) string { return "/" + url.PathEscape(s.db) + rest }

func (s *source) target(options, since string) string {
	t := s.path("/_changes?" + options + "&since=" + url.QueryEscape(positionText(since)))
	if s.shared != "" {
		t += "&" + s.shared
	}
	return t
}

// refusal is an unexpected status.
type refusal int

func (r refusal) Error() string { return fmt.Sprintf("the node answered with %d", int(r)) }

var errGarbled = errors.New("the node's answer is not a feed")

// get sends a small request with the feed's credentials.
func (s *source) get(ctx context.Context, method, target string) (*Answer, error) {
	return s.send(ctx, &Request{Method: method, Target: target})
}

func (s *source) send(ctx context.Context, r *Request) (*Answer, error) {
	r.Node, r.Header, r.OwnCredentials = s.node, s.header, s.ownCredentials
	a, err := s.ask(ctx, r)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		a.Body.Close()
		return nil, refusal(a.Status)
	}
	return a, nil
}

// locate returns the start time of the database and the end of its feed.
func (s *source) locate(ctx context.Context) (startTime, seq string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.silence)
	defer cancel()
	a, err := s.get(ctx, "GET", s.path(""))
	if err != nil {
		return "", "", err
	}
	defer a.Body.Close()
	info, err := api.ReadDatabaseInfo(a.Body)
	if err != nil {
		return "", "", feedError(err)
	}
	return string(info.StartTime), string(info.Seq), nil
}

// revision returns the revision of the filter's design document.
func (s *source) revision(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.silence)
	defer cancel()
	a, err := s.get(ctx, "HEAD", s.path("/_design/"+url.PathEscape(s.design)))
	if err != nil {
		return "", err
	}
	a.Body.Close()
	if tag := a.Header.Get("ETag"); len(tag) > 0 {
		return string(tag), nil
	}
	return "", errGarbled
}

func (s *source) changes(ctx context.Context, options, since string) (*Answer, error) {
	return s.send(ctx, &Request{Method: s.method, Target: s.target(options, since), Body: s.body})
}

// watchedReader ends a request after a period of silence.
type watchedReader struct {
	io.Reader
	dog  *time.Timer
	left time.Duration
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.dog.Reset(w.left)
	}
	return n, err
}
