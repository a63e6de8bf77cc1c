// Package fault makes an origin misbehave on command. An Injector wraps the origin's
// handler, either the model or a proxy to DynamoDB Local, and decides for each request
// whether to inject a fault.
//
// Every kind of fault occurs with real networks and services. The kinds differ in whether
// the request is executed, and whether the proxy can detect that.
package fault

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Kind is a kind of fault.
type Kind uint8

const (
	None        Kind = iota
	Delay            // served correctly, but late
	Throttle         // rejected as over capacity; not executed
	ErrorBefore      // 500, not executed
	ErrorAfter       // 500, but executed
	Unavailable      // 503, not executed
	Garbage          // executed, answered with 200 and a body that isn't JSON
	ResetBefore      // the connection is reset; not executed
	ResetAfter       // executed, then the connection is reset without an answer
	ResetBody        // executed, then reset in the middle of the answer
	Late             // the connection is reset at once; executed some time later
	kinds
)

var names = [kinds]string{"none", "delay", "throttle", "error-before", "error-after", "unavailable", "garbage",
	"reset-before", "reset-after", "reset-body", "late"}

func (k Kind) String() string { return names[k] }

// Plan sets the frequency of each kind. The zero Plan injects nothing.
type Plan struct {
	OneIn map[Kind]int // 1 for every request, 100 for one in a hundred
	// Steady selects requests by counting instead of at random: within any n requests, a
	// kind of one in n occurs exactly once. Kinds with the same n affect different requests
	// if n is greater than the number of kinds.
	Steady bool
	// Only restricts the faults to these operations; empty: all.
	Only []string
	// DelayFor is the maximum delay of Delay, LateBy the maximum delay after which a Late
	// request is still executed.
	DelayFor, LateBy time.Duration
}

// Injector injects faults into requests for the wrapped handler. The plan may be changed at
// any time; requests in progress keep the plan they began with.
type Injector struct {
	// Operation returns the operation of a request, for Plan.Only. If nil, the package's
	// Operation is used.
	Operation func(*http.Request) string

	plan  atomic.Pointer[Plan]
	late  sync.WaitGroup
	count [kinds]atomic.Int64
	// turn counts the requests that a plan applied to.
	turn atomic.Int64
	// gate is closed while requests pass; Hold replaces it.
	gate atomic.Pointer[chan struct{}]
}

// Set replaces the plan.
func (in *Injector) Set(p Plan) { in.plan.Store(&p) }

// Clear stops all faults and waits until late requests have been executed.
func (in *Injector) Clear() {
	in.plan.Store(nil)
	in.late.Wait()
}

// Count returns the number of injected faults of kind k.
func (in *Injector) Count(k Kind) int64 { return in.count[k].Load() }

// Hold blocks every request until release is called.
func (in *Injector) Hold() (release func()) {
	gate := make(chan struct{})
	in.gate.Store(&gate)
	return sync.OnceFunc(func() {
		in.gate.Store(nil)
		close(gate)
	})
}

// Wrap returns next with faults.
func (in *Injector) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gate := in.gate.Load(); gate != nil {
			select {
			case <-*gate:
			case <-r.Context().Done():
				return
			}
		}
		plan := in.plan.Load()
		kind := in.pick(plan, in.operation(r))
		in.count[kind].Add(1)
		in.serve(w, r, next, plan, kind)
	})
}

func (in *Injector) operation(r *http.Request) string {
	if in.Operation != nil {
		return in.Operation(r)
	}
	return Operation(r)
}

// Operation returns the DynamoDB operation of r.
func Operation(r *http.Request) string {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return op
}

// pick selects the fault of one request. Kinds are tried in order, so a kind occurs with its
// frequency except when an earlier kind is selected.
func (in *Injector) pick(p *Plan, op string) Kind {
	if p == nil || (len(p.Only) > 0 && !contains(p.Only, op)) {
		return None
	}
	turn := in.turn.Add(1)
	for k := Delay; k < kinds; k++ {
		if n := p.OneIn[k]; n > 0 && p.applies(k, n, turn) {
			return k
		}
	}
	return None
}

func (p *Plan) applies(k Kind, n int, turn int64) bool {
	if p.Steady {
		return turn%int64(n) == int64(k)%int64(n)
	}
	return rand.IntN(n) == 0
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

const (
	throttled = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."}`
	internal  = `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}`
)

func (in *Injector) serve(w http.ResponseWriter, r *http.Request, next http.Handler, plan *Plan, kind Kind) {
	switch kind {
	case None:
		next.ServeHTTP(w, r)
	case Delay:
		// Executed even if the client has given up by then, as by a service that has
		// received it.
		<-time.After(upTo(plan.DelayFor))
		next.ServeHTTP(w, r)
	case Throttle:
		drain(r)
		answer(w, http.StatusBadRequest, throttled)
	case ErrorBefore:
		drain(r)
		answer(w, http.StatusInternalServerError, internal)
	case ErrorAfter:
		execute(next, r)
		answer(w, http.StatusInternalServerError, internal)
	case Unavailable:
		drain(r)
		answer(w, http.StatusServiceUnavailable, "")
	case Garbage:
		execute(next, r)
		answer(w, http.StatusOK, `<html><body>It works!</body></html>`)
	case ResetBefore:
		drain(r)
		reset(w, nil)
	case ResetAfter:
		execute(next, r)
		reset(w, nil)
	case ResetBody:
		reset(w, execute(next, r))
	case Late:
		in.executeLate(next, r, plan.LateBy)
		reset(w, nil)
	}
}

// executeLate executes the request in the background after a random delay of at most within.
func (in *Injector) executeLate(next http.Handler, r *http.Request, within time.Duration) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	// The connection's own context ends with the reset.
	clone := r.Clone(context.WithoutCancel(r.Context()))
	clone.Body = io.NopCloser(bytes.NewReader(body))
	in.late.Add(1)
	time.AfterFunc(upTo(within), func() {
		defer in.late.Done()
		execute(next, clone)
	})
}

// execute executes the request and returns its response without sending it.
func execute(next http.Handler, r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	return rec
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// reset sends the first half of partial, if any, and a TCP reset.
func reset(w http.ResponseWriter, partial *httptest.ResponseRecorder) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	if partial != nil {
		body := partial.Body.Bytes()
		io.WriteString(buf, "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: "+
			strconv.Itoa(len(body))+"\r\n\r\n")
		buf.Write(body[:len(body)/2])
		buf.Flush()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
}

func drain(r *http.Request) { io.Copy(io.Discard, r.Body) }

func upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}
