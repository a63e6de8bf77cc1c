package flight

import (
	"context"
	"io"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// FillFunc sends the flight's request to the origin and returns when the head of the
// response has arrived. It runs in the flight's goroutine, so it must not use anything
// that belongs to the exchange which started the flight. ctx ends with the flight, or when
// no one wants the bytes any more; the body is read under it.
type FillFunc func(ctx context.Context, f *Flight) (*Answer, error)

// Answer is an origin's response to a flight's request.
type Answer struct {
	// Head is the response's head or, after a 304, the updated head of the stored object.
	Head *store.Head
	// Validated is the stored object that a 304 confirms; nil for a new response.
	Validated *store.Object
	// Body is the response's body without framing. It returns io.EOF only at the end of a
	// whole body. Nil means that there is none. The flight closes it.
	Body io.ReadCloser
	// Length is the length of the body, or -1 if it is not known.
	Length int64
	// Whole is the body if all of it is there already. Body is nil then.
	Whole *store.Body
	// Seal, if set, is called when Body is whole. The answer that it returns replaces this
	// one: it may have another Head, Keep or Validated, whose body is then used.
	Seal func(*Answer, *store.Body) *Answer
	// Trailer, if set, returns the trailer fields once Body has ended. They are sent to the
	// members and not stored.
	Trailer func() http1.Fields
	// Share lets all members have the answer. Without it the starter reads Body, and the
	// other members are released at once.
	Share bool
	// Keep stores the answer when it is whole. It has no effect without Share.
	Keep bool
	// Mark is how long requests like this one are marked as having answers that can't be
	// shared; 0 means that they are not.
	Mark time.Duration
	// Remember is how long a shared answer is given to all requests after the flight has
	// ended, if its body was held as a whole.
	Remember time.Duration
	// OnBody, if set, is called with the body of a shared answer when the members have it,
	// and with nil if the body was not held or is not whole. The flight ends when it returns.
	OnBody func(*store.Body)
}

// Interim is a 1xx response.
type Interim struct {
	Status int
	Fields http1.Fields // in memory of their own
}

// result is the outcome of the origin's request. Flight.mu guards it.
type result struct {
	answer  *Answer       // set in all states except asking, abandoned and, before a head, failed
	object  *store.Object // set by complete if the body was held, and by private after a 304
	trailer http1.Fields  // of a whole body
	err     error         // set by failed
}

// starter is the member that started a flight. A private answer is held for it until it
// takes it or leaves. Flight.mu guards it.
type starter struct {
	present bool    // there is one, and it has not left
	answer  *Answer // the private answer; nil: none, or it was taken
}

// offer holds a for the starter. It returns a if there is no starter, for discard.
func (s *starter) offer(a *Answer) (unread *Answer) {
	if !s.present {
		return a
	}
	s.answer = a
	return nil
}

// take marks the answer as taken.
func (s *starter) take() { s.answer = nil }

// leave returns the answer that the starter did not take, for discard.
func (s *starter) leave() (unread *Answer) {
	unread = s.answer
	s.present, s.answer = false, nil
	return unread
}
