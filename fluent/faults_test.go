//go:build go1.25

package fluent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// A server that fails on its first connections and then works receives everything, and the
// failures are reported.
func TestFaultsThenRecovery(t *testing.T) {
	f := func(b forwardtest.Behaviour, wantErr string, opts ...Option) {
		t.Helper()
		bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
			r.Script(b, b, b)
			s.deliver([]string{"a"}, append(opts, WithDial(r.Dial))...)
			s.put(30)
			s.await(30)
			synctest.Wait()
			complete(t, r.Events(), 60)
			failures := s.failures()
			if len(failures) != 3 {
				t.Errorf("%+v: failures %v", b, failures)
			}
			for _, err := range failures {
				if !strings.Contains(err.Error(), wantErr) || !strings.HasPrefix(err.Error(), "fluent: server a: ") {
					t.Errorf("%+v: failure %q; want %q", b, err, wantErr)
				}
			}
			for _, err := range r.Errors() {
				t.Errorf("%+v: the server reported %v", b, err)
			}
		})
	}
	const closed = "closed"
	f(forwardtest.Behaviour{CloseAfter: 10}, closed)
	f(forwardtest.Behaviour{CloseAfter: 100}, closed)
	f(forwardtest.Behaviour{Stall: true}, "does not read")
	f(forwardtest.Behaviour{HalfOpen: true}, "no acknowledgement within 30s")
	f(forwardtest.Behaviour{AckNever: true}, "no acknowledgement within 30s (")
	f(forwardtest.Behaviour{AckNever: true}, "no acknowledgement within 5s (2 outstanding)", WithAckTimeout(5*time.Second), WithWindow(2), WithBreaker(9))
	f(forwardtest.Behaviour{AckDelay: time.Minute}, "no acknowledgement")
	f(forwardtest.Behaviour{AckWrong: true}, `acknowledged chunk "bm90IHdoYXQgd2FzIHNlbnQ=" instead of "batch 00`)
	f(forwardtest.Behaviour{AckClose: true}, closed)
	f(forwardtest.Behaviour{Hello: []byte("\x92\xa4HELO\x80")}, "server requires a shared key")
	f(forwardtest.Behaviour{Hello: []byte("HTTP/1.1 400 Bad Request\r\n\r\n")}, "no acknowledgement")
	f(forwardtest.Behaviour{Hello: []byte("\x81\xa3ack\xa1x")}, `chunk "x"`)

	// Without acknowledgements the first batches are not lost either.
	f(forwardtest.Behaviour{Refuse: true}, "", WithAck(false))
	f(forwardtest.Behaviour{CloseAfter: 100}, closed, WithAck(false))
	f(forwardtest.Behaviour{Stall: true}, "does not read", WithAck(false))
	f(forwardtest.Behaviour{Hello: []byte("\x92\xa4HELO\x80")}, "server requires a shared key", WithAck(false))
}

// An acknowledgement that is late, but not too late, makes no duplicates.
func TestLateAcknowledgements(t *testing.T) {
	bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
		r.Behave(forwardtest.Behaviour{AckDelay: 29 * time.Second})
		s.deliver([]string{"a"}, WithDial(r.Dial))
		s.put(40)
		s.await(40)
		inOrder(t, r.Events(), 80)
		if len(s.failures()) != 0 {
			t.Errorf("failures %v", s.failures())
		}
	})
}

// The same over sockets, where resets are real.
func TestResetsMidChunk(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		r := forwardtest.New(t, forwardtest.Options{Network: network})
		for _, n := range []int{1, 30, 50, 90, 200} {
			r.Script(forwardtest.Behaviour{CloseAfter: n, Reset: true}, forwardtest.Behaviour{CloseAfter: n})
		}
		r.Script(forwardtest.Behaviour{Refuse: true, Reset: true})
		s := newFakeSource(t)
		address := r.Address()
		if network == "unix" {
			address = "unix://" + address
		}
		_, stop := s.deliver([]string{address}, WithRetry(time.Microsecond, time.Millisecond))
		s.put(50)
		s.await(50)
		stop()
		complete(t, r.Events(), 100)
	}
}

// A connection that is reset or closed while nothing is sent loses nothing, even without
// acknowledgements: the next batch is not written into the dead socket.
func TestResetWhileIdleLosesNothing(t *testing.T) {
	f := func(ack bool, rounds int, end func(*forwardtest.Receiver)) {
		t.Helper()
		r := forwardtest.New(t, forwardtest.Options{})
		s := newFakeSource(t)
		d, stop := s.deliver([]string{r.Address()}, WithAck(ack))
		for i := range rounds {
			s.put(1)
			s.await(i + 1)
			r.Wait(t, 2*(i+1))
			end(r)
			for d.states()[0].Connected { // the kernel takes a moment
				runtime.Gosched()
			}
		}
		stop()
		inOrder(t, r.Events(), 2*rounds)
		if r.Accepted() != rounds || len(s.failures()) != 0 {
			t.Errorf("%d connections, failures %v", r.Accepted(), s.failures())
		}
	}
	// Without acknowledgements a new connection's first batch takes a while.
	for _, end := range []func(*forwardtest.Receiver){(*forwardtest.Receiver).ResetConns, (*forwardtest.Receiver).CloseConns} {
		f(false, 10, end)
		f(true, 100, end)
	}
}

