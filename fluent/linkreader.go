package fluent

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/forward"
)

// read is the reader: it ends with the connection and closes it.
func (l *link) read() {
	var err error
	for err == nil {
		var id string
		id, err = l.conn.ReadAck()
		switch {
		case err == nil:
			err = l.acked(id)
		case forward.Timeout(err):
			err = l.timeUp()
		case errors.Is(err, io.EOF):
			l.closed()
			err = fmt.Errorf("server closed the connection: %w", err)
		}
	}
	l.mu.Lock()
	if l.writeErr != nil && ended(err) {
		err = l.writeErr
	}
	l.err = err
	l.mu.Unlock()
	l.s.counters.connected.Store(false)
	l.conn.Abort()
	l.stop()
	signal(l.wake)
}

// acked handles one acknowledgement. They arrive in the order of the batches.
func (l *link) acked(id string) error {
	l.mu.Lock()
	if len(l.flights) == 0 || l.flights[0].acked {
		l.mu.Unlock()
		return fmt.Errorf("server acknowledged chunk %q, but none was outstanding", id)
	}
	f := &l.flights[0]
	if f.b.id != id {
		l.mu.Unlock()
		return fmt.Errorf("server acknowledged chunk %q instead of %q", id, f.b.id)
	}
	if f.due.IsZero() {
		// Its bytes are still in use by the writer, which will check acked.
		f.acked = true
		l.mu.Unlock()
		return nil
	}
	b := f.b
	l.drop(0)
	l.setDeadline()
	l.mu.Unlock()
	l.s.delivered(b)
	signal(l.wake)
	return nil
}

// timeUp handles the end of a deadline. It returns nil to continue reading.
func (l *link) timeUp() error {
	l.mu.Lock()
	now := time.Now()
	passed := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	switch {
	case l.writeErr != nil && passed(l.giveUp):
		defer l.mu.Unlock()
		return l.writeErr
	case l.s.o.ack && len(l.flights) > 0 && passed(l.flights[0].due):
		defer l.mu.Unlock()
		return fmt.Errorf("no acknowledgement within %v (%d outstanding)", l.s.o.ackTimeout, len(l.flights))
	case passed(l.settled):
		l.settled = time.Time{}
		l.mu.Unlock()
		l.settle()
		return nil
	}
	l.setDeadline()
	l.mu.Unlock()
	return nil
}

// closed handles the server's end of the connection. If it was requested, everything has
// been read.
func (l *link) closed() {
	l.mu.Lock()
	l.ended = l.ending && !l.s.o.ack
	asked := l.ended
	l.mu.Unlock()
	if asked {
		l.settle()
	}
}

// settle completes the batches written without acknowledgement.
func (l *link) settle() {
	l.mu.Lock()
	var done []*batch
	for len(l.flights) > 0 && !l.flights[0].due.IsZero() {
		done = append(done, l.flights[0].b)
		l.drop(0)
	}
	l.setDeadline()
	l.mu.Unlock()
	for _, b := range done {
		l.s.delivered(b)
	}
	signal(l.wake)
}

// setDeadline sets the reader's deadline. mu is held.
func (l *link) setDeadline() {
	at := l.settled
	switch {
	case l.writeErr != nil:
		at = l.giveUp
	case l.s.o.ack && len(l.flights) > 0:
		at = l.flights[0].due
	}
	_ = l.conn.SetReadDeadline(at) // fails if closed, which the reader notices
}
