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

// slowReader is a connection whose client reads a number of bytes at intervals of each.
type slowReader struct {
	net.Conn
	bytes    int
	each     time.Duration
	got      int
	deadline time.Time
}

func (m *slowReader) SetWriteDeadline(t time.Time) error { m.deadline = t; return nil }

// take returns how many of n bytes the client reads until the deadline.
func (m *slowReader) take(n int) (int, error) {
	left := time.Until(m.deadline)
	rounds := min(int(left/m.each), (n+m.bytes-1)/m.bytes)
	n = min(n, rounds*m.bytes)
	m.got += n
	time.Sleep(time.Duration(rounds) * m.each) // on the bubble's clock
	return n, nil
}

func (m *slowReader) Write(b []byte) (int, error) {
	n, _ := m.take(len(b))
	if n < len(b) {
		time.Sleep(time.Until(m.deadline)) // on the bubble's clock
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// slowSocket is slowReader for zero-copy sends: it is writable when the client reads.
type slowSocket struct{ *slowReader }

func (m slowSocket) Read(func(uintptr) bool) error { return nil }
func (m slowSocket) Control(func(uintptr)) error   { return nil }
func (m slowSocket) Write(f func(fd uintptr) bool) error {
	if left := time.Until(m.deadline); left < m.each {
		time.Sleep(left) // on the bubble's clock
		return os.ErrDeadlineExceeded
	}
	time.Sleep(m.each) // on the bubble's clock
	f(0)
	return nil
}

var _ syscall.RawConn = slowSocket{}

// TestPaceOfAnswers checks that a client has to read an answer at the minimum pace on average:
// a client below it is disconnected, a slow one is not.
func TestPaceOfAnswers(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	f := func(bytes int, each time.Duration, success bool) {
		t.Helper()
		for _, zeroCopy := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := &Server{epoch: time.Now(), hard: context.Background()}
				s.set.Store(&settings{limits: Limits{WriteTimeout: 30 * time.Second}})
				m := &slowReader{bytes: bytes, each: each}
				c := &conn{srv: s, x: &Exchange{}}
				c.NC, c.Raw, c.FD = m, slowSocket{m}, -1
				var err error
				if zeroCopy {
					sendPages = func(_ int, head, body []byte) (int, error) {
						n := min(bytes, len(head)+len(body))
						m.got += n
						return n, nil
					}
					defer func() { sendPages = pages.Send }()
					err = c.sendZeroCopy([]byte("head"), []byte(body))
				} else {
					err = c.write([]byte("head"), []byte(body), nil)
				}
				took := time.Since(s.epoch)
				switch all := m.got == len("head")+len(body); {
				case (err == nil) != success || all != success:
					t.Errorf("%d bytes every %v (zero-copy %v): %v after %d bytes, want success: %v", bytes, each, zeroCopy, err, m.got, success)
				case !success && (!errors.Is(err, errSlowClient) || took > 2*time.Minute):
					t.Errorf("%d bytes every %v (zero-copy %v): %v after %v, want %v within 2m", bytes, each, zeroCopy, err, took, errSlowClient)
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

// pacedLoan is a loan that has to be read at a pace, from a time on.
type pacedLoan struct {
	pace int64
	from time.Time
}

func (d *pacedLoan) Return() {}
func (d *pacedLoan) Pace() int64 {
	if time.Now().Before(d.from) {
		return 0
	}
	return d.pace
}

// TestPaceOfLoans checks that an answer has to be read at the pace of its Loan, whether it is
// written at once or streamed.
func TestPaceOfLoans(t *testing.T) {
	const unlimited = 0
	body := []byte(strings.Repeat("x", 4<<20))
	f := func(streamed bool, bytes int, pace int64, from, given time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := &Server{epoch: time.Now(), hard: context.Background()}
			s.set.Store(&settings{limits: Limits{WriteTimeout: 30 * time.Second}})
			m := &slowReader{bytes: bytes, each: time.Second}
			x := &Exchange{}
			c := &conn{srv: s, x: x}
			c.NC, c.FD = m, -1
			x.Reply.Loan = &pacedLoan{pace, time.Now().Add(from)}
			var err error
			handling := time.Duration(0) // the handler's time, which does not count
			if x.answer.begun = streamed; streamed {
				for left := body; len(left) > 0 && err == nil; left = left[64<<10:] {
					time.Sleep(time.Minute)
					handling += time.Minute
					err = c.write(left[:64<<10], nil, nil)
				}
			} else {
				err = c.write([]byte("head"), body, nil)
			}
			took := time.Since(s.epoch) - handling
			if given == unlimited && err != nil || given != unlimited && (!errors.Is(err, errSlowClient) || took > given) {
				t.Errorf("%d bytes a second (streamed: %v): %v after %v and %d bytes", bytes, streamed, err, took, m.got)
			}
		})
	}
	for _, streamed := range []bool{false, true} {
		f(streamed, 20<<10, 1, 0, unlimited)
		f(streamed, 20<<10, 16<<10, 0, unlimited)
		f(streamed, 10<<10, 20<<10, 0, 2*time.Minute)
		f(streamed, 10<<10, 20<<10, 3*time.Minute, 5*time.Minute)
		f(streamed, 20<<10, 10<<20, 0, time.Minute)
	}
}

// TestPacePerAnswer checks that the time of one answer does not count for the next.
func TestPacePerAnswer(t *testing.T) {
	x := &Exchange{}
	x.pace = pace{-1, time.Second}
	x.begin(x.Record.Client, false)
	if !x.keepsPace(0, time.Second, time.Second) || x.keepsPace(0, 1, time.Second) {
		t.Errorf("the credit is %v after a new answer began", x.pace.credit)
	}
}