// A batch sent at the time of the reset may be repeated, but is not lost.
func TestResetWhilePosting(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	s := newFakeSource(t)
	_, stop := s.deliver([]string{r.Address()}, WithRetry(time.Microsecond, time.Millisecond))
	const rounds = 300
	for i := range rounds {
		s.put(1)
		if i%2 == 0 {
			s.await(i)
		}
		r.ResetConns()
	}
	s.await(rounds)
	stop()
	complete(t, r.Events(), 2*rounds)
}

func TestRestartOnItsAddress(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	s := newFakeSource(t)
	_, stop := s.deliver([]string{r.Address()}, WithRetry(time.Microsecond, time.Millisecond))
	for i := range 10 {
		s.put(20)
		s.await(20*i + 5)
		r.Stop()
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
	}
	s.await(200)
	stop()
	complete(t, r.Events(), 400)
}

// A refusal by TLS is reported, nothing is lost, and nothing arrives.
func TestTLSFailures(t *testing.T) {
	server, trusted := forwardtest.Certificate(t, 1)
	client, clients := forwardtest.Certificate(t, 2)
	_, other := forwardtest.Certificate(t, 3)
	f := func(config *tls.Config, want string, opts ...Option) {
		t.Helper()
		r := forwardtest.New(t, forwardtest.Options{TLS: mutual(server, clients)})
		s := newFakeSource(t)
		_, stop := s.deliver([]string{"tls://" + r.Address()}, append(opts, WithTLS(config), WithRetry(time.Hour, time.Hour))...)
		s.put(3)
		if want == "" {
			s.await(3)
			stop()
			inOrder(t, r.Events(), 6)
			return
		}
		err := s.awaitEvent(Fail).Err
		stop()
		waiting, _, _ := s.counts()
		if !strings.Contains(err.Error(), want) || waiting != 3 || r.Total() != 0 {
			t.Errorf("%v; want %q; %d batches left, %d events arrived", err, want, waiting, r.Total())
		}
	}
	with := []tls.Certificate{client}
	f(&tls.Config{RootCAs: trusted, Certificates: with}, "")
	f(&tls.Config{RootCAs: other, Certificates: with}, "unknown authority")
	f(&tls.Config{RootCAs: other, Certificates: with}, "unknown authority", WithAck(false))
	f(&tls.Config{RootCAs: trusted, Certificates: with, ServerName: "elsewhere"}, "not elsewhere")
	f(&tls.Config{RootCAs: trusted, Certificates: with, ServerName: "elsewhere"}, "not elsewhere", WithAck(false))
	f(&tls.Config{RootCAs: trusted}, "certificate required")
}

// A server requests the certificate after the client is connected: data written by then is
// not lost, even without acknowledgements.
func TestTLSWithoutCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, trusted := forwardtest.Certificate(t, 1)
		_, clients := forwardtest.Certificate(t, 2)
		r := forwardtest.Detached(forwardtest.Options{TLS: mutual(server, clients)})
		t.Cleanup(r.Close)
		s := newFakeSource(t)
		_, stop := s.deliver([]string{"tls://localhost"}, WithDial(r.Dial), WithAck(false), WithRetry(time.Hour, time.Hour),
			WithTLS(&tls.Config{RootCAs: trusted}))
		s.put(3)
		err := s.awaitEvent(Fail).Err
		stop()
		if waiting, _, _ := s.counts(); waiting != 3 || !strings.Contains(err.Error(), "certificate required") {
			t.Errorf("%v; %d batches left", err, waiting)
		}
	})
}

func mutual(server tls.Certificate, clients *x509.CertPool) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
}

func TestHandshakeFailures(t *testing.T) {
	f := func(sec forwardtest.Security, want error, wantText string, opts ...Option) {
		t.Helper()
		bubble(t, forwardtest.Options{Security: &sec}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
			d, stop := s.deliver([]string{"a"}, append(opts, WithDial(r.Dial), WithRetry(time.Hour, time.Hour))...)
			s.put(3)
			err := s.awaitEvent(Fail).Err
			stop()
			waiting, _, _ := s.counts()
			if want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), wantText) || waiting != 3 || r.Total() != 0 {
				t.Errorf("%v; want %v, %q; %d batches left, %d events arrived", err, want, wantText, waiting, r.Total())
			}
			if last := d.states()[0].LastError; !reflect.DeepEqual(last, err) {
				t.Errorf("last error %v; want %v", last, err)
			}
		})
	}
	for _, ack := range []bool{true, false} {
		f(forwardtest.Security{SharedKey: "k"}, ErrKeyRequired, "", WithAck(ack))
		f(forwardtest.Security{SharedKey: "k"}, nil, `"shared_key mismatch"`, WithAck(ack), WithSharedKey("other"))
		f(forwardtest.Security{SharedKey: "k", Text: true}, nil, "another shared key", WithAck(ack), WithSharedKey("other"))
		f(forwardtest.Security{SharedKey: "k", Users: map[string]string{"u": "p"}}, nil, `"username/password mismatch"`,
			WithAck(ack), WithSharedKey("k"), WithUser("u", "wrong"))
		f(forwardtest.Security{SharedKey: "k", Hostname: "client.test"}, nil, "the name of the server", WithAck(ack), WithSharedKey("k"))
	}
	bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
		s.deliver([]string{"a"}, WithDial(r.Dial), WithSharedKey("k"))
		s.put(1)
		if err := s.awaitEvent(Fail).Err; !strings.Contains(err.Error(), "not ready within 3s: handshake: waiting for HELO") {
			t.Error(err)
		}
	})
}
