package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// entries makes n events {"a": i%100}, one second and one nanosecond apart.
func entries(n int) []byte {
	var b []byte
	for i := range n {
		b = msgpack.AppendArrayLen(b, 2)
		b = msgpack.AppendEventTime(b, time.Unix(1700000000+int64(i), int64(i)))
		b = msgpack.AppendMapLen(b, 1)
		b = msgpack.AppendString(b, "a")
		b = msgpack.AppendInt(b, int64(i%100))
	}
	return b
}

func message(n int, chunk string) *Message {
	return &Message{Tag: "t", Entries: entries(n), Records: n, Chunk: chunk}
}

func dial(t *testing.T, o Options) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Abort)
	return c
}

func TestModes(t *testing.T) {
	const events = 300
	f := func(o Options, mode forwardtest.Mode, messages int) forwardtest.Message {
		t.Helper()
		r := forwardtest.New(t, forwardtest.Options{})
		o.Network, o.Address, o.WriteTimeout = "tcp", r.Address(), time.Minute
		c := dial(t, o)
		if err := c.Write(message(events, "AA==")); err != nil {
			t.Fatal(err)
		}
		if id, err := c.ReadAck(); id != "AA==" || err != nil {
			t.Fatalf("acknowledged %q, %v", id, err)
		}
		ms := r.Messages()
		last := ms[len(ms)-1]
		if len(ms) != messages || last.Mode != mode || last.Chunk != "AA==" {
			t.Errorf("%d messages, last %+v", len(ms), last)
		}
		for i, e := range r.Events() {
			want := forwardtest.Event{Tag: "t", Nano: !o.Seconds, Time: time.Unix(1700000000+int64(i), int64(i)), Record: map[string]any{"a": int64(i % 100)}}
			if o.Seconds {
				want.Time = want.Time.Truncate(time.Second)
			}
			if !reflect.DeepEqual(e, want) {
				t.Fatalf("event %+v; want %+v", e, want)
			}
		}
		if r.Total() != events || len(r.Errors()) > 0 {
			t.Errorf("%d events, errors %v", r.Total(), r.Errors())
		}
		return ms[0]
	}
	packed := func(m forwardtest.Message, option map[string]any) {
		t.Helper()
		if m.Elems != 3 || !m.Binary || !reflect.DeepEqual(m.Option, option) {
			t.Errorf("%+v; want option %v", m, option)
		}
	}
	packed(f(Options{}, forwardtest.ModePacked, 1), map[string]any{"size": int64(events), "chunk": "AA=="})
	packed(f(Options{Seconds: true}, forwardtest.ModePacked, 1), map[string]any{"size": int64(events), "chunk": "AA=="})
	packed(f(Options{Compression: Gzip}, forwardtest.ModeCompressed, 1), map[string]any{"size": int64(events), "chunk": "AA==", "compressed": "gzip"})
	packed(f(Options{Compression: Zstd}, forwardtest.ModeCompressed, 1), map[string]any{"size": int64(events), "chunk": "AA==", "compressed": "zstd"})
	packed(f(Options{Compression: Zstd, Seconds: true}, forwardtest.ModeCompressed, 1), map[string]any{"size": int64(events), "chunk": "AA==", "compressed": "zstd"})
	for _, seconds := range []bool{false, true} {
		if first := f(Options{Single: true, Seconds: seconds}, forwardtest.ModeMessage, events); first.Elems != 3 || first.Option != nil {
			t.Errorf("the first of many single messages has an option: %+v", first)
		}
	}
}

func TestWritesAgainOnOneConnection(t *testing.T) {
	for _, o := range []Options{{}, {Compression: Gzip}, {Compression: Zstd}, {Single: true}, {Seconds: true}} {
		r := forwardtest.New(t, forwardtest.Options{Network: "unix"})
		o.Network, o.Address = "unix", r.Address()
		c := dial(t, o)
		for _, n := range []int{3, 500, 1, 40} {
			if err := c.Write(message(n, "")); err != nil {
				t.Fatal(err)
			}
		}
		r.Wait(t, 544)
		for i, m := range r.Messages() {
			if m.Chunk != "" || len(r.Errors()) > 0 {
				t.Errorf("message %d: %+v, %v", i, m, r.Errors())
			}
		}
	}
}

