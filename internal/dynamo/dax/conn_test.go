package dax

import (
	"encoding/hex"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// loopback runs a test over real sockets, and over pipes in a synctest bubble.
func loopback(t *testing.T, change func(*Config), f func(t *testing.T, r *rig)) {
	if change == nil {
		change = func(*Config) {}
	}
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, newRig(t, change)) })
	})
	t.Run("tcp", func(t *testing.T) {
		f(t, newRig(t, change, func(c *Config) { c.Listen = "127.0.0.1:0" }))
	})
}

func TestPreambles(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		for name := range preambles {
			c := r.hello(name)
			c.expect(askEcho+"43010203", "80 43010203")
			c.expect(askEcho+"40", "80 40")
		}
		for _, preamble := range []string{
			"674a37796e653547 00 f6 a0 00",
			"674a37796e653547 00 41ff a2 6161 820102 69557365724167656e74 6178 00",
			"674a37796e653547 00 41ff bf ff 00",
		} {
			c := r.dial()
			c.send(preamble + askEcho + "4101")
			if got := c.reply(2); got != "804101" {
				t.Errorf("reply after the preamble %s: %s", preamble, got)
			}
		}
	})
}

// TestInvalidPreambles sends an invalid preamble: the connection is closed at the first invalid
// byte.
func TestInvalidPreambles(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		for _, b := range []string{
			"47", // GET /
			"16", // TLS
			"674a37796e653548",
			"674a37796e653547 6130 00 00 00",
			"674a37796e653547 00 6130 01 00",
			"674a37796e653547 00 6130 a1 69557365724167656e74 01 00",
			"674a37796e653547 00 6130 a1 69557365724167656e74 61ff 00",
			"674a37796e653547 00 5a00ffffff",
			"674a37796e653547 00 6130 a1 69557365724167656e74 790401 " + strings.Repeat("61", 1025) + "00",
			"674a37796e653547 00 6130 1c",
		} {
			c := r.dial()
			c.send(b)
			c.expectEnd()
		}
	})
	if r := newRig(t); r.log.take() != nil {
		t.Error("a server without requests has an access log")
	}
}

// TestSplitRequests sends a conversation in two pieces, split at every byte, and in pieces of one
// byte: the replies are the same, and none is sent before its request is complete.
func TestSplitRequests(t *testing.T) {
	text := preambles["Go v1"] + authorization1 + askEcho + "43010203" + authorization1 + askEndpoints + askEcho + "4104"
	whole := unhex(t, text)
	first := len(unhex(t, preambles["Go v1"]+authorization1+askEcho+"43010203"))
	const want = "8043010203"
	for name, listen := range map[string]string{"pipe": "", "tcp": "127.0.0.1:0"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Listen = listen })
			for at := range whole {
				c := r.dial()
				go func() {
					_, _ = c.nc.Write(whole[:at])
					_, _ = c.nc.Write(whole[at:])
				}()
				if got := c.reply(2); got != want {
					t.Fatalf("split at byte %d: got the reply %s", at, got)
				}
				c.reply(2)
				if got := c.reply(2); got != "804104" {
					t.Fatalf("split at byte %d: got the second reply %s", at, got)
				}
				_ = c.nc.Close()
			}
			c := r.dial()
			for i := range first {
				_, _ = c.nc.Write(whole[i : i+1])
				if i%16 == 0 {
					c.expectSilence()
				}
			}
			if got := c.reply(2); got != want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// authorization1 is a recorded authorizeConnection.
const authorization1 = "011a58c2336b6b414b49444558414d504c457840356435623363363166643834316336343534303838393438393934643831643032393436306232376665373139323036616562393735643236656432613333635886415753342d484d41432d5348413235360a3230323631313230543139333935355a0a32303236313132302f75732d776573742d322f6461782f617773345f726571756573740a32376339626439323531343163363065313931386535323932366231363137343864343465386665396332393331313931386533613966353933386461386163f675446178507974686f6e436c69656e742d322e312e30"

// TestIncompleteRequests sends incomplete requests: they are not executed, however the client
// disconnects.
func TestIncompleteRequests(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		whole := unhex(t, askEcho+"58080102030405060708")
		for at := 1; at < len(whole); at++ {
			c := r.hello("Go v2")
			c.send(hex.EncodeToString(whole[:at]))
			_ = c.nc.Close()
		}
		c := r.hello("Go v2")
		c.expect(askEcho+"4107", "80 4107")
		r.log.wait(1)
	})
}

func TestMalformed(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		for _, b := range []string{
			"0200", // another service
			"011bffffffffffffffff",
			"021903e9",
			"0141ff",
			"01ff",
			"201903e9",
			askEcho + "1c",
			askEcho + "ff",
			askEcho + "7f",
			askEcho + strings.Repeat("81", 65),
		} {
			c := r.hello("Python")
			c.send(b)
			c.expectEnd()
		}
	})
}

