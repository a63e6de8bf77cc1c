package http1

import (
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

func TestAppend(t *testing.T) {
	f := func(got []byte, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(AppendStatus(nil, 200), "HTTP/1.1 200 OK\r\n")
	f(AppendStatus(nil, 418), "HTTP/1.1 418 I'm a teapot\r\n")
	f(AppendStatus([]byte("x"), 299), "xHTTP/1.1 299 \r\n")
	f(AppendStatus(nil, 999), "HTTP/1.1 999 \r\n")
	f(AppendField(nil, "A", "b\tc"), "A: b\tc\r\n")
	f(AppendField(nil, "A", "b\r\nC: d\x00\x7f"), "A: b  C: d  \r\n")
	f(AppendFieldBytes([]byte("\n"), "A", []byte("\xff")), "\nA: \xff\r\n")
	f(AppendFieldUint(nil, "A", 10), "A: 10\r\n")
}

func TestDate(t *testing.T) {
	var d Date
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("east", 3600))
	f := func(now time.Time, want string) {
		t.Helper()
		if got := string(d.Append(nil, now)); got != "Date: "+want+"\r\n" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(at, "Fri, 02 Jan 2026 02:04:05 GMT")
	f(at.Add(999*time.Millisecond), "Fri, 02 Jan 2026 02:04:05 GMT")
	f(at.Add(time.Second), "Fri, 02 Jan 2026 02:04:06 GMT")
	f(at, "Fri, 02 Jan 2026 02:04:05 GMT")
}

func TestDateAllocs(t *testing.T) {
	var d Date
	at, buf := time.Now(), make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() { buf = d.Append(buf[:0], at) }); n > 0 && !race.Enabled {
		t.Errorf("%v allocations within a second", n)
	}
}

func TestBodyAllowed(t *testing.T) {
	for status, want := range map[int]bool{100: false, 101: false, 200: true, 204: false, 304: false, 404: true, 500: true} {
		if BodyAllowed(status) != want {
			t.Errorf("BodyAllowed(%d) = %v, want %v", status, !want, want)
		}
	}
}
