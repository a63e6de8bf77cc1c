package store

import (
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// TestTimesFromRecord checks that a record keeps times to the microsecond: a response expires
// at the same time before and after a restart.
func TestTimesFromRecord(t *testing.T) {
	f := http1.FieldsOf("Cache-Control", "max-age=2", "Date", "Fri, 15 Jan 2027 08:00:00 GMT")
	received := noon.Add(900 * time.Millisecond)
	before := NewHead(policy.ParseResponse(200, f, received-200_000, received, &options), f, nil, &options)
	after, ok := decodeHead(before.encode(), &options)
	if !ok {
		t.Fatal("the record can't be read")
	}
	for _, now := range []policy.Moment{received, received + 799_999, received + 800_000, received + 1_799_999, received + 1_800_000} {
		if got, want := after.Response.TTL(now), before.Response.TTL(now); got != want {
			t.Errorf("after %d µs the decoded response is fresh for %d s, want %d s", now-received, got, want)
		}
	}
}

// A head that is read from disk equals the written one, as interpreted with the present
// options.
func TestHeadFromRecord(t *testing.T) {
	before := head(get(url, "A", "1"), "Vary", "A", "Surrogate-Key", "x", "ETag", `"1"`, "Set-Cookie", "id=alice", "Cache-Control", `private="Set-Cookie"`)
	f := func(want string, strip ...string) {
		t.Helper()
		o := options
		o.Strip = strip
		h, ok := decodeHead(before.encode(), &o)
		if !ok {
			t.Fatal("the record can't be read")
		}
		if got := string(h.Lines); got != want || strings.Contains(got, "alice") {
			t.Errorf("with %q stripped a hit has\n%s\nwant\n%s", strip, got, want)
		}
		if got := string(lines(h.Hit)); got != string(lines(before.Hit)) {
			t.Errorf("an update would apply to\n%s\nwant\n%s", got, lines(before.Hit))
		}
	}
	all := string(before.Lines)
	f(all)
	f(strings.Replace(all, "Surrogate-Key: x\r\n", "", 1), "surrogate-key")
}