func TestUnknownMethod(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		for _, id := range []string{"1a2ecb30e7", "3a3c9b09af", "1a00000007", "1b0000000100000000"} {
			c := r.hello("JavaScript v3")
			c.send("01" + id)
			if codes, text := c.failure(); !equal(codes, []int64{4, 37, 38, 44}) || !strings.Contains(text, "does not implement") {
				t.Errorf("method %s: got the error %v %q", id, codes, text)
			}
			_ = c.nc.SetReadDeadline(time.Now().Add(time.Minute))
			c.expectEnd()
		}
	})
}

// TestMisbehavingMethods checks that a method that panics or replies nothing gets an error.
func TestMisbehavingMethods(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		c := r.hello("Go v1")
		c.expectError(askPanic, "Internal server error", 1, 37, 38, 39, 47)
		c.expectError(askNothing, "Internal server error", 1, 37, 38, 39, 47)
		c.expect(askFail+"43616263", "80f6")
		log := r.log.wait(3)
		last := log[2]
		if last.Operation != "GetItem" || string(last.Table) != "abc" || last.Status != 200 || last.BytesIn != 8 || last.BytesOut != 2 ||
			string(last.UserAgent) != "DaxGoClient-1.2.14" || last.Service != "orders" || len(last.RequestID) == 0 {
			t.Errorf("got the record %+v", last)
		}
		if log[0].Status != 500 || log[0].Operation != "Panic" {
			t.Errorf("got the record %+v", log[0])
		}
	})
}

// TestLargeRequests sends requests larger than the first buffer, in pieces and several at
// once.
func TestLargeRequests(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		c := r.hello("Go v1")
		for _, size := range []int{smallBuffer - 7, smallBuffer, 3*smallBuffer + 1, 1 << 20} {
			b := cbor.AppendBytes(unhex(t, askEcho), make([]byte, size))
			go func() {
				for range 3 {
					_, _ = c.nc.Write(b)
				}
			}()
			for range 3 {
				if got := c.largeReply(size); got != size {
					t.Fatalf("%d bytes, want %d", got, size)
				}
			}
		}
		until(func() bool { return r.srv.room.used.Load() == 0 })
	})
}

// largeReply reads a reply of Echo and returns the length of its string, -1 if it is wrong.
func (c *client) largeReply(size int) int {
	c.t.Helper()
	want := cbor.AppendBytes([]byte{success}, make([]byte, size))
	got := make([]byte, len(want))
	for n := 0; n < len(got); {
		m, err := c.nc.Read(got[n:])
		if err != nil {
			c.t.Fatal(err)
		}
		n += m
	}
	if string(got) != string(want) {
		return -1
	}
	return size
}

func TestTooLarge(t *testing.T) {
	loopback(t, func(c *Config) { c.Limits.RequestBytes = 100_000 }, func(t *testing.T, r *rig) {
		c := r.hello("Go v1")
		c.expectError(askEcho+"5a00019000", "larger than 100000 bytes", 4, 37, 38, 39, 46)
		c.expectEnd()
		c = r.hello("Go v1")
		go func() { _, _ = c.nc.Write(append(unhex(t, askEcho+"9f"), make([]byte, 100_001)...)) }()
		if codes, _ := c.failure(); codes[4] != 46 {
			t.Errorf("got the error %v", codes)
		}
	})
}

// TestBufferedBytes sends large requests without completing them: those over the budget are
// rejected, small ones are served, and the budget is released.
func TestBufferedBytes(t *testing.T) {
	loopback(t, func(c *Config) { c.Limits.BufferedBytes = 64 << 10 }, func(t *testing.T, r *rig) {
		half := append(unhex(t, askEcho+"5a00010000"), make([]byte, 20<<10)...)
		first := r.hello("Go v1") // uses 32 KiB, and 16 more for a moment
		first.send(hex.EncodeToString(half))
		until(func() bool { return r.srv.room.used.Load() == 32<<10 })
		second := r.hello("Go v1")
		go func() { _, _ = second.nc.Write(half) }()
		if codes, text := second.failure(); !equal(codes, []int64{4, 37, 38, 39, 50}) || !strings.Contains(text, "no room") {
			t.Errorf("got the error %v %v", codes, text)
		}
		r.hello("Go v1").expect(askEcho+"4101", "804101")
		_ = second.nc.Close()
		_ = first.nc.Close()
		until(func() bool { return r.srv.room.used.Load() == 0 })
	})
}

