package value

import (
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// Inspecting a value and reading a plain one allocate nothing. Decoders are pooled.
func TestAllocs(t *testing.T) {
	if race.Enabled {
		return
	}
	room := make([]byte, 0, 1<<20)
	f := func(name string, flags uint32, data string) {
		t.Helper()
		p, item := profile(t, name), []byte(data)
		n := testing.AllocsPerRun(100, func() {
			v, reason := p.Inspect(flags, item)
			if reason != OK {
				return
			}
			if _, err := v.AppendPlain(room, limit); err != nil {
				t.Fatal(err)
			}
			v.AppendGzip(room)
		})
		if n != 0 {
			t.Errorf("%s, %#x: %v allocations", name, flags, n)
		}
	}
	f("raw", 0, long)
	f("raw", 0, "x^2, which begins as zlib does, and goes on as text")
	f("cmf", 1, "serialised")
	f("cmf", 2, gzipped(long))
	f("pylibmc", 24, zlibbed(long))
	f("raw", 0, zstded(long))
	f("php", 0x50, stored(t, "php-fastlz1.bin"))
	f("php", 3, "1")
	f("php", 2, ".5")
	f("spymemcached", 0x200, "\x03\xe8")
}
