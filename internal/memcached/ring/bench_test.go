package ring

import (
	"fmt"
	"sort"
	"testing"
)

var found int

func BenchmarkFind(b *testing.B) {
	keys := keys(b)
	for _, c := range allConfigs() {
		if c.Hash != "" && c.Name != "modula" {
			continue
		}
		b.Run(c.test(), func(b *testing.B) {
			r := newRing(b, c)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				found += r.Find(keys[i])
				if i++; i == len(keys) {
					i = 0
				}
			}
		})
	}
}

// BenchmarkFindText measures a hashed namespace and escapes.
func BenchmarkFindText(b *testing.B) {
	keys := keys(b)
	c := allConfigs()[0]
	c.Namespace, c.HashNamespace, c.KeyEscape = "testapp::", new(true), "nginx-lower"
	r := newRing(b, c)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		found += r.Find(keys[i])
		if i++; i == len(keys) {
			i = 0
		}
	}
}

// BenchmarkContinuum compares the index with a binary search of all points.
func BenchmarkContinuum(b *testing.B) {
	for _, servers := range []int{3, 100, 1000} {
		c := Config{Name: "cmf-ketama", Points: 150}
		for i := range servers {
			c.Servers = append(c.Servers, Server{fmt.Sprintf("10.0.%d.%d:11211", i/250, i%250), 1})
		}
		r := newRing(b, c)
		points := r.continuum.points
		b.Run(fmt.Sprintf("index/%d", len(points)), func(b *testing.B) {
			h := uint32(1)
			for b.Loop() {
				h = h*1664525 + 1013904223
				found += int(r.continuum.up(h))
			}
		})
		b.Run(fmt.Sprintf("search/%d", len(points)), func(b *testing.B) {
			h := uint32(1)
			for b.Loop() {
				h = h*1664525 + 1013904223
				found += sort.Search(len(points), func(i int) bool { return points[i].value >= h })
			}
		})
	}
}
