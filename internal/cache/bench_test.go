//go:build !kasokubroken

package cache

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"
)

// filled returns a cache with n entries, which have 300 bytes and keys of 16 bytes.
func filled(b *testing.B, n int) (*Cache, *Space) {
	b.Helper()
	c, s := open(b, Config{Memory: 4 << 30, Generations: 1 << 20})
	f := Filling{Payload: make([]byte, 300), TTL: time.Hour}
	names := tags("table", "")
	for i := range n {
		key := benchKey(nil, i)
		names[1] = TagOf(key)
		if _, stored := s.Store(c.Note(names...), key, &f); !stored {
			b.Fatal("not stored")
		}
	}
	return c, s
}

func benchKey(dst []byte, i int) []byte {
	dst = append(dst, "table#users#"...)
	return binary.BigEndian.AppendUint32(dst, uint32(i)*2654435761) // spread over all keys, without repetitions
}

func BenchmarkLookupHit(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, s := filled(b, n)
			now, key := c.Now(), make([]byte, 0, 16)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				key = benchKey(key[:0], i*7919%n)
				if _, found, _ := s.Lookup(key, now); found != Fresh {
					b.Fatalf("look-up of %x: got state %d", key, found)
				}
			}
		})
	}
}

func BenchmarkLookupMiss(b *testing.B) {
	c, s := filled(b, 10_000)
	now, key := c.Now(), make([]byte, 0, 16)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = benchKey(key[:0], 10_000+i)
		if _, found, _ := s.Lookup(key, now); found != Absent {
			b.Fatalf("look-up of %x: got state %d", key, found)
		}
	}
}

func BenchmarkLookupParallel(b *testing.B) {
	const n = 100_000
	c, s := filled(b, n)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		now, key := c.Now(), make([]byte, 0, 16)
		for i := 0; pb.Next(); i++ {
			key = benchKey(key[:0], i*7919%n)
			if _, found, _ := s.Lookup(key, now); found != Fresh {
				b.Fatalf("look-up of %x: got state %d", key, found)
			}
		}
	})
}

func BenchmarkNote(b *testing.B) {
	c, _ := open(b, Config{})
	x := tags("item x", "table")
	b.ReportAllocs()
	for b.Loop() {
		c.Note(x...)
	}
}

func BenchmarkWrite(b *testing.B) {
	c, s := open(b, Config{})
	item, table := tags("item x", "partition"), tags("table")
	ch := Change{Puts: []Put{{Space: s, Key: []byte("x"), Tags: tags("item x", "table"),
		Filling: Filling{Payload: make([]byte, 300), TTL: time.Hour}}}}
	b.ReportAllocs()
	for b.Loop() {
		if commit(begin(c, item, table), ch) != 1 {
			b.Fatal("not stored")
		}
	}
}
