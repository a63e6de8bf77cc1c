package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// oddOrigin is an origin on a real socket that sends valid answers to most requests. A request with
// "closes" in its target or body gets no answer, one with "invalid" gets bytes that are not an HTTP
// answer; the connection is closed after both.
type oddOrigin struct {
	net.Listener
	odd    atomic.Int64 // requests of both kinds
	answer func(r *http.Request, body string) string
}

func newOddOrigin(t *testing.T, answer func(r *http.Request, body string) string) *oddOrigin {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	o := &oddOrigin{Listener: l, answer: answer}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go o.serve(conn)
		}
	}()
	return o
}

func (o *oddOrigin) serve(conn net.Conn) {
	defer conn.Close()
	for br := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		text := r.RequestURI + string(body)
		switch {
		case strings.Contains(text, "closes"):
			o.odd.Add(1)
			return
		case strings.Contains(text, "invalid"):
			o.odd.Add(1)
			io.WriteString(conn, "hello, world\r\n\r\n")
			return
		}
		answer := o.answer(r, string(body))
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
	}
}

// attack has 8 clients send odd requests until a healthy client has sent 200 requests, which begin
// after 100 answers to odd ones. Each of the 200 must succeed.
func attack(t *testing.T, odd func(n int64) (status int), healthy func(n int) (status int)) {
	t.Helper()
	var attackers sync.WaitGroup
	var sent, refused atomic.Int64
	stop, begun := make(chan struct{}), make(chan struct{})
	for range 8 {
		attackers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := sent.Add(1)
				if odd(n) == http.StatusServiceUnavailable {
					refused.Add(1)
				}
				if n == 100 {
					close(begun)
				}
			}
		})
	}
	<-begun
	failed := 0
	for n := range 200 {
		if healthy(n) != http.StatusOK {
			failed++
		}
	}
	close(stop)
	attackers.Wait()
	if failed > 0 {
		t.Errorf("got %d failures of 200 healthy requests", failed)
	}
	if n := refused.Load(); n > 0 {
		t.Errorf("%d of %d odd requests were refused without a request to the origin", n, sent.Load())
	}
}

// status sends a request and returns the status of its answer.
func (r *running) status(service, method, path, body string) int {
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.ServiceAddr(service).String()+path, strings.NewReader(body))
	if err != nil {
		r.t.Error(err)
		return 0
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// URLs for which the origin sends no answer or an invalid one don't make its other URLs
// unavailable.
func TestBadURLsLeaveOthersAvailable(t *testing.T) {
	page := func(r *http.Request, _ string) string { return r.RequestURI }
	one, two := newOddOrigin(t, page), newOddOrigin(t, page)
	sole := `["http://` + one.Addr().String() + `"]`
	pair := `["http://` + one.Addr().String() + `", "http://` + two.Addr().String() + `"]`
	for name, config := range map[string]string{
		"sole origin":                sole,
		"two origins":                pair,
		"all origins may be ejected": pair + "\n    ejection: {max_share: 1}",
	} {
		for _, kind := range []string{"closes", "invalid"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				r := run(t, strings.ReplaceAll(web1, `["ORIGIN"]`, config))
				before := one.odd.Load() + two.odd.Load()
				attack(t, func(n int64) int {
					return r.status("site", "GET", fmt.Sprintf("/%s/%d", kind, n%5), "")
				}, func(n int) int {
					return r.status("site", "GET", fmt.Sprintf("/page/%d", n), "")
				})
				if one.odd.Load()+two.odd.Load() == before {
					t.Error("no odd request reached an origin")
				}
			})
		}
	}
}

// The same holds for items of a dynamodb service, whose requests all have one URL.
func TestBadItemsLeaveOthersAvailable(t *testing.T) {
	o := newOddOrigin(t, func(r *http.Request, body string) string {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
			return `{"Table":{"TableName":"t","TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],` +
				`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}}`
		}
		return `{"Item":{"id":{"S":"1"}}}`
	})
	for _, kind := range []string{"closes", "invalid"} {
		t.Run(kind, func(t *testing.T) {
			r := run(t, strings.ReplaceAll(orders1, "%s", "http://"+o.Addr().String()))
			get := func(id string) int {
				return r.status("site", "POST", "/", `{"TableName":"t","Key":{"id":{"S":"`+id+`"}}}`)
			}
			before := o.odd.Load()
			attack(t, func(n int64) int {
				get(fmt.Sprintf("%s-%d", kind, n%5))
				return 0 // any fault of the origin is a 503 here
			}, func(n int) int { return get(fmt.Sprint("item-", n)) })
			if o.odd.Load() == before {
				t.Error("no odd request reached the origin")
			}
		})
	}
}
