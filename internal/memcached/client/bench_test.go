//go:build unix

package client

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// startMinimalServer starts a server with minimal costs. It has one value for all keys.
func startMinimalServer(b testing.TB, meta bool, value []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	tail := append([]byte(fmt.Sprintf(" 0 %d\r\n", len(value))), value...)
	tail = append(tail, "\r\n"...)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go answer(nc, meta, tail, value)
		}
	}()
	return l.Addr().String()
}

// startMinimalBinaryServer is startMinimalServer for the binary protocol.
func startMinimalBinaryServer(b testing.TB, value []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go answerBinary(nc, value)
		}
	}()
	return l.Addr().String()
}

func answerBinary(nc net.Conn, value []byte) {
	defer nc.Close()
	in := bufio.NewReaderSize(nc, 64<<10)
	var out []byte
	for {
		head, err := in.Peek(24)
		if err != nil {
			return
		}
		size := 24 + int(binary.BigEndian.Uint32(head[8:]))
		command, err := in.Peek(size)
		if err != nil {
			return
		}
		key := command[24:]
		extras, body := 0, 0
		if command[1] == opGetK {
			extras, body = 4, 4+len(key)+len(value)
		} else {
			key = nil // a request for settings, which are not sent
		}
		out = append(out, 0x81, command[1], 0, byte(len(key)), byte(extras), 0, 0, 0)
		out = append(binary.BigEndian.AppendUint32(out, uint32(body)), command[12:16]...)
		out = append(out, 0, 0, 0, 0, 0, 0, 0, 9)
		if body > 0 {
			out = append(append(append(out, 0, 0, 0, 5), key...), value...)
		}
		if _, err := in.Discard(size); err != nil {
			return
		}
		if in.Buffered() == 0 {
			if _, err := nc.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
	}
}

func answer(nc net.Conn, meta bool, tail, value []byte) {
	defer nc.Close()
	head := fmt.Appendf(nil, "VA %d k", len(value))
	in := bufio.NewReaderSize(nc, 64<<10)
	var out []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		line = line[:len(line)-2]
		switch {
		case bytes.HasPrefix(line, []byte("get ")):
			for key, rest, more := []byte(nil), line[4:], true; more; {
				key, rest, more = bytes.Cut(rest, []byte(" "))
				out = append(append(append(out, "VALUE "...), key...), tail...)
			}
			out = append(out, "END\r\n"...)
		case bytes.HasPrefix(line, []byte("mg ")):
			key := line[3 : 3+bytes.IndexByte(line[3:], ' ')]
			out = append(append(append(append(out, head...), key...), " f0 t-1 c1\r\n"...), value...)
			out = append(out, "\r\n"...)
		case meta && string(line) == "mn":
			out = append(out, "MN\r\n"...)
		default:
			out = append(out, "ERROR\r\n"...)
		}
		if in.Buffered() == 0 {
			if _, err := nc.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
	}
}

// TestGetAllocs checks that a hit allocates nothing.
func TestGetAllocs(t *testing.T) {
	value := bytes.Repeat([]byte("v"), 500)
	f := func(p Protocol, address string) {
		c := newClient(t, Config{Protocol: p}, address)
		key := []byte("some:key:with:a:usual:length")
		x := NewCall()
		get := func() {
			if r := c.Get(x, 0, key, GetOptions{}); r != Hit {
				t.Fatal(r)
			}
		}
		get()
		// The average is rounded down, so that rare allocations of the server are allowed.
		if got := testing.AllocsPerRun(2000, get); got > 0 && !race.Enabled {
			t.Errorf("%s: a get allocates %v times", p, got)
		}
		x.Release()
	}
	f(Text, startMinimalServer(t, false, value))
	f(Meta, startMinimalServer(t, true, value))
	f(Binary, startMinimalBinaryServer(t, value))
}

// BenchmarkGet measures a get by one of 64 goroutines. KASOKU_MEMCACHED is the address of a
// server to use instead of one in this process, whose costs would be included.
func BenchmarkGet(b *testing.B) {
	value := []byte(strings.Repeat("v", 500))
	f := func(p Protocol, goroutines int) {
		b.Run(fmt.Sprintf("%s/%d", p, goroutines), func(b *testing.B) {
			address := os.Getenv("KASOKU_MEMCACHED")
			switch {
			case address == "" && p == Binary:
				address = startMinimalBinaryServer(b, value)
			case address == "":
				address = startMinimalServer(b, p == Meta, value)
			}
			c := newClient(b, Config{Protocol: p, Connections: 1}, address)
			prepare(b, c, value)
			before := c.State()[0].Writes
			spent := cpu()
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for g := range goroutines {
				n := b.N / goroutines
				if g < b.N%goroutines {
					n++
				}
				wg.Go(func() { gets(b, c, g, n) })
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(cpu()-spent)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(b.N)/float64(c.State()[0].Writes-before), "gets/write")
		})
	}
	for _, p := range []Protocol{Text, Meta, Binary} {
		for _, goroutines := range []int{1, 64} {
			f(p, goroutines)
		}
	}
}

// prepare stores the values that are read, in a server outside of this process.
func prepare(b *testing.B, c *Client, value []byte) {
	x := NewCall()
	defer x.Release()
	if os.Getenv("KASOKU_MEMCACHED") == "" {
		return
	}
	for g := range 64 {
		if r := c.Store(x, 0, benchKey(g), value, 0, 0, Set, 0); r != Stored {
			b.Fatal(r)
		}
	}
}

func benchKey(g int) []byte { return fmt.Appendf(nil, "some:key:with:a:usual:length:%d", g) }

func gets(b *testing.B, c *Client, g, n int) {
	key := benchKey(g)
	for range n {
		x := NewCall()
		if r := c.Get(x, 0, key, GetOptions{}); r != Hit {
			b.Error(r)
			return
		}
		x.Release()
	}
}

// cpu returns the CPU time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
