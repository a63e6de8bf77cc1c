package fluent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/forward"
)

// link is a connection in use. The sender's goroutine writes batches; the link's own
// goroutine always reads, so that acknowledgements, a HELO that requires a missing key, and
// the end of the connection are noticed while nothing is sent.
//
// Without acknowledgements a batch is done when it was written, except on a new connection:
// a server that requires a key or a certificate, or a proxy of a server that is down,
// accepts and closes soon after. So the first batches are held for a moment and returned if
// that happens.
type link struct {
	s    *sender
	conn *forward.Conn

	take      context.Context // ends when no more batches are to be taken
	stop      context.CancelFunc
	replaceAt time.Time     // when the connection is to be replaced; zero for never
	wake      chan struct{} // one place; wakes the writer after flights or err changed

	mu       sync.Mutex
	flights  []flight  // written or being written, oldest first
	settled  time.Time // when the first batches are done without acknowledgement; zero for at once
	proven   bool      // something was delivered
	ending   bool      // nothing more will be written: the server should close
	ended    bool      // the server has closed after reading everything
	writeErr error
	giveUp   time.Time // after writeErr: deadline for the reader to find the reason
	err      error     // why the connection ended; the reader has ended then

	unsent *batch // taken but not written because the connection had ended; the writer's
}

// flight is a batch in flight.
type flight struct {
	b     *batch
	due   time.Time // deadline of its acknowledgement; zero while it is being written
	acked bool      // while it was being written
}

// reasonWait is the wait for a server's reason after a failed write.
const reasonWait = 200 * time.Millisecond

// settleTime is how long the first batches of a connection without acknowledgements are
// held, in addition to two round trips to the server.
const settleTime = 100 * time.Millisecond

func newLink(s *sender, conn *forward.Conn) *link {
	now := time.Now()
	l := &link{s: s, conn: conn, wake: make(chan struct{}, 1)}
	if s.o.maxConnAge > 0 {
		l.replaceAt = now.Add(s.o.maxConnAge)
	}
	if !s.o.ack {
		l.settled = now.Add(settleTime + 2*conn.Trip())
	}
	return l
}

// run sends b and the following batches. It returns the undelivered batches, in order, and
// the reason for the end of the connection: nil if this side ended it. It closes the
// connection.
func (l *link) run(ctx, turn context.Context, b *batch) (left []*batch, err error) {
	l.take, l.stop = context.WithCancel(turn)
	defer l.stop()
	defer context.AfterFunc(ctx, l.conn.Abort)()
	l.s.counters.connected.Store(true)
	var reader sync.WaitGroup
	reader.Add(1)
	go func() {
		defer reader.Done()
		l.read()
	}()

	for b != nil && l.send(b) {
		b = l.following()
	}
	over := l.broken() != nil
	if !over {
		_ = l.conn.Close()
	}
	reader.Wait() // it ends for either reason, and only it has written l.err
	for _, f := range l.flights {
		left = append(left, f.b)
	}
	if l.unsent != nil {
		left = append(left, l.unsent)
	}
	l.s.counters.inFlight.Store(0)
	if over || len(l.flights) > 0 {
		err = l.err
	}
	return left, err
}

// idleEnd reports whether err is the end of a connection with nothing in flight, which
// servers may close. A connection that never carried anything has failed nevertheless;
// otherwise a server that closes at once would be tried without pause.
func (l *link) idleEnd(err error) bool {
	return ended(err) && l.proven && len(l.flights) == 0
}

// send writes b and reports whether the connection can be used further.
func (l *link) send(b *batch) bool {
	if !l.begin(b) {
		l.unsent = b
		return false
	}
	m := forward.Message{Tag: b.tag, Entries: b.entries, Records: b.records}
	if l.s.o.ack {
		m.Chunk = b.id
	}
	if err := l.conn.Write(&m); err != nil {
		l.writeFailed(err)
		return false
	}
	l.written()
	if l.once() {
		l.end()
	}
	return true
}

// begin adds b to the flights. It refuses if the connection has ended, because writing to a
// dead socket may appear to succeed.
func (l *link) begin(b *batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return false
	}
	if len(l.flights) == 0 || !l.s.o.ack {
		if err := l.conn.Check(); err != nil {
			l.writeErr = err
			l.hurry()
			return false
		}
	}
	l.flights = append(l.flights, flight{b: b})
	l.ending = l.ending || !l.conn.Keepalive()
	l.s.counters.inFlight.Store(int64(len(l.flights)))
	return true
}

// written records that the last flight was written.
func (l *link) written() {
	l.mu.Lock()
	last := len(l.flights) - 1
	f := &l.flights[last]
	f.due = time.Now().Add(l.s.o.ackTimeout)
	var done *batch
	if f.acked || !l.s.o.ack && (l.settled.IsZero() || l.ended) {
		done = f.b
		l.drop(last)
	}
	l.setDeadline()
	l.mu.Unlock()
	if done != nil {
		l.s.delivered(done)
	}
}

// drop removes a flight that has arrived. mu is held.
func (l *link) drop(i int) {
	l.flights = slices.Delete(l.flights, i, i+1)
	l.proven = true
	l.s.counters.inFlight.Store(int64(len(l.flights)))
}

// writeFailed gives the reader a moment to find the reason, and to read acknowledgements
// that have arrived.
func (l *link) writeFailed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.writeErr = err
		l.hurry()
	}
}

// hurry shortens the reader's deadline. mu is held.
func (l *link) hurry() {
	l.giveUp = time.Now().Add(reasonWait)
	l.setDeadline()
}

// end closes the sending direction to a server without acknowledgements: it closes once it
// has read everything.
func (l *link) end() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	if !l.s.o.ack {
		l.conn.CloseWrite()
	}
}

// following waits for room and for the next batch. It returns nil if no more is to be sent
// here; then all flights have arrived or the connection is broken.
func (l *link) following() *batch {
	for !l.room() {
		if !l.pause() {
			return nil
		}
	}
	if l.once() || l.tooOld() {
		l.drain()
		return nil
	}
	b, err := l.s.source.next(l.take)
	if err != nil {
		l.drain()
		return nil
	}
	if l.tooOld() {
		l.unsent = b
		l.drain()
		return nil
	}
	return b
}

// once reports whether the connection is for one batch only.
func (l *link) once() bool { return !l.s.o.keepalive || !l.conn.Keepalive() }

func (l *link) tooOld() bool { return !l.replaceAt.IsZero() && !time.Now().Before(l.replaceAt) }

// room reports whether another batch may be in flight: only one until the server has
// acknowledged or accepted something. Batches held without acknowledgements have been
// written and don't count otherwise.
func (l *link) room() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.s.breaker.now() != Closed:
		return len(l.flights) == 0
	case l.s.o.ack:
		return len(l.flights) < l.s.o.window
	}
	return true
}

// drain waits until all flights have arrived, or never will.
func (l *link) drain() {
	for {
		l.mu.Lock()
		empty := len(l.flights) == 0
		l.mu.Unlock()
		if empty || !l.pause() {
			return
		}
	}
}

// pause waits for a change; it returns false when the connection has ended.
func (l *link) pause() bool {
	if l.broken() != nil {
		return false
	}
	<-l.wake
	return l.broken() == nil
}

// broken returns the reason for the end of the connection, as far as it is known.
func (l *link) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return l.writeErr
	}
	return l.err
}