func TestDamagedEntries(t *testing.T) {
	f := func(o Options, entries string) {
		t.Helper()
		c := newConn(nil, &o)
		if err := c.Write(&Message{Tag: "t", Entries: []byte(entries), Records: 1}); err == nil {
			t.Errorf("%+v: wrote %x", o, entries)
		}
	}
	for _, o := range []Options{{Single: true}, {Seconds: true}} {
		f(o, "\x92\xd7")
		f(o, "\x92\xc1\xc0")
		f(o, "\x93\x01\x80\x80")
		f(o, "\x92\x01\x80\xc0")
	}
}

// servers with certificates, and clients that trust them or not.
func TestTLS(t *testing.T) {
	server, trusted := forwardtest.Certificate(t, 1)
	client, clients := forwardtest.Certificate(t, 2)
	_, other := forwardtest.Certificate(t, 3)

	// f dials, sends, and returns the first error that a client meets.
	f := func(server, client *tls.Config) error {
		t.Helper()
		r := forwardtest.New(t, forwardtest.Options{TLS: server})
		c, err := Dial(t.Context(), &Options{Network: "tcp", Address: r.Address(), TLS: client, SharedKey: ""})
		if err != nil {
			return err
		}
		defer c.Abort()
		// A server that wants a certificate may have closed before the write. The
		// reason can still be read.
		_ = c.Write(message(1, "AA=="))
		_, err = c.ReadAck()
		return err
	}
	plain := &tls.Config{Certificates: []tls.Certificate{server}}
	mutual := &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	expect := func(err error, want string) {
		t.Helper()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	expect(f(plain, &tls.Config{RootCAs: trusted}), "")
	expect(f(plain, &tls.Config{InsecureSkipVerify: true}), "")
	expect(f(plain, &tls.Config{RootCAs: other}), "unknown authority")
	expect(f(plain, &tls.Config{RootCAs: trusted, ServerName: "elsewhere"}), "not elsewhere")
	expect(f(mutual, &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{client}}), "")
	expect(f(mutual, &tls.Config{RootCAs: trusted}), "certificate required")
}

func TestErrorsOfDial(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	r.Stop()
	if _, err := Dial(t.Context(), &Options{Network: "tcp", Address: r.Address()}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("dialled a stopped server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, &Options{Network: "tcp", Address: r.Address()}); !errors.Is(err, context.Canceled) {
		t.Errorf("dialled with a context that had ended: %v", err)
	}
}

func TestCheckDetectsTheEnd(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, end := range []func(*forwardtest.Receiver){(*forwardtest.Receiver).CloseConns, (*forwardtest.Receiver).ResetConns} {
			r := forwardtest.New(t, forwardtest.Options{Network: network})
			c := dial(t, Options{Network: network, Address: r.Address()})
			read := make(chan error)
			if err := c.Check(); err != nil {
				t.Fatalf("%s: a good connection: %v", network, err)
			}
			r.WaitOpen(t, 1)
			end(r)
			r.WaitOpen(t, 0)
			for c.Check() == nil { // the kernel takes a moment
				runtime.Gosched()
			}
			go func() { _, err := c.ReadAck(); read <- err }()
			if err := <-read; err == nil {
				t.Errorf("%s: read after the end", network)
			}
		}
	}
}

// Check must not wait for the goroutine that reads.
func TestCheckWhileReading(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	r.HoldAcks()
	c := dial(t, Options{Network: "tcp", Address: r.Address()})
	acks := make(chan string)
	go func() {
		for {
			id, err := c.ReadAck()
			if err != nil {
				close(acks)
				return
			}
			acks <- id
		}
	}()
	for range 3 {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		if err := c.Write(message(1, "AA==")); err != nil {
			t.Fatal(err)
		}
	}
	r.Wait(t, 3)
	r.ReleaseAcks()
	for range 3 {
		<-acks
	}
	r.ResetConns()
	<-acks
}
