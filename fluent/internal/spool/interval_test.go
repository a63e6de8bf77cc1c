//go:build go1.25

package spool

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		reported := make(chan error, 10)
		s, _, err := Open("/spool", Options{fs: m, Sync: time.Minute, Report: func(err error) { reported <- err }})
		if err != nil {
			t.Fatal(err)
		}
		// The timer's goroutine is ordered by m.mu only.
		fail := func(err error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.syncErr = func(string) error { return err }
		}
		syncs := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.syncs
		}
		synced := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			if f := m.durable[segment1]; f != nil {
				return len(f.synced)
			}
			return 0
		}
		put := func() {
			t.Helper()
			if err := s.Append(numbered(1, 100), 1); err != nil {
				t.Fatal(err)
			}
		}
		put()
		time.Sleep(40 * time.Second)
		put()
		synctest.Wait()
		if synced() != 0 {
			t.Fatal("synced too early")
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := synced(); got != segmentHeaderLen+2*128 {
			t.Fatalf("%d bytes synced after the interval", got)
		}
		before := syncs()
		time.Sleep(time.Hour)
		synctest.Wait()
		if syncs() != before {
			t.Fatal("synced with nothing new")
		}
		fail(syscall.EIO)
		put()
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := <-reported; !errors.Is(err, syscall.EIO) || len(reported) != 0 {
			t.Fatalf("reported: %v and %d more", err, len(reported))
		}
		fail(nil)
		put()
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), "was not synced") {
			t.Fatalf("Close: %v", err)
		}
		time.Sleep(time.Hour) // a timer that Close left would panic the bubble's end
	})
}
