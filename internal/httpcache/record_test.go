package httpcache

import (
	"strings"
	"testing"
)

// A head that comes back from disk says what it said before, as the options have it now.
func TestHeadFromRecord(t *testing.T) {
	before := head(get(url, "A", "1"), "Vary", "A", "Surrogate-Key", "x", "ETag", `"1"`, "Set-Cookie", "id=alice", "Cache-Control", `private="Set-Cookie"`)
	f := func(want string, strip ...string) {
		t.Helper()
		o := options
		o.Strip = strip
		h, ok := readHead(before.record(), &o)
		if !ok {
			t.Fatal("it can't be read")
		}
		if got := string(h.Lines); got != want || strings.Contains(got, "alice") {
			t.Errorf("without %q a hit has\n%s\nwant\n%s", strip, got, want)
		}
		if got := string(lines(h.hit)); got != string(lines(before.hit)) {
			t.Errorf("an update is made to\n%s\nno longer to\n%s", got, lines(before.hit))
		}
	}
	all := string(before.Lines)
	f(all)
	f(strings.Replace(all, "Surrogate-Key: x\r\n", "", 1), "surrogate-key")
}
