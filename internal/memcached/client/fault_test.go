package client

import (
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestOneGet gets the key a on a connection that then follows the script, and checks the
// result, its time and the number of connections. A silent server gets a second connection.
func TestOneGet(t *testing.T) {
	f := func(name, then string, want Result, value string, after time.Duration, dials int) {
		t.Helper()
		play(t, name, Config{Protocol: Text}, []string{hello + then}, func(t *testing.T, c *Client, s *scripted) {
			start := time.Now()
			r, got := get(c, "a")
			synctest.Wait()
			if r != want || got != value || time.Since(start) != after || int(s.dials.Load()) != dials {
				t.Errorf("got %s %q after %s, %d connections; want %s %q after %s, %d", r, got, time.Since(start), int(s.dials.Load()), want, value, after, dials)
			}
		})
	}
	ms := time.Millisecond
	const asked = "> get a\\r\\n\n"
	f("hit", asked+`< VALUE a 7 3\r\none\r\nEND\r\n`, Hit, "one", 0, 1)
	f("hit with CAS", asked+`< VALUE a 7 3 99\r\none\r\nEND\r\n`, Hit, "one", 0, 1)
	f("hit with a value that looks like a reply", asked+`< VALUE a 7 5\r\nEND\r\n\r\nEND\r\n`, Hit, "END\r\n", 0, 1)
	f("hit in pieces", asked+"< VALUE a 7 3\\r\n< \\no\n< ne\\r\n< \\nEN\n< D\\r\\n\n", Hit, "one", 0, 1)
	f("miss", asked+`< END\r\n`, Miss, "", 0, 1)
	f("another key", asked+`< VALUE b 0 3\r\ntwo\r\nEND\r\n`, Garbled, "", 0, 1)
	f("another key first", asked+`< VALUE b 0 3\r\ntwo\r\nVALUE a 0 3\r\none\r\nEND\r\n`, Garbled, "", 0, 1)
	f("no CRLF after the value", asked+`< VALUE a 0 3\r\none..END\r\n`, Garbled, "", 0, 1)
	f("half a CRLF after the value", asked+`< VALUE a 0 3\r\none\r\rEND\r\n`, Garbled, "", 0, 1)
	f("LF alone", asked+`< VALUE a 0 3\none\r\nEND\r\n`, Garbled, "", 0, 1)
	f("no number", asked+`< VALUE a 0 x\r\none\r\nEND\r\n`, Garbled, "", 0, 1)
	f("a negative number", asked+`< VALUE a 0 -1\r\none\r\nEND\r\n`, Garbled, "", 0, 1)
	f("a value too large", asked+`< VALUE a 0 8388609\r\n`, Garbled, "", 0, 1)
	f("a value beyond all bounds", asked+`< VALUE a 0 9223372036854775807\r\n`, Garbled, "", 0, 1)
	f("a reply of meta", asked+`< VA 3 ka f0 t-1 c1\r\none\r\n`, Garbled, "", 0, 1)
	f("a reply to a store", asked+`< STORED\r\n`, Garbled, "", 0, 1)
	f("no reply at all", asked+`< HTTP/1.1 400 Bad Request\r\n`, Garbled, "", 0, 1)
	f("a line without end", asked+`< `+strings.Repeat("x", 5000), Garbled, "", 0, 1)
	f("an error", asked+`< ERROR\r\n`, Refused, "", 0, 1)
	f("an error of the server", asked+`< SERVER_ERROR out of memory\r\n`, Refused, "", 0, 1)
	f("end without a reply", asked+`end`, Down, "", 0, 1)
	f("end within a reply", asked+"< VALUE a 0 3\\r\\no\nend", Down, "", 0, 1)
	f("end before END", asked+"< VALUE a 0 3\\r\\none\\r\\n\nend", Down, "", 0, 1)
	f("silence", asked, Timeout, "", 250*ms, 2)
	f("silence within a reply", asked+"after 100ms\n< VALUE a 0 3\\r\\n\n", Timeout, "", 350*ms, 2)
	f("a slow reply", asked+"after 200ms\n< VALUE a 0 3\\r\\n\nafter 200ms\n< one\\r\\nEND\\r\\n", Hit, "one", 400*ms, 1)
	f("a reply in slow pieces", asked+"after 200ms\n< VALUE a 0 3\\r\\n\nafter 200ms\n< o\nafter 200ms\n< ne\\r\\nEND\\r\\n", Timeout, "", 500*ms, 2)
}

// TestConnect checks connections that can't be made, and handshakes.
func TestConnect(t *testing.T) {
	f := func(name string, cfg Config, want Result, after time.Duration, dials int, scripts ...string) {
		t.Helper()
		play(t, name, cfg, scripts, func(t *testing.T, c *Client, s *scripted) {
			start := time.Now()
			r, _ := get(c, "a")
			synctest.Wait()
			if r != want || time.Since(start) != after || int(s.dials.Load()) != dials {
				t.Errorf("got %s after %s, %d connections; want %s after %s, %d", r, time.Since(start), int(s.dials.Load()), want, after, dials)
			}
		})
	}
	ms := time.Millisecond
	const reply = "\n> get a\\r\\n\n< VALUE a 0 3\\r\\none\\r\\nEND\\r\\n"
	const metaReply = "\n> mg a k f v t c\\r\\n\n< VA 3 ka f0 t-1 c1\\r\\none\\r\\n"
	const settings = `> mn\r\n
		< MN\r\n
		> stats settings\r\n
		< STAT item_size_max 1048576\r\nEND\r\n`
	f("refused", Config{Protocol: Text}, Down, 0, 1, "refuse")
	f("no answer to dialling", Config{Protocol: Text}, Down, 100*ms, 2, "hang")
	f("no answer to the first command", Config{Protocol: Text}, Down, 250*ms, 2, "")
	f("garbage", Config{Protocol: Text}, Down, 0, 1, "> version\\r\\n\n< 220 smtp\\r\\n")
	f("no version", Config{Protocol: Text}, Hit, 0, 1, "> version\\r\\n\n< ERROR\\r\\n"+reply)
	f("more than was requested", Config{Protocol: Text}, Down, 0, 1, "> version\\r\\n\n< VERSION 1\\r\\nEND\\r\\n")
	f("auto, meta", Config{}, Hit, 0, 1, settings+metaReply)
	f("auto, meta without statistics", Config{}, Hit, 0, 1, "> mn\\r\\n\n< MN\\r\\n\n> stats settings\\r\\n\n< ERROR\\r\\n"+metaReply)
	f("auto, text", Config{}, Hit, 0, 1, "> mn\\r\\n\n< ERROR\\r\\n\n"+hello+reply)
	f("auto, hung up", Config{}, Hit, 0, 2, "> mn\\r\\n\nend", hello+reply)
	f("auto, hung up twice", Config{}, Down, 0, 2, "> mn\\r\\n\nend", "end")
	f("meta, text only", Config{Protocol: Meta}, Down, 0, 1, "> mn\\r\\n\n< ERROR\\r\\n")
	const metaGet = settings + "\n> mg a k f v t c\\r\\n\n"
	f("miss", Config{}, Miss, 0, 1, metaGet+"< EN\\r\\n")
	f("miss that repeats the key", Config{}, Miss, 0, 1, metaGet+"< EN ka\\r\\n")
	f("miss of another key", Config{}, Garbled, 0, 1, metaGet+"< EN kb\\r\\n")
	f("no login", Config{}, Down, 0, 1, "> mn\\r\\n\n< CLIENT_ERROR unauthenticated\\r\\n\n> version\\r\\n\n< CLIENT_ERROR unauthenticated\\r\\n")
	login := Config{Auth: &Auth{"ann", "secret"}}
	f("login", login, Hit, 0, 1, "> set auth 0 0 10\\r\\nann secret\\r\\n\n< STORED\\r\\n\n"+settings+metaReply)
	f("login refused", login, Down, 0, 1, "> set auth 0 0 10\\r\\nann secret\\r\\n\n< CLIENT_ERROR authentication failure\\r\\n")
}

// TestRetryOnNewConnection checks connections that end after they have been used.
func TestRetryOnNewConnection(t *testing.T) {
	const a = "> get a\\r\\n\n< VALUE a 0 3\\r\\none\\r\\nEND\\r\\n\n"
	const b = "> get b\\r\\n\n< VALUE b 0 3\\r\\ntwo\\r\\nEND\\r\\n\n"
	f := func(name string, want Result, dials int, scripts ...string) {
		t.Helper()
		play(t, name, Config{Protocol: Text}, scripts, func(t *testing.T, c *Client, s *scripted) {
			if r, v := get(c, "a"); r != Hit || v != "one" {
				t.Errorf("the first get: got %s %q", r, v)
			}
			synctest.Wait()
			r, v := get(c, "b")
			synctest.Wait()
			if r != want || r == Hit && v != "two" || int(s.dials.Load()) != dials {
				t.Errorf("got %s %q, %d connections; want %s, %d", r, v, int(s.dials.Load()), want, dials)
			}
		})
	}
	f("ended before the command", Hit, 2, hello+a+"end", hello+b)
	f("ended after the command", Hit, 2, hello+a+"> get b\\r\\n\nend", hello+b)
	f("ended within the reply", Hit, 2, hello+a+"> get b\\r\\n\n< VALUE b 0 3\\r\\nxx\nend", hello+b)
	f("ended twice", Down, 2, hello+a+"> get b\\r\\n\nend", hello+"> get b\\r\\n\nend")
	f("ended, then refused", Down, 2, hello+a+"end")
	f("an unexpected reply", Hit, 2, hello+a+"< END\\r\\n\n", hello+b)
	f("silence", Timeout, 2, hello+a+"> get b\\r\\n\n")
}

// TestDeadlineMoves checks that each reply of a busy connection has a timeout of its own.
func TestDeadlineMoves(t *testing.T) {
	script := hello + strings.Repeat("> get a\\r\\n\nafter 60ms\n< VALUE a 0 3\\r\\none\\r\\nEND\\r\\n\n", 20) + "> get a\\r\\n\n"
	play(t, "busy", Config{Protocol: Text}, []string{script}, func(t *testing.T, c *Client, s *scripted) {
		for n := range 20 {
			if r, _ := get(c, "a"); r != Hit {
				t.Errorf("get %d: %s", n, r)
			}
		}
		start := time.Now()
		if r, _ := get(c, "a"); r != Timeout || time.Since(start) != 250*time.Millisecond {
			t.Errorf("got %s after %s, want a timeout after 250ms", r, time.Since(start))
		}
	})
}

// TestFrames checks calls that are answered together, or one after the other.
func TestFrames(t *testing.T) {
	f := func(name, then string, want ...string) {
		t.Helper()
		const again = "> delete d\\r\\n\n< DELETED\\r\\n"
		// The calls wait for the connection, and are written together.
		scripts := []string{"> version\\r\\n\nafter 10ms\n< VERSION 1\\r\\n\n" + then, hello + again}
		play(t, name, Config{Protocol: Text}, scripts, func(t *testing.T, c *Client, _ *scripted) {
			var wg sync.WaitGroup
			got := make([]string, len(want))
			for n, key := range []string{"a", "a", "b", "D", "c"}[:len(want)] {
				wg.Go(func() {
					if key == "D" {
						x := NewCall()
						defer x.Release()
						got[n] = c.Delete(x, 0, []byte("d")).String()
						return
					}
					r, v := get(c, key)
					got[n] = strings.TrimSpace(r.String() + " " + v)
				})
				synctest.Wait()
			}
			wg.Wait()
			for n := range want {
				if got[n] != want[n] {
					t.Errorf("call %d: got %s, want %s", n, got[n], want[n])
				}
			}
		})
	}
	const all = "> get a a b\\r\\ndelete d\\r\\nget c\\r\\n\n"
	const abc = "< VALUE a 0 3\\r\\none\\r\\nVALUE a 0 3\\r\\none\\r\\nVALUE b 0 3\\r\\ntwo\\r\\nEND\\r\\n"
	f("in order", all+abc+"DELETED\\r\\nVALUE c 0 5\\r\\nthree\\r\\nEND\\r\\n", "hit one", "hit one", "hit two", "stored", "hit three")
	f("in another order", "> get a a b\\r\\n\n< VALUE b 0 3\\r\\ntwo\\r\\nVALUE a 0 3\\r\\none\\r\\nVALUE a 0 3\\r\\none\\r\\nEND\\r\\n", "hit one", "hit one", "hit two")
	f("one value for a key that was requested twice", "> get a a b\\r\\n\n< VALUE b 0 3\\r\\ntwo\\r\\nVALUE a 0 3\\r\\none\\r\\nEND\\r\\n", "hit one", "hit one", "hit two")
	f("two values for a key that was requested once", "> get a a b\\r\\n\n< VALUE b 0 3\\r\\ntwo\\r\\nVALUE b 0 3\\r\\nxxx\\r\\nEND\\r\\n", "miss", "miss", "hit two")
	f("nothing", "> get a a b\\r\\n\n< END\\r\\n", "miss", "miss", "miss")
	const two = "> get a a b\\r\\ndelete d\\r\\n\n"
	f("a key of another frame", two+"< VALUE c 0 5\\r\\nthree\\r\\nEND\\r\\n", "garbled", "garbled", "garbled", "stored")
	f("garbled within a frame", two+"< VALUE a 0 3\\r\\none\\r\\nVALUE b 0 3\\r\\ntwo\\r\\nEND of it\\r\\n", "garbled", "garbled", "garbled", "stored")
	f("refused", two+"< SERVER_ERROR out of memory\\r\\n", "refused", "refused", "refused", "stored")
	f("refused delete", two+abc+"ERROR\\r\\n", "hit one", "hit one", "hit two", "refused")
	f("garbled delete", two+abc+"STORED\\r\\n", "hit one", "hit one", "hit two", "garbled")
	f("a delete's reply too early", two+"< DELETED\\r\\n", "garbled", "garbled", "garbled", "stored")
	f("ended between frames", two+abc+"\nend", "hit one", "hit one", "hit two", "stored")
}

// TestClose checks that Close ends calls that wait for a connection or a reply, and later ones.
func TestClose(t *testing.T) {
	f := func(name string, scripts ...string) {
		play(t, name, Config{Protocol: Text}, scripts, func(t *testing.T, c *Client, s *scripted) {
			var wg sync.WaitGroup
			start := time.Now()
			wg.Go(func() {
				if r, _ := get(c, "a"); r != Down {
					t.Errorf("a running call: got %s, want %s", r, Down)
				}
			})
			synctest.Wait()
			c.Close()
			wg.Wait()
			if r, _ := get(c, "a"); r != Down || time.Since(start) != 0 {
				t.Errorf("a later call: got %s after %s, want %s at once", r, time.Since(start), Down)
			}
			if open := c.State()[0].Connections; open != 0 {
				t.Errorf("%d connections are open", open)
			}
		})
	}
	f("while dialling", "hang")
	f("in the handshake", "")
	f("waiting for a reply", hello+"> get a\\r\\n")
}

// TestLate checks late after the deadline of a call. If it is called long after that, for
// example on a loaded machine, the deadline is extended once.
func TestLate(t *testing.T) {
	f := func(after time.Duration, want ...bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			defer far.Close()
			client := &Client{began: time.Now(), cfg: Config{FirstByteTimeout: 250 * time.Millisecond, Timeout: 500 * time.Millisecond}}
			c := &conn{server: &server{client: client}, sock: near, mu: new(sync.Mutex), sent: []*Call{{}}}
			time.Sleep(after)
			for i, late := range want {
				if got := c.late(); got != late {
					t.Fatalf("after %s call %d of late returned %t, want %t", time.Since(client.began), i+1, got, late)
				}
				if !late {
					_, _ = near.Read(make([]byte, 1)) // until the deadline that was set
				}
			}
		})
	}
	f(240*time.Millisecond, false, true)
	f(260*time.Millisecond, true)
	f(261*time.Millisecond, false, true)
	f(400*time.Millisecond, false, true)
}

