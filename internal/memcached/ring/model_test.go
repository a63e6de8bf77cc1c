package ring

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestContinuum compares the index with a linear search, on rings whose points are close
// together or far apart.
func TestContinuum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(0, 40), rapid.Uint32Range(1<<32-40, 1<<32-1), rapid.Uint32Range(1<<31-20, 1<<31+20))
		values := rapid.SliceOfN(value, 1, 300).Draw(t, "values")
		points := make([]point, len(values))
		for i, v := range values {
			points[i] = point{v, uint16(i)}
		}
		c, err := newContinuum(slices.Clone(points))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range rapid.SliceOf(value).Draw(t, "hashes") {
			up := Ring{method: upward, continuum: continuum{points: points}}
			if got, want := int(c.points[c.up(h)].server), linearSearch(&up, h); got != want {
				t.Fatalf("up from %d: got point %d, want %d", h, got, want)
			}
			down := Ring{method: downward, continuum: continuum{points: points}}
			if got, want := int(c.points[c.down(h)].server), linearSearch(&down, h); got != want {
				t.Fatalf("down from %d: got point %d, want %d", h, got, want)
			}
		}
	})
}

// stable returns the distributions in which the points of a server depend on its label only.
func stable() []Config {
	return []Config{
		{Name: "cmf-ketama", Points: 150},
		{Name: "cmf-ketama-legacy", Points: 150},
		{Name: "libmemcached-consistent"},
		{Name: "spymemcached"},
		{Name: "rendezvous-pymemcache"},
	}
}

// TestMinimalMovement checks that the order of servers does not matter, and that removing a
// server moves only its own keys.
func TestMinimalMovement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(stable()).Draw(t, "distribution")
		n := rapid.IntRange(2, 9).Draw(t, "servers")
		for i := range n {
			c.Servers = append(c.Servers, Server{fmt.Sprintf("10.0.0.%d:11212", i), 1})
		}
		mixed, fewer := c, c
		mixed.Servers = rapid.Permutation(c.Servers).Draw(t, "order")
		fewer.Servers = slices.Delete(slices.Clone(c.Servers), n-1, n)
		for _, key := range rapid.SliceOf(rapid.StringN(1, 60, 250)).Draw(t, "keys") {
			label := serverOf(t, c, key)
			if other := serverOf(t, mixed, key); other != label {
				t.Fatalf("%q is on %s, with another order of servers on %s", key, label, other)
			}
			left := serverOf(t, fewer, key)
			if label != c.Servers[n-1].Label && left != label {
				t.Fatalf("%q moved from %s to %s when %s was removed", key, label, left, c.Servers[n-1].Label)
			}
		}
	})
}

// serverOf returns the label of key's server.
func serverOf(t *rapid.T, c Config, key string) string {
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return c.Servers[r.Find([]byte(key))].Label
}

// TestWeights checks that a server with a weight has the same slots as one that is listed that
// many times.
func TestWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"crc-buckets", "pecl-standard", "twemproxy-modula"}).Draw(t, "distribution")
		weights := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 9).Draw(t, "weights")
		weighted, repeated := Config{Name: name}, Config{Name: name}
		var owner []int
		for i, w := range weights {
			weighted.Servers = append(weighted.Servers, Server{"", float64(w)})
			for range w {
				repeated.Servers = append(repeated.Servers, Server{"", 1})
				owner = append(owner, i)
			}
		}
		a, errA := New(weighted)
		b, errB := New(repeated)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		key := []byte(rapid.String().Draw(t, "key"))
		if got, want := a.Find(key), owner[b.Find(key)]; got != want {
			t.Fatalf("%q: got server %d, want %d", key, got, want)
		}
	})
}

// TestFractionsOfWhole checks that the buckets for fractional weights equal the slots if the
// weights are whole.
func TestFractionsOfWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 300), 1, 20).Draw(t, "weights")
		total := 0.0
		var want []uint16
		var floats []float64
		for i, w := range weights {
			total += float64(w)
			floats = append(floats, float64(w))
			want = append(want, slices.Repeat([]uint16{uint16(i)}, w)...)
		}
		ends := rangeEnds(floats)
		for b := range want {
			if got := bucketServer(ends, b, total); got != want[b] {
				t.Fatalf("bucket %d of %v: got server %d, want %d", b, weights, got, want[b])
			}
		}
	})
}

// TestEscapeOfPlain checks that escapes do not change the server of a key that has nothing to
// escape.
func TestEscapeOfPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(allConfigs()).Draw(t, "distribution")
		raw, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		c.KeyEscape = rapid.SampledFrom([]string{"nginx-lower", "nginx-upper"}).Draw(t, "escape")
		escaped, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		key := []byte(rapid.StringMatching(`[^\x00- %]*`).Draw(t, "key"))
		if a, b := raw.Find(key), escaped.Find(key); a != b {
			t.Fatalf("%q is on server %d, with escapes on %d", key, a, b)
		}
		key = append(key, ' ')
		plain := strings.ReplaceAll(string(key), " ", "%20")
		if a, b := raw.Find([]byte(plain)), escaped.Find(key); a != b {
			t.Fatalf("%q is on server %d, and %q with escapes on %d", plain, a, key, b)
		}
	})
}
