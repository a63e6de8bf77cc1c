package accel

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestFailuresAreLogged sends requests to an origin that is down. Package origin tests the
// rate of the log lines.
func TestFailuresAreLogged(t *testing.T) {
	f := newFixture(t)
	var log bytes.Buffer
	f.svc.log = slog.New(slog.NewTextHandler(&log, nil))
	f.origin.srv.Close()
	wantLog := func(want ...string) {
		t.Helper()
		got := log.String()
		if n := strings.Count(got, "\n"); n != 1 && len(want) > 0 || n != 0 && len(want) == 0 {
			t.Fatalf("logged %q, want one line or none", got)
		}
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Fatalf("logged %q; want %q in it", got, part)
			}
		}
		log.Reset()
	}
	f.do("GetItem", getA)
	wantLog("level=WARN", "operation=GetItem", "connection refused", "others_since_last=0")
	f.do("GetItem", getA)
	f.do("ListTables", "{}")
	wantLog()
}
