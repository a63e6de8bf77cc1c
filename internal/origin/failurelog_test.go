package origin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFailureLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		var l FailureLog
		logged := func(err error, want ...string) {
			t.Helper()
			text.Reset()
			l.Log(log, err, slog.String("operation", "GetItem"))
			if len(want) == 0 && text.Len() > 0 {
				t.Errorf("logged %q", &text)
			}
			for _, part := range want {
				if !strings.Contains(text.String(), part) {
					t.Errorf("logged %q; want %q in it", &text, part)
				}
			}
		}
		down := &Fault{Origin: "db", Kind: Dial, Attempts: 1, Err: errors.New("connection refused")}
		logged(&Fault{Origin: "db", Kind: Canceled})
		logged(context.Canceled)
		logged(down, "level=WARN", "operation=GetItem", "connection refused", "others_since_last=0")
		logged(down)
		logged(down)
		time.Sleep(failureLogInterval)
		logged(down, "others_since_last=2")
		logged(down)
	})
}
