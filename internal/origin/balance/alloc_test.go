package balance

import (
	"context"
	"net"
	"testing"

	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// newMinimalServer makes a server that answers each read with the same bytes.
func newMinimalServer(t testing.TB) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for buf := make([]byte, 4<<10); ; {
					if _, err := conn.Read(buf); err != nil {
						return
					}
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// TestDoAllocates checks that a request costs 7 allocations: the exchange's 5, its state, and
// the report at its end.
func TestDoAllocates(t *testing.T) {
	if race.Enabled {
		return // the race detector allocates
	}
	url := newMinimalServer(t)
	buf := make([]byte, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, algorithm := range Algorithms {
		g := group(t, Config{Algorithm: algorithm, Members: []Member{{Name: "a", URL: url}, {Name: "b", URL: url}, {Name: "c", URL: url}}})
		q, choice := get(), &Choice{Key: []byte("key")}
		if n := testing.AllocsPerRun(200, func() { do(t, g, ctx, q, choice, buf) }); n > 7 {
			t.Errorf("%s: got %v allocations, want 7", algorithm, n)
		}
	}
}

func do(t testing.TB, g *Group, ctx context.Context, q *origin.Outbound, choice *Choice, buf []byte) {
	in, f := g.Do(ctx, q, choice)
	if f != nil {
		t.Fatal(f)
	}
	if n, err := in.Read(buf); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	in.Close()
}

// BenchmarkDo measures a request through a group of three members. Compare it with origin's
// BenchmarkExchange.
func BenchmarkDo(b *testing.B) {
	url := newMinimalServer(b)
	for _, algorithm := range Algorithms {
		b.Run(algorithm, func(b *testing.B) {
			g, err := New(Config{Algorithm: algorithm, Members: []Member{{Name: "a", URL: url}, {Name: "b", URL: url}, {Name: "c", URL: url}}})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				q, choice, buf := get(), &Choice{Key: []byte("key")}, make([]byte, 100)
				for pb.Next() {
					do(b, g, context.Background(), q, choice, buf)
				}
			})
		})
	}
}
