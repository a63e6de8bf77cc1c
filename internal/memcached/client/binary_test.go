package client

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// expectBinary returns the step of a script that receives a binary command without extras.
func expectBinary(opcode byte, opaque uint32, key, value string) string {
	b := binary.BigEndian.AppendUint16([]byte{0x80, opcode}, uint16(len(key)))
	b = binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(len(key)+len(value)))
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, opaque), 0)
	return fmt.Sprintf(">q %q\n", string(b)+key+value)
}

// sendBinary returns the step of a script that sends bytes.
func sendBinary(pieces ...[]byte) string {
	var all []byte
	for _, p := range pieces {
		all = append(all, p...)
	}
	return fmt.Sprintf("<q %q\n", all)
}

var seven = []byte{0, 0, 0, 7}

// binaryHello is the handshake with a server that does not send its settings.
var binaryHello = expectBinary(opNoop, 1, "", "") + sendBinary(reply(opNoop, 0, 1, 0, nil, "", "")) +
	expectBinary(opStat, 2, "settings", "") + sendBinary(reply(opStat, unknown, 2, 0, nil, "", "Unknown command"))

// TestOneBinaryGet is TestOneGet for the binary protocol.
func TestOneBinaryGet(t *testing.T) {
	f := func(name string, want Result, value string, then ...[]byte) {
		t.Helper()
		script := binaryHello + expectBinary(opGetK, 3, "a", "")
		for _, piece := range then {
			script += sendBinary(piece)
		}
		play(t, name, Config{Protocol: Binary}, []string{script}, func(t *testing.T, c *Client, s *scripted) {
			dials := map[Result]int32{Timeout: 2}[want] // a silent server gets a second connection
			r, got := get(c, "a")
			synctest.Wait()
			if r != want || got != value || s.dials.Load() != max(1, dials) {
				t.Errorf("got %s %q, %d connections: %s; want %s %q", r, got, s.dials.Load(), c.State()[0].Trouble, want, value)
			}
		})
	}
	hit := reply(opGetK, 0, 3, 9, seven, "a", "one")
	f("hit", Hit, "one", hit)
	f("hit in pieces", Hit, "one", hit[:1], hit[1:24], hit[24:28], hit[28:30], hit[30:])
	f("empty hit", Hit, "", reply(opGetK, 0, 3, 9, seven, "a", ""))
	f("hit with a value that looks like a reply", Hit, string(hit), reply(opGetK, 0, 3, 9, seven, "a", string(hit)))
	f("miss", Miss, "", reply(opGetK, notFound, 3, 0, nil, "a", ""))
	f("miss without its key", Miss, "", reply(opGetK, notFound, 3, 0, nil, "", "Not found"))
	f("miss of another key", Garbled, "", reply(opGetK, notFound, 3, 0, nil, "b", ""))
	f("another key", Garbled, "", reply(opGetK, 0, 3, 9, seven, "b", "two"))
	f("no key", Garbled, "", reply(opGetK, 0, 3, 9, seven, "", "two"))
	f("no flags", Garbled, "", reply(opGetK, 0, 3, 9, nil, "a", "one"))
	f("another opaque", Garbled, "", reply(opGetK, 0, 2, 9, seven, "a", "one"))
	f("a later opaque", Garbled, "", reply(opGetK, 0, 4, 9, seven, "a", "one"))
	f("another opcode", Garbled, "", reply(opSet, 0, 3, 9, nil, "", ""))
	f("GET, which has no key", Garbled, "", reply(0, 0, 3, 9, seven, "", "one"))
	f("not stored", Garbled, "", reply(opGetK, 5, 3, 0, nil, "", ""))
	f("an error", Refused, "", reply(opGetK, noMemory, 3, 0, nil, "", "Out of memory"))
	f("an error text that is too long", Garbled, "", reply(opGetK, noMemory, 3, 0, nil, "", strings.Repeat("x", maxText+1)))
	f("text", Garbled, "", []byte("ERROR\r\n"))
	f("a command", Garbled, "", []byte("\x80"))
	large := reply(opGetK, 0, 3, 9, seven, "a", "")
	binary.BigEndian.PutUint32(large[8:], 8<<20+6)
	f("a value too large", Garbled, "", large)
	binary.BigEndian.PutUint32(large[8:], 1<<32-1)
	f("a value beyond all bounds", Garbled, "", large)
	binary.BigEndian.PutUint32(large[8:], 4)
	f("a body shorter than its extras and key", Garbled, "", large)
	f("a value that is not sent", Timeout, "", hit[:len(hit)-1])
	f("half a head", Timeout, "", hit[:20])
}

