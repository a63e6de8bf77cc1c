package streams

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
)

// proxy forwards requests to an origin, and makes those fail that read a stream.
type proxy struct {
	url    string
	next   http.Handler
	fault  atomic.Pointer[streamFault]
	mu     sync.Mutex
	counts map[string]int // by kind of fault
}

// streamFault handles a request that reads a stream in place of the origin. It returns the kind of
// the fault, or "" if it has done nothing.
type streamFault func(p *proxy, w http.ResponseWriter, r *http.Request, operation string) (kind string)

func newProxy(t testing.TB, origin string) *proxy {
	t.Helper()
	next, err := fault.Proxy(origin)
	if err != nil {
		t.Fatal(err)
	}
	next.ErrorLog = log.New(io.Discard, "", 0) // clients disconnect at the end of a test
	p := &proxy{next: next, counts: map[string]int{}}
	p.url = harness.Origin(t, p)
	return p
}

// set replaces the fault; nil ends it.
func (p *proxy) set(f streamFault) {
	if f == nil {
		p.fault.Store(nil)
		return
	}
	p.fault.Store(&f)
}

// hold keeps back the requests for records until release is called.
func (p *proxy) hold() (release func()) {
	held := make(chan struct{})
	p.set(func(_ *proxy, _ http.ResponseWriter, r *http.Request, operation string) string {
		if operation == "GetRecords" {
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		return ""
	})
	return func() {
		p.set(nil)
		close(held)
	}
}

// count returns the number of faults of a kind.
func (p *proxy) count(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[kind]
}

func (p *proxy) add(kind string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[kind] += n
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	operation, ofStreams := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "DynamoDBStreams_20120810.")
	if f := p.fault.Load(); f != nil && ofStreams {
		if kind := (*f)(p, w, r, operation); kind != "" {
			p.add(kind, 1)
			return
		}
	}
	p.next.ServeHTTP(w, r)
}

func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// failWith answers a share of the requests of the given operations, or of all, with an error.
func failWith(share float64, status int, kind string, operations ...string) streamFault {
	return func(_ *proxy, w http.ResponseWriter, r *http.Request, operation string) string {
		if rand.Float64() > share || len(operations) > 0 && !slices.Contains(operations, operation) {
			return ""
		}
		_, _ = io.Copy(io.Discard, r.Body)
		reply(w, status, []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#`+kind+`","message":"injected"}`))
		return kind
	}
}

// delayBy delays the answers to all requests.
func delayBy(d time.Duration) streamFault {
	return func(p *proxy, w http.ResponseWriter, r *http.Request, _ string) string {
		answer := httptest.NewRecorder()
		p.next.ServeHTTP(answer, r)
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
		reply(w, answer.Code, answer.Body.Bytes())
		return "delay"
	}
}

// cut closes the connection of a share of the requests, before the origin has executed it or within
// its answer.
func cut(share float64) streamFault {
	return func(p *proxy, w http.ResponseWriter, r *http.Request, _ string) string {
		if rand.Float64() > share {
			return ""
		}
		var part []byte
		if rand.IntN(2) == 0 {
			answer := httptest.NewRecorder()
			p.next.ServeHTTP(answer, r)
			part = answer.Body.Bytes()[:answer.Body.Len()/2]
		}
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return ""
		}
		defer conn.Close()
		if len(part) > 0 {
			_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: " +
				strconv.Itoa(2*len(part)+2) + "\r\n\r\n")
			_, _ = buf.Write(part)
			_ = buf.Flush()
		}
		return "cut"
	}
}

// dropRecords removes one in n records from the answers of the origin.
func dropRecords(n int) streamFault {
	return func(p *proxy, w http.ResponseWriter, r *http.Request, operation string) string {
		if operation != "GetRecords" {
			return ""
		}
		recorder := httptest.NewRecorder()
		p.next.ServeHTTP(recorder, r)
		body := recorder.Body.Bytes()
		var answer struct {
			Records           []json.RawMessage
			NextShardIterator string `json:",omitempty"`
		}
		if recorder.Code == http.StatusOK && json.NewDecoder(bytes.NewReader(body)).Decode(&answer) == nil {
			kept := []json.RawMessage{}
			for _, record := range answer.Records {
				if rand.IntN(n) > 0 {
					kept = append(kept, record)
				}
			}
			p.add("drop", len(answer.Records)-len(kept))
			answer.Records = kept
			if body, _ = json.Marshal(answer); body == nil {
				return ""
			}
		}
		reply(w, recorder.Code, body)
		return "changed"
	}
}
