package edge

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// h2Call makes one request over an HTTP/2 connection in memory.
type h2Call struct {
	nc     net.Conn // the client's end
	answer string   // the protocol and the body, once received
	err    error
}

func (a *h2Call) ask(ctx context.Context, s *Server) {
	serverEnd, clientEnd := net.Pipe()
	a.nc = clientEnd
	s.conns.Accept(serverEnd)
	client := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, //nolint:gosec // its clock is not ours
		DialContext: func(context.Context, string, string) (net.Conn, error) { return clientEnd, nil },
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, "GET", "https://test/", nil)
	if err != nil {
		a.err = err
		return
	}
	resp, err := client.RoundTrip(r)
	if err != nil {
		a.err = err
		return
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	a.answer, a.err = resp.Proto+" "+string(b), err
}

// TestH2Stop checks that a server which stops waits for requests over HTTP/2: their clients
// get their answers, and work that continues without a client is finished.
func TestH2Stop(t *testing.T) {
	id := newIdentity(t, t.TempDir(), 1)
	certificates, err := NewCertReloader(id.cert, id.key, "")
	if err != nil {
		t.Fatal(err)
	}
	f := func(answer string, leave func(a *h2Call, cancel func())) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			reached, open, finished := false, make(chan struct{}), false
			s, err := Listen(Config{Listen: "127.0.0.1:0", TLS: certificates.Config(), Streaming: true, Handler: HandlerFunc(func(x *Exchange) {
				reached = true
				<-open
				x.Reply.Status = http.StatusOK
				x.Reply.Build(append(x.Reply.Buf, "finished"...))
				finished = x.Lasting().Err() == nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var a h2Call
			go a.ask(ctx, s)
			time.Sleep(time.Second) // another goroutine reads the connection, because the handler blocks
			synctest.Wait()
			if !reached {
				t.Fatal("the request has not reached the handler")
			}
			leave(&a, cancel)
			stopped := make(chan error, 1)
			go func() { stopped <- s.Shutdown(t.Context()) }()
			time.Sleep(time.Minute)
			select {
			case err := <-stopped:
				t.Errorf("Shutdown returned %v during a request", err)
			default:
			}
			close(open)
			if err := <-stopped; err != nil || !finished {
				t.Errorf("Shutdown returned %v; the request was finished: %v", err, finished)
			}
			synctest.Wait()
			if a.answer != answer || (a.err != nil) != (answer == "") {
				t.Errorf("the client got %q, %v; want %q", a.answer, a.err, answer)
			}
		})
	}
	f("HTTP/2.0 finished", func(*h2Call, func()) {})
	f("", func(_ *h2Call, cancel func()) { cancel(); synctest.Wait() })
	f("", func(a *h2Call, _ func()) { _ = a.nc.Close(); synctest.Wait() })
}
