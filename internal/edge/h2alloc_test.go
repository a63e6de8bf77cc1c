package edge

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// h2Loop sends requests in rounds over one connection, and reads the answers without
// allocating.
type h2Loop struct {
	nc     net.Conn
	frames []byte // of a round; the ids are replaced
	ids    []int  // where the ids of the streams are in frames

	next uint32 // the next id
	buf  [1 << 16]byte
	have int
}

// dialPlain connects to s without TLS, which allocates for each record that it reads.
func dialPlain(t testing.TB, s *Server) net.Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(s, ours)
	s.conns.Track(&c.Conn)
	go c.speakH2()
	return nc
}

// dialSecure connects to s with TLS.
func dialSecure(t testing.TB, s *Server) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // a test
}

// newH2Loop prepares rounds of n requests, each with a path of its own, and with a body if
// that is not empty. The answers have bodies of size bytes.
func newH2Loop(t testing.TB, nc net.Conn, n int, body string, size int) *h2Loop {
	t.Helper()
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	l := &h2Loop{nc: nc, next: 1}
	var out, block bytes.Buffer
	fr, enc := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	out.WriteString(http2.ClientPreface)
	_ = fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
	_ = fr.WriteWindowUpdate(0, 1<<29) // the window is never used up
	if _, err := l.nc.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	enc.SetMaxDynamicTableSize(0)
	for i := range n {
		block.Reset()
		method := "GET"
		if body != "" {
			method = "POST"
		}
		for _, f := range [][2]string{{":method", method}, {":scheme", "https"}, {":authority", "test"}, {":path", fmt.Sprintf("/path/%d", i)},
			{"user-agent", "test"}, {"accept", "*/*"}, {"accept-encoding", "gzip, deflate"}} {
			_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		l.ids = append(l.ids, out.Len()+5)
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: body == "", EndHeaders: true})
		if body != "" {
			l.ids = append(l.ids, out.Len()+5)
			_ = fr.WriteData(1, true, []byte(body))
		}
	}
	_ = fr.WriteWindowUpdate(0, uint32(n*size))
	l.frames = out.Bytes()
	return l
}

// round sends the requests and reads their answers.
func (l *h2Loop) round(perRequest int) error {
	for i, at := range l.ids {
		binary.BigEndian.PutUint32(l.frames[at:], l.next)
		if i%perRequest == perRequest-1 {
			l.next += 2
		}
	}
	if _, err := l.nc.Write(l.frames); err != nil {
		return err
	}
	for left := len(l.ids) / perRequest; left > 0; {
		n, err := l.nc.Read(l.buf[l.have:])
		if err != nil {
			return err
		}
		l.have += n
		p := l.buf[:l.have]
		for len(p) >= 9 {
			size := 9 + int(p[0])<<16 + int(p[1])<<8 + int(p[2])
			if len(p) < size {
				break
			}
			switch kind, ended := p[3], p[4]&1 != 0; {
			case kind == 7, kind == 3:
				return io.ErrUnexpectedEOF
			case kind <= 1 && ended:
				left--
			}
			p = p[size:]
		}
		l.have = copy(l.buf[:], p)
	}
	return nil
}

// TestH2HotPathAllocs checks that requests over HTTP/2 allocate nothing, with other paths in
// each.
func TestH2HotPathAllocs(t *testing.T) {
	f := func(name string, streaming bool, n int, body string, size int) {
		t.Helper()
		s := start(t, Config{Streaming: streaming, Handler: newPreparedHandler(size)})
		perRequest := 1
		if body != "" {
			perRequest = 2
		}
		l := newH2Loop(t, dialPlain(t, s), n, body, size)
		got := testing.AllocsPerRun(race.Part(1000), func() {
			if err := l.round(perRequest); err != nil {
				t.Fatal(err)
			}
		})
		if got > 0 && !race.Enabled {
			t.Errorf("%s: a round allocates %v times", name, got)
		}
	}
	f("one", true, 1, "", 300)
	f("ten", true, 10, "", 300)
	f("ten of 20 KB", true, 10, "", 20000)
	f("with bodies", false, 10, "0123456789", 300)
}

func BenchmarkH2(b *testing.B) {
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, _ := startTLS(b, Config{Streaming: true, Handler: newPreparedHandler(1000)})
			l := newH2Loop(b, dialSecure(b, s), n, "", 1000)
			b.ReportAllocs()
			for b.Loop() {
				if err := l.round(1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/request")
		})
	}
}
