package edge

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// read implements bodySource.
func (s *h2Stream) read(p []byte) (int, error) {
	for {
		n, err := s.take(p)
		if s.size.Add(int64(n)) > s.limit {
			return 0, http1.ErrTooLarge
		}
		if n > 0 || err != errWait {
			return n, err
		}
		if err := s.waitForBody(); err != nil {
			return 0, err
		}
	}
}

// errWait is returned by take if no part of the body has arrived.
var errWait = errors.New("edge: no part of the body has arrived")

// take returns a part of the body that has arrived, and opens the client's window again.
func (s *h2Stream) take(p []byte) (int, error) {
	h := s.h
	h.lock()
	defer h.mu.Unlock()
	if n := copy(p, s.body); n > 0 {
		if s.body = s.body[n:]; len(s.body) == 0 {
			s.body = nil
		}
		before := len(h.p.Out)
		h.p.Consumed(s.st, n)
		if len(h.p.Out) > before && !h.leads(s.turn) {
			h.flush()
		}
		return n, nil
	}
	switch {
	case s.complete:
		return 0, io.EOF
	case s.gone:
		return 0, io.ErrUnexpectedEOF
	case s.woken:
		return 0, errWoken
	}
	s.sendContinue()
	if s.readable == nil {
		s.readable = make(chan struct{}, 1)
	}
	return 0, errWait
}

// waitForBody waits for a change of what take returns.
func (s *h2Stream) waitForBody() error {
	s.h.yield(s.turn)
	began := time.Now()
	timer := time.NewTimer(s.pace.credit)
	defer timer.Stop()
	s.h.lock()
	s.h.flush() // a window, or "100 Continue"
	s.h.mu.Unlock()
	select {
	case <-s.readable:
	case <-timer.C:
		return errTooSlow
	}
	s.h.mu.Lock()
	n := len(s.body)
	s.h.mu.Unlock()
	s.pace.account(n, time.Since(began), minPace)
	return nil
}

// wake implements bodySource.
func (s *h2Stream) wake() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.woken = true
	wake(s.readable)
}

func (s *h2Stream) discardable() bool { return true }

func (s *h2Stream) trailer() http1.Fields {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return s.fields
}

// sendContinue sends "100 Continue" to a client that waits for it. mu is held.
func (s *h2Stream) sendContinue() {
	if !s.expects {
		return
	}
	s.expects = false
	s.x.interimMu.Lock()
	defer s.x.interimMu.Unlock()
	if !s.x.answer.begun {
		s.h.appendInterim(s, http.StatusContinue, nil)
	}
}
