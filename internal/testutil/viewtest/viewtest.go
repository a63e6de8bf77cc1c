// Package viewtest is an origin in memory for the view of a cluster, with faults. It answers
// the requests of package view and no others, needs no goroutine, and takes the time from
// package time, so that it can be used in a synctest bubble.
package viewtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/cluster/view"
	"github.com/kasoku/kasoku/internal/pause"
)

// ErrLost is returned for a request whose answer is lost: see Faults.LoseAnswers.
var ErrLost = errors.New("viewtest: the answer is lost")

// Origin holds the items of one table. New returns one without items.
type Origin struct {
	mu      sync.Mutex
	items   map[string]json.RawMessage // by cluster
	pending []*write                   // in the order of their arrival
}

// write is a PutItem in flight.
type write struct {
	arrival time.Time
	request request
	status  int // 0 until it has arrived
	answer  []byte
}

// request has the members of all requests of package view.
type request struct {
	Key, Item                 json.RawMessage
	ConditionExpression       string
	ExpressionAttributeValues map[string]attribute
}

// attribute is an attribute value of one of the types in conditions.
type attribute struct{ S, N string }

// New returns an origin whose table exists.
func New() *Origin { return &Origin{items: map[string]json.RawMessage{}} }

// View returns the view of a cluster, past all faults.
func (o *Origin) View(cluster string) (protocol.View, error) {
	return o.Client().Store(cluster).Read(context.Background())
}

// Replace replaces the item of a cluster, in DynamoDB's JSON. An empty item deletes it.
func (o *Origin) Replace(cluster, item string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deliver()
	if item == "" {
		delete(o.items, cluster)
		return
	}
	o.items[cluster] = json.RawMessage(item)
}

// Client returns another connection to the origin, without faults at first.
func (o *Origin) Client() *Client { return &Client{origin: o} }

// Client is the connection of one member to an origin.
type Client struct {
	origin *Origin
	mu     sync.Mutex
	faults Faults
}

// Faults are the faults of a connection.
type Faults struct {
	// Err is returned for each request, without effect.
	Err error
	// Status and Code are the answer to each request, without effect, for example 500 and
	// "InternalServerError". 0 is no fault.
	Status int
	Code   string
	// Delay is the time until a request arrives at the origin. If its context ends before
	// then, a write still takes effect when it arrives.
	Delay time.Duration
	// AnswerDelay is the time from then until the answer is received.
	AnswerDelay time.Duration
	// LoseAnswers lets requests take effect and returns ErrLost for them.
	LoseAnswers bool
	// Conflicts is the number of writes that fail next as if another member had written.
	Conflicts int
}

// Set replaces the faults. Requests in flight keep the previous ones.
func (c *Client) Set(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// Store returns a store that uses the connection.
func (c *Client) Store(cluster string) *view.Store {
	return view.New(view.Config{Cluster: cluster, Table: "kasoku-cluster", Call: c.Call})
}

// Call is a view.Caller.
func (c *Client) Call(ctx context.Context, target string, body []byte) (status int, answer []byte, err error) {
	operation := strings.TrimPrefix(target, "DynamoDB_20120810.")
	f, conflict := c.take(operation)
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return 0, nil, fmt.Errorf("viewtest: the request: %w", err)
	}
	switch {
	case f.Err != nil:
		return 0, nil, f.Err
	case f.Status != 0:
		status, answer = failure(f.Status, f.Code)
		return status, answer, nil
	}
	w := &write{arrival: time.Now().Add(f.Delay), request: r}
	if operation == "PutItem" && !conflict {
		c.origin.send(w)
	}
	if !wait(ctx, f.Delay) {
		return 0, nil, context.Cause(ctx)
	}
	switch {
	case operation == "DescribeTable":
		status, answer = 200, []byte(`{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"cluster","KeyType":"HASH"}],`+
			`"AttributeDefinitions":[{"AttributeName":"cluster","AttributeType":"S"}]}}`)
	case operation == "GetItem":
		status, answer = c.origin.get(r)
	case conflict:
		status, answer = failure(400, "ConditionalCheckFailedException")
	case operation == "PutItem":
		status, answer = c.origin.result(w)
	default:
		status, answer = failure(400, "UnknownOperationException")
	}
	if !wait(ctx, f.AnswerDelay) {
		return 0, nil, context.Cause(ctx)
	}
	if f.LoseAnswers {
		return 0, nil, ErrLost
	}
	return status, answer, nil
}

// wait waits for d, and returns false if ctx ends before then.
func wait(ctx context.Context, d time.Duration) bool { return d <= 0 || pause.For(ctx, d) }

// take returns the faults of a request, and whether it is a write that must fail.
func (c *Client) take(operation string) (f Faults, conflict bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f = c.faults
	conflict = operation == "PutItem" && f.Err == nil && f.Status == 0 && f.Conflicts > 0
	if conflict {
		c.faults.Conflicts--
	}
	return f, conflict
}

// send puts a write in flight.
func (o *Origin) send(w *write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := len(o.pending)
	for at > 0 && w.arrival.Before(o.pending[at-1].arrival) {
		at--
	}
	o.pending = slices.Insert(o.pending, at, w)
}

// result returns the answer to a write that has arrived.
func (o *Origin) result(w *write) (status int, answer []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deliver()
	return w.status, w.answer
}

// deliver executes the writes that have arrived. The caller holds mu.
func (o *Origin) deliver() {
	now := time.Now()
	for len(o.pending) > 0 && !o.pending[0].arrival.After(now) {
		w := o.pending[0]
		o.pending = o.pending[1:]
		w.status, w.answer = o.put(w.request)
	}
}

// put executes a write. The caller holds mu.
func (o *Origin) put(r request) (status int, answer []byte) {
	var stored, next struct{ Cluster, Rev, Creator attribute }
	if json.Unmarshal(r.Item, &next) != nil || next.Cluster.S == "" {
		return failure(400, "ValidationException")
	}
	item, exists := o.items[next.Cluster.S]
	if exists && json.Unmarshal(item, &stored) != nil {
		return failure(500, "InternalServerError")
	}
	ok := false
	switch r.ConditionExpression {
	case "attribute_not_exists(#cluster)":
		ok = !exists
	case "#rev = :rev AND #creator = :creator":
		ok = exists && stored.Rev.N == r.ExpressionAttributeValues[":rev"].N && stored.Creator.S == r.ExpressionAttributeValues[":creator"].S
	default:
		return failure(400, "ValidationException")
	}
	if ok {
		o.items[next.Cluster.S] = r.Item
		return 200, []byte("{}")
	}
	if !exists {
		return failure(400, "ConditionalCheckFailedException")
	}
	return 400, fmt.Appendf(nil, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":%s}`, item)
}

// get executes a read.
func (o *Origin) get(r request) (status int, answer []byte) {
	var key struct{ Cluster attribute }
	if json.Unmarshal(r.Key, &key) != nil {
		return failure(400, "ValidationException")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deliver()
	item, exists := o.items[key.Cluster.S]
	if !exists {
		return 200, []byte("{}")
	}
	return 200, fmt.Appendf(nil, `{"Item":%s}`, item)
}

// failure returns an error answer.
func failure(status int, code string) (int, []byte) {
	return status, fmt.Appendf(nil, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"an error of the test"}`, code)
}
