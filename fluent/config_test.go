package fluent

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

func TestConfigOptions(t *testing.T) {
	f := func(c Config, want func(*options), network, address string) {
		t.Helper()
		l, err := NewLogger(c)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		o := defaultOptions()
		o.ack, o.dialTimeout, o.retryMax = false, 0, 5*time.Second
		want(&o)
		if err := o.resolve(); err != nil {
			t.Fatal(err)
		}
		got := l.options
		expect(t, "ack", got.ack, o.ack)
		expect(t, "dialTimeout", got.dialTimeout, o.dialTimeout)
		expect(t, "breakerThreshold", got.breakerThreshold, o.breakerThreshold)
		expect(t, "flushInterval", got.flushInterval, o.flushInterval)
		expect(t, "retryBase", got.retryBase, o.retryBase)
		expect(t, "retryMax", got.retryMax, o.retryMax)
		expect(t, "pendingLimit", got.pendingLimit, o.pendingLimit)
		s := l.delivery.(*delivery).senders[0].server
		expect(t, "server", s.network+" "+s.address, network+" "+address)
	}
	f(Config{}, func(*options) {}, "tcp", "127.0.0.1:24224")
	f(Config{
		Address: "unix:/run/fluent.sock", ConnectionTimeout: time.Second, FailureThreshold: 3,
		FlushInterval: time.Minute, PendingLimit: 10, Ack: true,
	}, func(o *options) {
		o.dialTimeout, o.breakerThreshold, o.retryMax, o.pendingLimit, o.ack = time.Second, 3, time.Minute, 10, true
	}, "unix", "/run/fluent.sock")
	f(Config{FlushInterval: 10 * time.Millisecond}, func(o *options) {
		o.flushInterval, o.retryBase, o.retryMax = 10*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond
	}, "tcp", "127.0.0.1:24224")
}

func TestConfigRefused(t *testing.T) {
	f := func(c Config) {
		t.Helper()
		if l, err := NewLogger(c); err == nil {
			l.Close()
			t.Fatalf("%+v is accepted", c)
		}
	}
	f(Config{Address: "a b"})
	f(Config{FailureThreshold: -1})
	f(Config{FlushInterval: -1})
	f(Config{PendingLimit: -1})
	f(Config{ConnectionTimeout: -1})
}

// TestNewLoggerWithoutServer: records are written as JSON while the server is down, and sent when
// it is up.
func TestNewLoggerWithoutServer(t *testing.T) {
	server := forwardtest.New(t, forwardtest.Options{})
	server.Stop()
	l, err := NewLogger(Config{Address: server.Address(), FlushInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var lines bytes.Buffer
	l.ErrorHandler = NewFallbackJSONHandler(&lines)
	at := time.Unix(1700000000, 0)
	if err := l.PostWithTime("a.b", at, count(1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, "line", lines.String(), "[\"a.b\",1700000000,{\"count\":1}]\n")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for n := 2; l.Stats().Delivered == 0; n++ {
		if err := l.Post("a.b", count(n)); err != nil {
			t.Fatal(err)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	server.Wait(t, 1)
}

func TestOptionsRefused(t *testing.T) {
	f := func(want string, opts ...Option) {
		t.Helper()
		l, err := New(nil, opts...)
		if err == nil {
			l.Close()
			t.Fatalf("accepted, where %q is wanted", want)
		}
		expect(t, "error", err.Error(), want)
	}
	f("fluent: MaxRecord must be above 0, is 0", WithMaxRecord(0))
	f("fluent: FlushInterval must not be negative, is -1", WithFlushInterval(-1))
	f("fluent: BatchBytes must be above 0, is -1", WithBatchBytes(-1))
	f("fluent: Memory must be above 0, is 0", WithMemory(0))
	f("fluent: Records must not be negative, is -1\nWindow must be above 0, is 0", WithWindow(0), WithRecords(-1))
	f("fluent: Overflow has no value 9", WithOverflow(9))
	f("fluent: overflow policy Spill needs WithSpill and its directory", WithOverflow(Spill))
	f("fluent: WithSpill has its own policy, WithOverflow(Spill)", WithSpill("x", SpillOptions{}), WithOverflow(Block))
	f("fluent: SpillOptions.MaxBytes must not be negative, is -1", WithSpill("x", SpillOptions{MaxBytes: -1}))
	f("fluent: SpillOptions.Sync has no value -3", WithSpill("x", SpillOptions{Sync: -3}))
	f("fluent: messages of single events can't be compressed: use PackedForward", WithMode(Message), WithCompression(Zstd))
	f("fluent: heartbeats need an interval above 0, not 0s", WithHeartbeat(ConnectHeartbeat, 0))
	f("fluent: base 2s of Retry is above its max 1s", WithRetry(2*time.Second, time.Second))
	f("fluent: host and user name have 701 bytes, and the handshake has room for 700",
		WithSharedKey("k"), WithHostname(strings.Repeat("h", 700)), WithUser("u", ""))
	f("fluent: a user needs a shared key as well: WithSharedKey", WithUser("a", "b"))
}
