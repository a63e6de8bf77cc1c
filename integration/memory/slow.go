package memory

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slow is a group of HTTP/1.1 clients that read their answers slowly.
type slow struct {
	conns []net.Conn
	done  chan struct{}
	wg    sync.WaitGroup
	begun atomic.Int64 // clients that have received a first byte
	ended atomic.Int64 // clients whose connection has ended
}

// receiveBuffer keeps the kernel's buffer for a client small.
const receiveBuffer = 4 << 10

// read opens a connection for each path and reads pace bytes a second of its answer.
func read(t testing.TB, addr string, clients, pace int, path func(client int) string) *slow {
	t.Helper()
	s := &slow{done: make(chan struct{})}
	t.Cleanup(s.close)
	for i := range clients {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		s.conns = append(s.conns, nc)
		_ = nc.(*net.TCPConn).SetReadBuffer(receiveBuffer)
		if _, err := fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path(i), addr); err != nil {
			t.Fatal(err)
		}
		s.wg.Go(func() { s.readSlowly(nc, pace) })
	}
	return s
}

// readSlowly reads at the pace until the connection or the attack ends.
func (s *slow) readSlowly(nc net.Conn, pace int) {
	defer s.ended.Add(1)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	buf := make([]byte, pace)
	for first := true; ; first = false {
		if _, err := nc.Read(buf); err != nil {
			return
		}
		if first {
			s.begun.Add(1)
		}
		select {
		case <-tick.C:
		case <-s.done:
			return
		}
	}
}

// close ends the attack.
func (s *slow) close() {
	select {
	case <-s.done:
		return
	default:
	}
	close(s.done)
	for _, nc := range s.conns {
		_ = nc.Close()
	}
	s.wg.Wait()
}
