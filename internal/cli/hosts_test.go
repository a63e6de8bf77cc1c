package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := newHosts(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		var answer []string
		asked := 0
		h.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
			asked++
			time.Sleep(100 * time.Millisecond)
			if answer == nil {
				return nil, errors.New("no such host " + host)
			}
			var all []netip.Addr
			for _, text := range answer {
				all = append(all, netip.MustParseAddr(text))
			}
			return all, nil
		}
		f := func(name string, wait time.Duration, wantAsked int, want ...string) {
			t.Helper()
			time.Sleep(wait)
			start, got := time.Now(), []string{}
			for range 2 {
				got = got[:0]
				for _, a := range h.find(name) {
					got = append(got, a.String())
				}
			}
			if !slices.Equal(got, want) || time.Since(start) > 0 {
				t.Errorf("%s: %q after %v, want %q", name, got, time.Since(start), want)
			}
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			if asked != wantAsked {
				t.Errorf("%s: %d look-ups, want %d", name, asked, wantAsked)
			}
		}
		f("192.0.2.1", 0, 0, "192.0.2.1")
		f("::ffff:192.0.2.1", 0, 0, "192.0.2.1")
		f("b.test", 0, 1)
		f("b.test", 0, 1)
		f("b.test", hostRetry, 2)
		if text := log.String(); strings.Count(text, "no such host b.test") != 1 {
			t.Errorf("the log is %s", text)
		}
		answer = []string{"2001:db8::2", "192.0.2.9", "192.0.2.2", "2001:db8::1"}
		before := h.version()
		f("b.test", hostRetry, 3)
		f("b.test", 0, 3, "192.0.2.2", "2001:db8::1")
		if h.version() == before {
			t.Error("the version is the same with other addresses")
		}
		slices.Reverse(answer)
		before = h.version()
		f("b.test", hostRefresh, 4, "192.0.2.2", "2001:db8::1")
		answer = nil
		f("b.test", hostRefresh, 5, "192.0.2.2", "2001:db8::1")
		f("b.test", 0, 5, "192.0.2.2", "2001:db8::1")
		if h.version() != before {
			t.Error("another version with the same addresses")
		}
		answer = []string{"192.0.2.3"}
		f("b.test", hostRetry, 6, "192.0.2.2", "2001:db8::1")
		f("b.test", 0, 6, "192.0.2.3")
	})
}
