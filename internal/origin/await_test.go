package origin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAwaitAnswer checks an exchange whose request body breaks off: the origin sees the end of
// the body and answers or ends the exchange. Nothing waits for the head's timeout.
func TestAwaitAnswer(t *testing.T) {
	donor := httptest.NewTLSServer(http.NotFoundHandler())
	defer donor.Close()
	roots := x509.NewCertPool()
	roots.AddCert(donor.Certificate())
	gone := errors.New("gone")

	f := func(name string, secure, await bool, end func(conn net.Conn, leave func()), status int, aborted bool) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		url := "http://"
		raw := make(chan net.Conn, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		served, left := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(served)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			raw <- conn
			if secure {
				conn = tls.Server(conn, &tls.Config{Certificates: donor.TLS.Certificates})
			}
			io.Copy(io.Discard, conn)
			end(conn, func() { cancel(); <-left })
		}()
		if secure {
			url = "https://"
		}
		tr := transport(t, TransportConfig{URL: url + l.Addr().String(), HeadTimeout: time.Hour, TLS: &tls.Config{RootCAs: roots, ServerName: "example.com"}})
		in, fault := tr.Exchange(ctx, &Outbound{
			Method: []byte("POST"), Target: []byte("/"), Length: 10, AwaitAnswer: func() bool { return await },
			Body: io.MultiReader(strings.NewReader("hello"), &failingReader{gone}),
		})
		close(left)
		switch {
		case in != nil:
			if in.Status != status || len(tr.pool.idle) != 0 {
				t.Errorf("%s: status %d, want %d; %d connections kept", name, in.Status, status, len(tr.pool.idle))
			}
			in.Close()
		case status != 0:
			t.Errorf("%s: got the fault %v, want the status %d", name, fault, status)
		default:
			wantKind(t, fault, Canceled, true)
			if !errors.Is(fault, gone) || fault.Aborted != aborted {
				t.Errorf("%s: got %v, aborted %t; want %t", name, fault, fault.Aborted, aborted)
			}
		}
		(<-raw).Close()
		<-served
	}
	closes := func(net.Conn, func()) {}
	resets := func(c net.Conn, _ func()) { c.(*net.TCPConn).SetLinger(0) }
	refuses := func(c net.Conn, _ func()) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") }
	garbles := func(c net.Conn, _ func()) { io.WriteString(c, "what?\r\n\r\n") }
	holds := func(_ net.Conn, leave func()) { leave() }
	f("ends", false, true, closes, 0, true)
	f("ends, TLS", true, true, closes, 0, true)
	f("resets", false, true, resets, 0, true)
	f("refuses", false, true, refuses, 400, false)
	f("refuses, TLS", true, true, refuses, 400, false)
	f("garbles", false, true, garbles, 0, false)
	f("holds until the caller has left", false, true, holds, 0, false)
	f("is not waited for", false, false, closes, 0, false)
}
