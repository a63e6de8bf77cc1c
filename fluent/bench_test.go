package fluent

import (
	"context"
	"testing"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

func BenchmarkPost(b *testing.B) {
	type access struct {
		Time, ID, Service, Operation, Table, Status, Cache, Client, Agent string
		Duration, In, Out                                                 int64
	}
	discard := func(context.Context, *batch) error { return nil }
	run := func(name string, record func(j int) any) {
		b.Run(name, func(b *testing.B) {
			l := newFake(b, discard)
			b.ReportAllocs()
			j := 0
			for b.Loop() {
				if err := l.Post("tag", record(j)); err != nil {
					b.Fatal(err)
				}
				j++
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
	a := &access{"2026-11-22T04:00:00Z", "0f7c", "users", "GetItem", "users", "200", "hit", "10.0.0.1:5000", "aws-sdk-go-v2/1.47", 12345, 311, 2048}
	m := map[string]any{"count": 1}
	run("map literal", func(j int) any { return map[string]any{"count": j} })
	run("map", func(int) any { return m })
	run("struct", func(int) any { return a })
	b.Run("literal alone", func(b *testing.B) {
		b.ReportAllocs()
		j := 0
		for b.Loop() {
			sink = map[string]any{"count": j}
			j++
		}
	})
	b.Run("parallel", func(b *testing.B) {
		l := newFake(b, discard)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := l.Post("tag", a); err != nil {
					b.Fatal(err)
				}
			}
		})
		l.Close()
	})
}

var sink any

// BenchmarkDelivered sends over a socket to a receiver in this process. The time includes
// Close, so everything posted is delivered.
func BenchmarkDelivered(b *testing.B) {
	f := func(name string, opts ...Option) {
		b.Run(name, func(b *testing.B) {
			server := forwardtest.New(b, forwardtest.Options{Count: true})
			l, err := New([]string{server.Address()}, append(opts, WithOverflow(Block))...)
			if err != nil {
				b.Fatal(err)
			}
			record := &struct {
				Path   string
				Status int
			}{"/index.html", 200}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if err := l.Post("tag", record); err != nil {
					b.Fatal(err)
				}
				n++
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			server.Wait(b, n)
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
		})
	}
	f("ack")
	f("no ack", WithAck(false))
	f("gzip", WithCompression(Gzip))
	f("zstd", WithCompression(Zstd))
	f("message", WithMode(Message))
}
