package nats

import (
	"context"
	"fmt"
	"strconv"

	client "github.com/nats-io/nats.go"
)

// Limits of messages that have arrived and wait for receive or answer. More are dropped.
const (
	maxPendingFrames   = 1 << 20
	maxPendingBytes    = 128 << 20
	maxPendingRequests = 1 << 14
	maxRequestBytes    = 32 << 20
	maxAnswers         = 1024 // in the making
)

// subject returns the subject of frames for the instance.
func (t *Transport) subject(instance uint64) string {
	return t.prefix + strconv.FormatUint(instance, 16)
}

// Listen passes the frames and requests for the instance self, and the frames for all, to
// receive and answer. A later call replaces the functions and the instance; a former
// function may return after it. If the server is not connected, the subscriptions begin when
// it is. Other nodes can send to the instance a moment later.
//
// receive is called by two goroutines at most, one for each kind of frame. answer is called
// by a goroutine for each request, with a context that ends with the transport; an empty
// reply is sent as well. The bytes are valid during the call.
func (t *Transport) Listen(self uint64, receive func(frame []byte), answer func(ctx context.Context, request []byte) (reply []byte)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return client.ErrConnectionClosed
	}
	t.receiver.Store(&receive)
	t.forget(t.own)
	t.forget(t.ask)
	t.own, t.ask = nil, nil
	var err error
	// The subscription to frames for all is kept: a server may fail to pass on one that ends
	// and begins again at once.
	if t.all == nil {
		t.all, err = t.subscribe(t.prefix+"all", maxPendingFrames, maxPendingBytes, func(m *client.Msg) { (*t.receiver.Load())(m.Data) })
		if err != nil {
			return err
		}
	}
	t.own, err = t.subscribe(t.subject(self), maxPendingFrames, maxPendingBytes, func(m *client.Msg) { receive(m.Data) })
	if err != nil {
		return err
	}
	t.ask, err = t.subscribe(t.subject(self)+".ask", maxPendingRequests, maxRequestBytes, func(m *client.Msg) { t.answer(m, answer) })
	if err != nil {
		return err
	}
	if t.client.IsConnected() {
		_ = t.client.FlushTimeout(dialTimeout) // after an error the client subscribes when it is connected again
	}
	return nil
}

// subscribe begins a subscription, whose goroutine Close waits for. t.mu is held.
func (t *Transport) subscribe(subject string, messages, bytes int, handle func(*client.Msg)) (*client.Subscription, error) {
	sub, err := t.client.Subscribe(subject, handle)
	if err != nil {
		return nil, fmt.Errorf("subscription to %s: %w", subject, err)
	}
	t.tasks.Add(1)
	sub.SetClosedHandler(func(string) { t.tasks.Done() })
	if err := sub.SetPendingLimits(messages, bytes); err != nil {
		return nil, fmt.Errorf("limits of %s: %w", subject, err)
	}
	return sub, nil
}

// forget ends a subscription and keeps its counter. t.mu is held.
func (t *Transport) forget(sub *client.Subscription) {
	if sub == nil {
		return
	}
	t.dropped += droppedBy(sub)
	_ = sub.Unsubscribe() // it fails only if the connection is closed, and the subscription with it
}

// droppedBy returns how many messages a subscription has dropped.
func droppedBy(sub *client.Subscription) uint64 {
	if sub == nil {
		return 0
	}
	n, err := sub.Dropped()
	if err != nil {
		return 0 // the connection is closed
	}
	return uint64(n)
}

// answer sends the reply to a request, or drops the request if too many are being answered.
func (t *Transport) answer(m *client.Msg, answer func(ctx context.Context, request []byte) []byte) {
	select {
	case t.answers <- struct{}{}:
	default:
		t.overload.Add(1)
		return
	}
	t.tasks.Go(func() {
		defer func() { <-t.answers }()
		// A reply that can't be sent is like one that was lost: the other node waits for it
		// until its context ends.
		_ = m.Respond(answer(t.ctx, m.Data))
	})
}

// Broadcast sends a frame to all other nodes that listen. An error means that it was not
// sent; without one it may be lost all the same.
func (t *Transport) Broadcast(frame []byte) error {
	return t.client.Publish(t.prefix+"all", frame)
}

// Send sends a frame to the instance, which must be another node's. An error means that it
// was not sent; without one it may be lost all the same.
func (t *Transport) Send(to uint64, frame []byte) error {
	return t.client.Publish(t.subject(to), frame)
}

// Ask sends a request to the instance, which must be another node's, and returns its reply.
// It fails at once if the server has no subscription of that instance.
func (t *Transport) Ask(ctx context.Context, to uint64, request []byte) ([]byte, error) {
	m, err := t.client.RequestWithContext(ctx, t.subject(to)+".ask", request)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}
