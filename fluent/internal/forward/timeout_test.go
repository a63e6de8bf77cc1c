//go:build go1.25

package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// A net.Pipe passes an empty write to the reader, which may treat it as an error.
func TestNoEmptyWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []Options{{}, {Single: true}} {
			client, server := net.Pipe()
			c := newConn(client, &o)
			go func() {
				if err := c.Write(message(1, "")); err != nil {
					t.Error(err)
				}
				c.Abort()
			}()
			b := make([]byte, 4096)
			for {
				n, err := server.Read(b)
				if err != nil {
					break
				}
				if n == 0 {
					t.Errorf("%+v: an empty write", o)
				}
			}
		}
	})
}

// A server that accepts and sends nothing delays the client at most until the timeout or the
// end of the context.
func TestSilentServer(t *testing.T) {
	f := func(o Options, ctxLimit, want time.Duration, wantErr error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := forwardtest.Detached(forwardtest.Options{})
			defer r.Close()
			r.Behave(forwardtest.Behaviour{HalfOpen: true})
			o.Dial = r.Dial
			ctx, cancel := context.WithTimeout(t.Context(), ctxLimit)
			defer cancel()
			start := time.Now()
			_, err := Dial(ctx, &o)
			if took := time.Since(start); took != want || err == nil || wantErr != nil && !errors.Is(err, wantErr) {
				t.Errorf("%v after %v; want %v after %v", err, took, wantErr, want)
			}
		})
	}
	f(Options{SharedKey: "key", DialTimeout: 3 * time.Second}, time.Hour, 3*time.Second, nil)
	f(Options{SharedKey: "key"}, time.Minute, time.Minute, context.DeadlineExceeded)
	f(Options{TLS: &tls.Config{ServerName: "x"}, DialTimeout: time.Second}, time.Hour, time.Second, nil)
}

func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := forwardtest.Detached(forwardtest.Options{})
		defer r.Close()
		r.Behave(forwardtest.Behaviour{Stall: true})
		c := dial(t, Options{Dial: r.Dial, WriteTimeout: 5 * time.Second})
		start := time.Now()
		err := c.Write(message(1, ""))
		if time.Since(start) != 5*time.Second || !Timeout(err) || !strings.Contains(err.Error(), "does not read") {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// A deadline does not lose the part of an acknowledgement that has arrived.
func TestReadAckAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		defer server.Close()
		c := newConn(client, &Options{})
		go func() {
			_, _ = server.Write([]byte("\x81\xa3ac"))
			time.Sleep(time.Minute)
			_, _ = server.Write([]byte("k\xa1x\x81\xa3ack\xa1y"))
		}()
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.ReadAck(); !Timeout(err) {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Time{})
		for _, want := range []string{"x", "y"} {
			if id, err := c.ReadAck(); id != want || err != nil {
				t.Errorf("acknowledged %q, %v; want %q", id, err, want)
			}
		}
	})
}
