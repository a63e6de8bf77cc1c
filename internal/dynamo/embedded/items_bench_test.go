package embedded

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// kilobyte returns the text of an item of about 1 KB.
func kilobyte(key int) string {
	return fmt.Sprintf(`{"p":{"S":"key%08d"},"name":{"S":"%s"},"count":{"N":"12345"},"tags":{"SS":["red","green"]},"body":{"S":"%s"}}`,
		key, strings.Repeat("n", 40), strings.Repeat("x", 900))
}

// fill creates a table with some items.
func fill(b *testing.B, s *Store, items int) {
	b.Helper()
	s.mustSend(b, "CreateTable", plainTable)
	for i := range items {
		s.mustSend(b, "PutItem", `{"TableName":"plain","Item":`+kilobyte(i)+`}`)
	}
}

// benchDiskAndMemory runs f as a benchmark with a store on disk, whose writes don't wait for it,
// and with one in memory.
func benchDiskAndMemory(b *testing.B, f func(b *testing.B, s *Store)) {
	b.Run("disk", func(b *testing.B) { f(b, newStore(b)) })
	b.Run("memory", func(b *testing.B) { f(b, newMemoryStore(b)) })
}

func request(op, body string) *Request {
	return &Request{Method: "POST", Path: "/", Target: []byte("DynamoDB_20120810." + op), Body: []byte(body)}
}

func BenchmarkGetItem(b *testing.B) { benchDiskAndMemory(b, getItems) }

func getItems(b *testing.B, s *Store) {
	fill(b, s, 1000)
	r := request("GetItem", `{"TableName":"plain","Key":{"p":{"S":"key00000500"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if resp, err := s.Do(r); err != nil || resp.Status != 200 || len(resp.Body) < 1000 {
			b.Fatal(resp, err)
		}
	}
}

func BenchmarkPutItem(b *testing.B) { benchDiskAndMemory(b, putItems) }

func putItems(b *testing.B, s *Store) {
	fill(b, s, 0)
	r := request("PutItem", `{"TableName":"plain","Item":`+kilobyte(1)+`}`)
	b.ReportAllocs()
	for b.Loop() {
		if resp, err := s.Do(r); err != nil || resp.Status != 200 {
			b.Fatal(resp, err)
		}
	}
}

// BenchmarkPutItemSynced has 64 clients that write items of their own, each acknowledged when
// it is on disk.
func BenchmarkPutItemSynced(b *testing.B) {
	s := openStore(b, onDisk{Dir: b.TempDir()})
	fill(b, s, 0)
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(32) // times 2 processors
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := request("PutItem", `{"TableName":"plain","Item":`+kilobyte(int(next.Add(1)))+`}`)
			if resp, err := s.Do(r); err != nil || resp.Status != 200 {
				b.Error(resp, err)
			}
		}
	})
}
