package pages

import (
	"bytes"
	"runtime"
	"testing"
)

// pattern returns n bytes that depend on the position and on seed.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*3 + seed)
	}
	return b
}

// run returns a Run of parts, or nil on systems without Runs.
func run(t testing.TB, parts ...[]byte) *Run {
	t.Helper()
	r := Join(parts...)
	if (r == nil) != (runtime.GOOS != "linux") {
		t.Fatalf("on %s Join returned %v", runtime.GOOS, r)
	}
	return r
}

func TestJoin(t *testing.T) {
	f := func(lengths ...int) {
		t.Helper()
		var parts [][]byte
		for i, n := range lengths {
			parts = append(parts, pattern(n, i))
		}
		r := run(t, parts...)
		if r == nil {
			return
		}
		want := bytes.Join(parts, nil)
		if b := r.Bytes(); !bytes.Equal(b, want) || cap(b) != len(b) {
			t.Errorf("%v: got %d bytes, which differ from the %d joined ones or have spare capacity", lengths, len(b), len(want))
		}
		if s := SizeOf(int64(len(want))); s != int64(len(r.mem)) || s >= int64(len(want)+1<<16) {
			t.Errorf("%v: %d bytes use %d bytes of memory, but SizeOf returned %d", lengths, len(want), len(r.mem), s)
		}
		runtime.KeepAlive(r)
	}
	f(1)
	f(4096)
	f(4097)
	f(100_000, 0, 1, 70_000)
	f(5 << 20)
	if r := Join(nil, []byte{}); r != nil {
		t.Error("Join of no bytes returned a Run")
	}
}

func TestHolds(t *testing.T) {
	var none *Run
	if none.Holds([]byte("a")) {
		t.Error("a nil Run holds bytes")
	}
	r, other := run(t, pattern(5000, 1)), run(t, pattern(5000, 1))
	if r == nil {
		return
	}
	f := func(want bool, p []byte) {
		t.Helper()
		if r.Holds(p) != want {
			t.Errorf("Holds of %d bytes: got %v", len(p), !want)
		}
	}
	f(true, r.Bytes())
	f(true, r.Bytes()[4999:])
	f(true, r.Bytes()[:1])
	f(false, r.Bytes()[:0])
	f(false, r.mem[:5001])
	f(false, r.mem[5000:])
	f(false, other.Bytes())
	f(false, pattern(5000, 1))
	f(false, nil)
	runtime.KeepAlive(other)
}

// The memory of unreachable Runs is returned to the system.
func TestRunEnds(t *testing.T) {
	kept := run(t, pattern(100_000, 1))
	if kept == nil {
		return
	}
	before := runs.Load()
	for range 50 {
		run(t, pattern(100_000, 2))
	}
	for runs.Load() > before {
		runtime.GC()
	}
	if runs.Load() < 1 || !bytes.Equal(kept.Bytes(), pattern(100_000, 1)) {
		t.Errorf("got %d Runs, want at least 1, or the bytes of the remaining one have changed", runs.Load())
	}
	runtime.KeepAlive(kept)
}

// At most maxRuns exist at a time, and the end of one allows another.
func TestMaxRuns(t *testing.T) {
	runs.Add(maxRuns)
	if Join([]byte("a")) != nil {
		t.Error("Join returned more than maxRuns")
	}
	runs.Add(-maxRuns)
	if r := run(t, []byte("a")); r != nil && string(r.Bytes()) != "a" {
		t.Error("Join returned a wrong Run after others have ended")
	}
}