// TestBinaryConnect checks handshakes in the binary protocol.
func TestBinaryConnect(t *testing.T) {
	f := func(name string, auth *Auth, want Result, trouble string, script ...string) {
		t.Helper()
		cfg := Config{Protocol: Binary, Auth: auth}
		play(t, name, cfg, []string{strings.Join(script, "")}, func(t *testing.T, c *Client, s *scripted) {
			r, _ := get(c, "a")
			if got := c.State()[0].Trouble; r != want || !strings.Contains(got, trouble) || s.dials.Load() != 1 {
				t.Errorf("got %s, %d connections: %s; want %s, %s", r, s.dials.Load(), got, want, trouble)
			}
		})
	}
	noop := expectBinary(opNoop, 1, "", "")
	f("text", nil, Down, "the first question in the binary protocol: memcached: garbled", noop, "< ERROR\\r\\n")
	f("hung up", nil, Down, "EOF", noop, "end")
	f("another opaque", nil, Down, "garbled", noop, sendBinary(reply(opNoop, 0, 9, 0, nil, "", "")))
	f("another opcode", nil, Down, "garbled", noop, sendBinary(reply(opVersion, 0, 1, 0, nil, "", "1.6.18")))
	f("a text that is too long", nil, Down, "garbled", noop, sendBinary(reply(opNoop, 0, 1, 0, nil, "", strings.Repeat("x", maxText+1))))
	f("more than was requested", nil, Down, "more than", noop, sendBinary(reply(opNoop, 0, 1, 0, nil, "", "")),
		expectBinary(opStat, 2, "settings", ""), sendBinary(reply(opStat, 0, 2, 0, nil, "", ""), []byte{0x81}))
	f("not logged in", nil, Down, `refuses: status 0x20 "Auth failure."`, noop, sendBinary(reply(opNoop, denied, 1, 0, nil, "", "Auth failure.")))
	ann := &Auth{"ann", "secret"}
	login := expectBinary(opSASLAuth, 1, "PLAIN", "\x00ann\x00secret")
	f("refused", ann, Down, `the login in the binary protocol: memcached: the server refuses: status 0x20 "Auth failure."`,
		login, sendBinary(reply(opSASLAuth, denied, 1, 0, nil, "", "Auth failure.")))
	f("more steps than PLAIN has", ann, Down, "refuses: status 0x21", login, sendBinary(reply(opSASLAuth, 0x21, 1, 0, nil, "", "")))
	f("no SASL", ann, Down, "refuses: status 0x81", login, sendBinary(reply(opSASLAuth, unknown, 1, 0, nil, "", words[unknown])))
	f("logged in", ann, Hit, "", login, sendBinary(reply(opSASLAuth, 0, 1, 0, nil, "", "Authenticated")),
		expectBinary(opNoop, 2, "", ""), sendBinary(reply(opNoop, 0, 2, 0, nil, "", "")),
		expectBinary(opStat, 3, "settings", ""), sendBinary(reply(opStat, 0, 3, 0, nil, "item_size_max", "1048576"), reply(opStat, 0, 3, 0, nil, "", "")),
		expectBinary(opGetK, 4, "a", ""), sendBinary(reply(opGetK, 0, 4, 1, seven, "a", "one")))
}

// TestBinarySettings checks a setting that arrives in two parts.
func TestBinarySettings(t *testing.T) {
	size := reply(opStat, 0, 2, 0, nil, "item_size_max", "2097152")
	cut := len(size) - len("2097152")
	script := expectBinary(opNoop, 1, "", "") + sendBinary(reply(opNoop, 0, 1, 0, nil, "", "")) +
		expectBinary(opStat, 2, "settings", "") + sendBinary(size[:cut]) + sendBinary(size[cut:], reply(opStat, 0, 2, 0, nil, "", "")) +
		expectBinary(opGetK, 3, "a", "") + sendBinary(reply(opGetK, 0, 3, 9, seven, "a", "one"))
	play(t, "cut", Config{Protocol: Binary}, []string{script}, func(t *testing.T, c *Client, _ *scripted) {
		if r, v := get(c, "a"); r != Hit || v != "one" {
			t.Errorf("got %s %q: %s", r, v, c.State()[0].Trouble)
		}
		if n := c.servers[0].largest.Load(); n != 2<<20 {
			t.Errorf("the largest item has %d bytes, want %d", n, 2<<20)
		}
	})
}

// TestBinaryFrames checks calls that are written together, each with a reply of its own.
func TestBinaryFrames(t *testing.T) {
	hit := func(opaque uint32, key, value string) []byte { return reply(opGetK, 0, opaque, 1, seven, key, value) }
	deleted := reply(opDelete, 0, 5, 0, nil, "", "")
	later := expectBinary(opDelete, 3, "d", "") + sendBinary(reply(opDelete, 0, 3, 0, nil, "", ""))
	f := func(name, replies string, want ...string) {
		t.Helper()
		batch := strings.Replace(binaryHello, "<q", "after 10ms\n<q", 1)
		for _, cmd := range []string{expectBinary(opGetK, 3, "a", ""), expectBinary(opGetK, 4, "b", ""), expectBinary(opDelete, 5, "d", "")} {
			batch += cmd
		}
		play(t, name, Config{Protocol: Binary}, []string{batch + replies, binaryHello + later}, func(t *testing.T, c *Client, _ *scripted) {
			got := make([]string, 3)
			var wg sync.WaitGroup
			for n, key := range []string{"a", "b"} {
				wg.Go(func() {
					r, v := get(c, key)
					got[n] = strings.TrimSpace(r.String() + " " + v)
				})
				synctest.Wait()
			}
			wg.Go(func() {
				x := NewCall()
				defer x.Release()
				got[2] = c.Delete(x, 0, []byte("d")).String()
			})
			wg.Wait()
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	f("in order", sendBinary(hit(3, "a", "one"), hit(4, "b", "two"), deleted), "hit one", "hit two", "stored")
	f("one reply too many", sendBinary(hit(3, "a", "one"), hit(4, "b", "two"), hit(4, "b", "two")), "hit one", "hit two", "garbled")
	f("refused delete", sendBinary(hit(3, "a", "one"), hit(4, "b", "two"), reply(opDelete, noMemory, 5, 0, nil, "", "")), "hit one", "hit two", "refused")
	f("a delete's reply of another kind", sendBinary(hit(3, "a", "one"), hit(4, "b", "two"), reply(opDelete, 3, 5, 0, nil, "", "")), "hit one", "hit two", "garbled")
	f("a delete that gets another command's reply", sendBinary(hit(3, "a", "one"), hit(4, "b", "two"), reply(opSet, notFound, 5, 0, nil, "", "")),
		"hit one", "hit two", "garbled")
	f("ended before the last", sendBinary(hit(3, "a", "one"), hit(4, "b", "two"))+"end", "hit one", "hit two", "stored")
}
