package client

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
)

// FuzzReplies delivers arbitrary replies to the calls of a connection, in two pieces. The value
// of a hit must follow its key in the replies, and each call must finish once.
func FuzzReplies(f *testing.F) {
	f.Add([]byte("VALUE a 0 3\r\none\r\nVALUE b 0 3\r\ntwo\r\nEND\r\nSTORED\r\nEND\r\n"), 20, false)
	f.Add([]byte("VALUE b 0 3\r\ntwo\r\nVALUE b 0 3\r\ntwo\r\nEND\r\nSERVER_ERROR object too large\r\nVALUE c 0 0\r\n\r\nEND\r\n"), 3, false)
	f.Add([]byte("VA 3 ka f0 t-1 c1\r\none\r\nEN kb\r\nSTORED\r\nVA 0 kc W\r\n\r\n"), 30, true)
	f.Add([]byte("VA 3 kb f0 t-1 c1\r\ntwo\r\nERROR\r\n"), 1, true)
	f.Fuzz(func(t *testing.T, replies []byte, cut int, meta bool) {
		protocol := Text
		if meta {
			protocol = Meta
		}
		c, calls := connWithCalls(t, protocol)
		deliverReplies(t, c, calls, replies, cut)
		for _, x := range calls {
			if x.result == Hit && x.cmd.Op == wire.Get {
				checkValue(t, replies, x, meta)
			}
		}
	})
}

// deliverReplies delivers replies to the connection in two pieces, and then ends it. All calls
// must finish.
func deliverReplies(t *testing.T, c *conn, calls []*Call, replies []byte, cut int) {
	var fault error
	cut = min(max(cut, 0), len(replies))
	for _, piece := range [][]byte{replies[:cut], replies[cut:]} {
		for len(piece) > 0 && fault == nil {
			n := copy(c.in.Room(), piece)
			fault = c.deliver(n)
			piece = piece[n:]
		}
	}
	if fault == nil {
		fault = errEnded
	}
	c.fail(append(c.due[c.next:], c.sent...), fault)
	for _, x := range calls {
		if !x.waiter.isDone() {
			t.Fatalf("%q: the call for %s has not finished", replies, x.cmd.Key)
		}
	}
}

// FuzzBinaryReplies is FuzzReplies for the binary protocol: the value of a hit must follow a
// head with its opaque and key.
func FuzzBinaryReplies(f *testing.F) {
	flags := []byte{0, 0, 0, 5}
	one := reply(0x0c, 0, 1, 7, flags, "a", "one")
	f.Add(append(append(one, reply(0x0c, 1, 2, 0, nil, "b", "")...), reply(0x01, 3, 3, 0, nil, "", "Too large.")...), 30)
	f.Add(append(append(reply(0x0c, 0, 1, 7, flags, "a", ""), reply(0x0c, 0, 3, 7, flags, "b", "two")...), one...), 3)
	f.Add(append(reply(0x0c, 0x82, 1, 0, nil, "", "Out of memory"), "ERROR\r\n"...), 25)
	f.Fuzz(func(t *testing.T, replies []byte, cut int) {
		c, calls := connWithCalls(t, Binary)
		deliverReplies(t, c, calls, replies, cut)
		for n, x := range calls {
			if x.result != Hit || x.cmd.Op != wire.Get {
				continue
			}
			end := append(append([]byte{byte(n + 1)}, binary.BigEndian.AppendUint64(nil, x.cas)...), binary.BigEndian.AppendUint32(nil, x.flags)...)
			if !bytes.Contains(replies, append(append(end, x.cmd.Key...), x.data...)) {
				t.Fatalf("%q: %s has the value %q", replies, x.cmd.Key, x.data)
			}
		}
	})
}

// connWithCalls returns a connection that waits for the replies to gets of a and b, a set,
// and a get of c.
func connWithCalls(t *testing.T, p Protocol) (*conn, []*Call) {
	client, err := New(Config{Servers: []Server{{Address: "server:11211"}}, MaxValue: 1 << 16, Breaker: Breaker{RetryEvery: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	near, far := net.Pipe()
	far.Close()
	c := newConn(client.servers[0], near, near)
	c.protocol, c.mu = p, new(sync.Mutex)
	for _, key := range []string{"a", "b", "S", "c"} {
		x := newCall()
		x.begin(wire.Command{Op: wire.Get, Key: []byte(key)})
		if key == "S" {
			x.cmd.Op = wire.Set
		}
		c.sent = append(c.sent, x)
	}
	c.encode(c.sent) // joins the calls that are answered together
	return c, slices.Clone(c.sent)
}

// checkValue checks that the value of x follows a line with its key in the replies.
func checkValue(t *testing.T, replies []byte, x *Call, meta bool) {
	head := "VALUE " + string(x.cmd.Key) + " "
	if meta {
		head = "VA "
	}
	rest := replies
	for {
		_, after, found := bytes.Cut(rest, []byte(head))
		if !found {
			t.Fatalf("%q: %s has the value %q", replies, x.cmd.Key, x.data)
		}
		line, value, _ := bytes.Cut(after, []byte("\r\n"))
		named := !meta || bytes.Contains(append(bytes.Clone(line), ' '), []byte(" k"+string(x.cmd.Key)+" "))
		if named && bytes.HasPrefix(value, append(bytes.Clone(x.data), "\r\n"...)) {
			return
		}
		rest = after
	}
}
