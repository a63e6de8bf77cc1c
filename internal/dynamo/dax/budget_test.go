package dax

import (
	"io"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// loop repeats a request without allocations of its own.
type loop struct {
	nc             io.ReadWriter
	request, reply []byte
}

func newLoop(t testing.TB, r *rig, request string) *loop {
	c := r.hello("Go v1")
	c.send(authorizeCall("FULL", "one", time.Now()) + request)
	reply := unhex(t, c.reply(2))
	return &loop{c.nc, unhex(t, request), reply}
}

func (l *loop) once() error {
	if _, err := l.nc.Write(l.request); err != nil {
		return err
	}
	_, err := io.ReadFull(l.nc, l.reply)
	return err
}

// TestRequestAllocs checks that a connection serves requests without allocations.
func TestRequestAllocs(t *testing.T) {
	for _, change := range []func(*Config){func(*Config) {}, withKeys(t)} {
		testRequestAllocs(t, change)
	}
}

func testRequestAllocs(t *testing.T, change func(*Config)) {
	t.Helper()
	for _, request := range []string{askFail + "43616263", askEcho + "5903e8" + zeros(1000)} {
		r := newRig(t, func(c *Config) { c.Listen = "127.0.0.1:0"; c.Log = nil; c.Limits.RequestsPerSecond = 1e9; change(c) })
		l := newLoop(t, r, request)
		got := testing.AllocsPerRun(2000, func() {
			if err := l.once(); err != nil {
				t.Fatal(err)
			}
		})
		if got > 0 && !race.Enabled {
			t.Errorf("%v allocations for the request %.20s, want none", got, request)
		}
	}
}

func zeros(n int) string {
	b := make([]byte, 2*n)
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}

func BenchmarkRequest(b *testing.B) {
	l := newLoop(b, newRig(b, func(c *Config) { c.Listen = "127.0.0.1:0" }), askFail+"43616263")
	b.ReportAllocs()
	for b.Loop() {
		if err := l.once(); err != nil {
			b.Fatal(err)
		}
	}
}
