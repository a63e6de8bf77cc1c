package client

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
)

// FuzzReplies gives the calls of a connection any replies, in two pieces. A call that is a
// hit has a value that came after its own key, and no call is finished twice or lost.
func FuzzReplies(f *testing.F) {
	f.Add([]byte("VALUE a 0 3\r\none\r\nVALUE b 0 3\r\ntwo\r\nEND\r\nSTORED\r\nEND\r\n"), 20, false)
	f.Add([]byte("VALUE b 0 3\r\ntwo\r\nVALUE b 0 3\r\ntwo\r\nEND\r\nSERVER_ERROR object too large\r\nVALUE c 0 0\r\n\r\nEND\r\n"), 3, false)
	f.Add([]byte("VA 3 ka f0 t-1 c1\r\none\r\nEN kb\r\nSTORED\r\nVA 0 kc W\r\n\r\n"), 30, true)
	f.Add([]byte("VA 3 kb f0 t-1 c1\r\ntwo\r\nERROR\r\n"), 1, true)
	f.Fuzz(func(t *testing.T, replies []byte, cut int, meta bool) {
		c, calls := owed(t, meta)
		var fault error
		cut = min(max(cut, 0), len(replies))
		for _, piece := range [][]byte{replies[:cut], replies[cut:]} {
			for len(piece) > 0 && fault == nil {
				n := copy(c.in.Room(), piece)
				fault = c.took(n)
				piece = piece[n:]
			}
		}
		if fault == nil {
			fault = errEnded
		}
		c.fail(append(c.due[c.next:], c.sent...), fault)
		for _, x := range calls {
			if !x.waiter.isDone() {
				t.Fatalf("%q: the call for %s is lost", replies, x.cmd.Key)
			}
			if x.result == Hit && x.cmd.Op == wire.Get {
				follows(t, replies, x, meta)
			}
		}
	})
}

// owed makes a connection that owes replies to gets of a and b, a set, and a get of c.
func owed(t *testing.T, meta bool) (*conn, []*Call) {
	client, err := New(Config{Servers: []Server{{Address: "server:11211"}}, MaxValue: 1 << 16, Breaker: Breaker{RetryEvery: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	near, far := net.Pipe()
	far.Close()
	c := newConn(client.servers[0], near, near)
	c.meta, c.mu = meta, new(sync.Mutex)
	for _, key := range []string{"a", "b", "S", "c"} {
		x := newCall()
		x.begin(wire.Command{Op: wire.Get, Key: []byte(key)})
		if key == "S" {
			x.cmd.Op = wire.Set
		}
		c.sent = append(c.sent, x)
	}
	c.encode(c.sent) // which says what is answered together
	return c, slices.Clone(c.sent)
}

// follows wants the value of x to stand in the replies after a line with its key.
func follows(t *testing.T, replies []byte, x *Call, meta bool) {
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
