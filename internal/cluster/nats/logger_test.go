package nats

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newLogger(slog.New(slog.NewTextHandler(&out, nil)))
		expect := func(want ...string) {
			t.Helper()
			for line := range strings.Lines(out.String()) {
				if len(want) == 0 || !strings.Contains(line, want[0]) {
					t.Fatalf("%swant %q", line, want)
				}
				want = want[1:]
			}
			if len(want) > 0 {
				t.Fatalf("no %q", want)
			}
			out.Reset()
		}
		l.Noticef("notice %d", 1)
		l.Debugf("debug %d", 1)
		l.Tracef("trace %d", 1)
		expect()

		var first []string
		for i := range firstWarnings {
			l.Warnf("warning %d", i)
			first = append(first, fmt.Sprintf(`level=WARN msg="NATS server" others_since_last=0 message="warning %d"`, i))
		}
		l.Errorf("error %d", 1)
		l.Warnf("one more")
		expect(first...)
		time.Sleep(warningInterval)
		l.Errorf("error %d", 2)
		l.Errorf("error %d", 3)
		expect(`level=WARN msg="NATS server" others_since_last=2 message="error 2"`)

		l.Fatalf("fatal %d", 1)
		l.Fatalf("fatal %d", 2)
		expect(`level=ERROR msg="NATS server" message="fatal 1"`, `level=ERROR msg="NATS server" message="fatal 2"`)
		if err := <-l.fatal; err.Error() != "fatal 1" {
			t.Errorf("%v", err)
		}
	})
}
