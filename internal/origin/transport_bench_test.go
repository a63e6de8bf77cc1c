package origin

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// browserRequest returns a request with the fields of a browser.
func browserRequest() *Outbound {
	return &Outbound{Method: []byte("GET"), Target: []byte("/db/doc"), Host: []byte("example.test"), Header: http1.FieldsOf(
		"User-Agent", "Mozilla/5.0", "Accept", "application/json", "Accept-Encoding", "gzip", "X-Forwarded-For", "192.0.2.1", "Via", "1.1 kasoku")}
}

// TestExchangeAllocates limits an exchange's allocations to its results: the Inbound and its
// fields in two pieces, plus the registration with the context.
func TestExchangeAllocates(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	tr := transport(t, TransportConfig{URL: newMinimalServer(t, []byte("\r\n\r\n"))})
	q, buf := browserRequest(), make([]byte, 4<<10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := func(name string, ctx context.Context, want float64) {
		t.Helper()
		if n := testing.AllocsPerRun(200, func() { readAll(t, tr, ctx, q, buf) }); n > want {
			t.Errorf("%s: %v allocations; want %v", name, n, want)
		}
	}
	f("not to be cancelled", context.Background(), 3)
	f("to be cancelled", ctx, 5)
}

// readAll makes an exchange and reads its body of 1,000 bytes.
func readAll(t testing.TB, tr *Transport, ctx context.Context, q *Outbound, buf []byte) {
	in, f := tr.Exchange(ctx, q)
	if f != nil {
		t.Fatal(f)
	}
	n := 0
	for {
		k, err := in.Read(buf)
		n += k
		if err == io.EOF && n == 1000 {
			break
		}
		if err != nil {
			t.Fatal(n, err)
		}
	}
	in.Close()
}

// BenchmarkExchange measures an exchange with a body of 1,000 bytes on an idle connection, for
// comparison with BenchmarkDo.
func BenchmarkExchange(b *testing.B) {
	tr, err := NewTransport(TransportConfig{URL: newMinimalServer(b, []byte("\r\n\r\n"))})
	if err != nil {
		b.Fatal(err)
	}
	defer tr.Close()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		q, buf := browserRequest(), make([]byte, 4<<10)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for pb.Next() {
			readAll(b, tr, ctx, q, buf)
		}
	})
}

// scripted is a connection that accepts everything, and whose reads return pieces of one size.
type scripted struct {
	net.Conn
	bytes.Reader
	piece int
}

func (s *scripted) Write(b []byte) (int, error) { return len(b), nil }
func (s *scripted) Read(b []byte) (int, error)  { return s.Reader.Read(b[:min(len(b), s.piece)]) }

// FuzzExchange checks that no bytes from an origin make the transport panic, and that the
// result does not depend on how they arrive and are read.
func FuzzExchange(f *testing.F) {
	for _, row := range malformedAnswers() {
		if len(row.text) < 1000 {
			f.Add([]byte(row.text))
		}
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		read := func(piece, size int) (status int, body []byte, kind FaultKind, whole bool) {
			tr, err := NewTransport(TransportConfig{URL: "http://origin.test", Member: "m"})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			client, server := net.Pipe()
			defer client.Close()
			defer server.Close()
			tr.pool.dialer = func(context.Context, string, string) (net.Conn, error) {
				return &scripted{Conn: client, Reader: *bytes.NewReader(answer), piece: piece}, nil
			}
			in, fault := tr.Exchange(context.Background(), get("/"))
			if fault != nil {
				return 0, nil, fault.Kind, false
			}
			defer in.Close()
			for p := make([]byte, size); ; {
				n, err := in.Read(p)
				if body = append(body, p[:n]...); err == io.EOF {
					return in.Status, body, 0, true
				} else if err != nil {
					return in.Status, body, err.(*Fault).Kind, false
				}
			}
		}
		status, body, kind, whole := read(1<<20, 1<<20)
		for _, by := range [][2]int{{1, 1}, {1 << 20, 1}, {7, 3}} {
			s, b, k, w := read(by[0], by[1])
			if s != status || k != kind || w != whole || !bytes.Equal(b, body) {
				t.Fatalf("%q at once: %d %q %s %t; by %d: %d %q %s %t", answer, status, body, kind, whole, by, s, b, k, w)
			}
		}
	})
}
