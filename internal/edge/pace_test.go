package edge

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/pages"
)

// miser is a client that takes some bytes each time, when so much time has passed.
type miser struct {
	net.Conn
	bytes    int
	each     time.Duration
	got      int
	deadline time.Time
}

func (m *miser) SetWriteDeadline(t time.Time) error { m.deadline = t; return nil }

// take is how much it takes of n bytes until the deadline.
func (m *miser) take(n int) (int, error) {
	left := time.Until(m.deadline)
	rounds := min(int(left/m.each), (n+m.bytes-1)/m.bytes)
	n = min(n, rounds*m.bytes)
	m.got += n
	time.Sleep(time.Duration(rounds) * m.each)
	return n, nil
}

func (m *miser) Write(b []byte) (int, error) {
	n, _ := m.take(len(b))
	if n < len(b) {
		time.Sleep(time.Until(m.deadline))
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// miserSocket is the same for what is sent without being copied: it has room whenever the
// client takes something.
type miserSocket struct{ *miser }

func (m miserSocket) Read(func(uintptr) bool) error { return nil }
func (m miserSocket) Control(func(uintptr)) error   { return nil }
func (m miserSocket) Write(f func(fd uintptr) bool) error {
	if left := time.Until(m.deadline); left < m.each {
		time.Sleep(left)
		return os.ErrDeadlineExceeded
	}
	time.Sleep(m.each)
	f(0)
	return nil
}

var _ syscall.RawConn = miserSocket{}

// TestPaceOfAnswers holds that a client has to take an answer at a least pace on average: one
// that takes a byte now and then is given up, one that is slow is not.
func TestPaceOfAnswers(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	f := func(bytes int, each time.Duration, well bool) {
		t.Helper()
		for _, gives := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := &Server{epoch: time.Now(), hard: context.Background()}
				s.set.Store(&settings{limits: Limits{WriteTimeout: 30 * time.Second}})
				m := &miser{bytes: bytes, each: each}
				c := &conn{srv: s, nc: m, fd: -1, x: &Exchange{}}
				c.raw = miserSocket{m}
				var err error
				if gives {
					sendPages = func(_ int, head, body []byte) (int, error) {
						n := min(bytes, len(head)+len(body))
						m.got += n
						return n, nil
					}
					defer func() { sendPages = pages.Send }()
					err = c.give([]byte("head"), []byte(body))
				} else {
					err = c.write([]byte("head"), []byte(body), nil)
				}
				took := time.Since(s.epoch)
				switch all := m.got == len("head")+len(body); {
				case (err == nil) != well || all != well:
					t.Errorf("%d bytes in %v (gives: %v): %v after %d bytes", bytes, each, gives, err, m.got)
				case !well && (!errors.Is(err, errTakesTooLong) || took > 2*time.Minute):
					t.Errorf("%d bytes in %v (gives: %v): %v after %v", bytes, each, gives, err, took)
				}
			})
		}
	}
	f(1, 10*time.Second, false)
	f(1<<10, 5*time.Second, false)
	f(2<<10, time.Second, true)
	f(20<<10, 14*time.Second, true)
	f(1<<20, 14*time.Second, true)
}

// TestPaceIsOfOneAnswer holds that what was waited for one answer is not held against the next.
func TestPaceIsOfOneAnswer(t *testing.T) {
	x := &Exchange{}
	x.pace = pace{-1, time.Second}
	x.begin(x.Record.Client, false)
	if !x.keepsPace(0, time.Second, time.Second) || x.keepsPace(0, 1, time.Second) {
		t.Errorf("the credit left is %v", x.pace.credit)
	}
}