// TestTimeouts checks that preambles and requests must be completed in time, and that a
// connection may be idle for any time.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		begin := time.Now()
		c := r.dial()
		c.expectEnd()
		if d := time.Since(begin); d != 10*time.Second {
			t.Errorf("a connection without a preamble ended after %v, want 10s", d)
		}
		c = r.dial()
		c.send("674a")
		time.Sleep(9 * time.Second)
		c.send("37")
		c.expectEnd()
		c = r.hello("Go v1")
		c.expect(askEcho+"4101", "804101")
		time.Sleep(24 * time.Hour)
		c.expect(askEcho+"4101", "804101")
		time.Sleep(time.Hour)
		c.send(askEcho)
		time.Sleep(59 * time.Second)
		c.expect("4102", "804102")
		time.Sleep(30 * time.Second)
		begin = time.Now()
		c.send("01")
		if codes, text := c.failure(); len(codes) != 5 || !strings.Contains(text, "too long") {
			t.Errorf("got the error %v %v", codes, text)
		}
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("an incomplete request ended after %v, want 1m", d)
		}
		c.expectEnd()
	})
}

// TestWriteTimeout uses a client that reads nothing.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.hello("Go v1")
		c.send(askEcho + "4101")
		time.Sleep(31 * time.Second)
		c.expectEnd()
		if n := r.srv.metrics.unsent.Value(); n != 1 {
			t.Errorf("%d replies were counted as not sent", n)
		}
	})
}

func TestConnections(t *testing.T) {
	loopback(t, func(c *Config) { c.Limits.Connections = 2 }, func(t *testing.T, r *rig) {
		a, b := r.hello("Go v1"), r.hello("Go v1")
		a.expect(askEcho+"4101", "804101")
		b.expect(askEcho+"4101", "804101")
		r.dial().expectEnd()
		if n := r.srv.metrics.refused.Value(); n != 1 {
			t.Errorf("%d connections were counted as refused", n)
		}
	})
}

// TestClientGone closes a connection while its request is being served.
func TestClientGone(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Listen = "127.0.0.1:0" })
	c := r.hello("Go v1")
	c.send(askWait)
	<-r.slow.begun
	_ = c.nc.Close()
	if err := <-r.slow.ended; err != errClientGone {
		t.Error(err)
	}
}

func TestAnswerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.hello("Go v1")
		begin := time.Now()
		c.expect(askWait, "80f6")
		if err := <-r.slow.ended; err != errTooLate || time.Since(begin) != 30*time.Second {
			t.Errorf("the request ended with %v after %v", err, time.Since(begin))
		}
	})
}

// TestEndOfStream sends a request and closes the sending side: the request is answered before
// the connection ends.
func TestEndOfStream(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Listen = "127.0.0.1:0" })
	c := r.hello("Go v1")
	c.send(askEcho + "4101")
	_ = c.nc.(*net.TCPConn).CloseWrite()
	if got := c.reply(2); got != "804101" {
		t.Errorf("got %v", got)
	}
	c.expectEnd()
}

func TestRateLimit(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Listen = "127.0.0.1:0"; c.Limits.RequestsPerSecond = 2 })
	c := r.hello("Go v1")
	for range 2 {
		c.expect(askEcho+"4101", "804101")
	}
	c.expectError(askEcho+"4101", "Rate of requests", 4, 37, 38, 39, 50)
	for range 3 {
		c.send(askEndpoints)
		c.reply(2)
	}
	r.cfg.Limits.RequestsPerSecond = 0
	r.srv.Configure(r.cfg)
	c.expect(askEcho+"4101", "804101")
	if n := r.srv.metrics.limited.Value(); n != 1 {
		t.Errorf("%d requests were counted as refused", n)
	}
	r.log.wait(7)
	w := httptest.NewRecorder()
	r.reg.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body
	for _, line := range []string{
		`kasoku_dax_requests_total{operation="Echo",service="orders"} 4`,
		`kasoku_dax_errors_total{kind="throttled",operation="Echo",service="orders"} 1`,
		`kasoku_dax_connections_open{service="orders"} 1`,
	} {
		if !strings.Contains(text.String(), line+"\n") {
			t.Errorf("%q is missing in the metrics", line)
		}
	}
}

// TestFrames uses a client that requests replies in frames, as the one for Java does.
func TestFrames(t *testing.T) {
	noNodes := func(c *Config) { c.Members = func() []Member { return nil } }
	loopback(t, noNodes, func(t *testing.T, r *rig) {
		c := r.dial()
		c.send("674a37796e653547 01 f6 a1 69557365724167656e74 75" + hex.EncodeToString([]byte("DaxJavaV2Client-2.0.5")) + "00" + authorization1 + askEcho + "43010203")
		for _, want := range []string{"0000000d 01000000 80 43010203", "0000000b 01000000 80 4101", "0000000a 01000000 8080"} {
			got := make([]byte, len(unhex(t, want)))
			if _, err := io.ReadFull(c.nc, got); err != nil || string(got) != string(unhex(t, want)) {
				t.Errorf("got %x, %v, want %s", got, err, want)
			}
			if want[7] == 'd' {
				c.send(askEcho + "4101")
			} else if want[7] == 'b' {
				c.send(askEndpoints)
			}
		}
		c = r.dial()
		c.send("674a37796e653547 02 f6 a0 00")
		c.expectEnd()
	})
}