// TestOneMetaGet is TestOneGet for the meta protocol.
func TestOneMetaGet(t *testing.T) {
	f := func(name, then string, want Result, value string) {
		t.Helper()
		const hello = "> mn\\r\\n\n< MN\\r\\n\n> stats settings\\r\\n\n< END\\r\\n\n> mg a k f v t c\\r\\n\n"
		play(t, name, Config{Protocol: Meta}, []string{hello + then}, func(t *testing.T, c *Client, s *scripted) {
			if r, got := get(c, "a"); r != want || got != value {
				t.Errorf("got %s %q, want %s %q", r, got, want, value)
			}
		})
	}
	f("hit", `< VA 3 ka f7 t-1 c1\r\none\r\n`, Hit, "one")
	f("empty hit", `< VA 0 ka f7 t-1 c1\r\n\r\n`, Hit, "")
	f("stub that was won", `< VA 0 ka f7 t30 c1 W\r\n\r\n`, Miss, "")
	f("stub that another client fills", `< VA 0 ka f7 t30 c1 Z\r\n\r\n`, Miss, "")
	f("miss", `< EN\r\n`, Miss, "")
	f("miss with its key", `< EN ka\r\n`, Miss, "")
	f("miss with another key", `< EN kb\r\n`, Garbled, "")
	f("another key", `< VA 3 kb f7 t-1 c1\r\none\r\n`, Garbled, "")
	f("no key", `< VA 3 f7 t-1 c1\r\none\r\n`, Garbled, "")
	f("hit without a value", `< HD ka f7\r\n`, Garbled, "")
	f("no CRLF after the value", `< VA 3 ka f0 t-1 c1\r\none--EN\r\n`, Garbled, "")
	f("a reply of text", `< VALUE a 0 3\r\none\r\nEND\r\n`, Garbled, "")
	f("the end of a reply of text", `< END\r\n`, Garbled, "")
	f("not found, as a reply to md", `< NF\r\n`, Garbled, "")
	f("an error", `< CLIENT_ERROR bad command line format\r\n`, Refused, "")
}
