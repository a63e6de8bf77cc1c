package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// A request of one node to another has a kind, which selects the function that answers it:
// the length of the kind in one byte, the kind, and the bytes of the request. The reply is
// the bytes that the function returns. Requests are no part of the protocol: they may be lost,
// and the node that answers may have no lease.

// maxKind is the maximum length of a kind.
const maxKind = 255

// askAllTimeout is the maximum time that AskAll waits for replies.
const askAllTimeout = 250 * time.Millisecond

// errNoReply is the error of a request that the other node does not answer.
var errNoReply = errors.New("the node does not answer requests of this kind")

// Handle answers the requests of other nodes of the given kind with f, from now on. An empty
// reply is an error to the node that has asked. f is called concurrently. It must not retain
// the request, and ctx ends when the node is closed. f may be nil, to answer no more.
func (n *Node) Handle(kind string, f func(ctx context.Context, request []byte) []byte) {
	if kind == "" || len(kind) > maxKind {
		panic(fmt.Sprintf("cluster: invalid kind %q", kind))
	}
	n.handlersMu.Lock()
	defer n.handlersMu.Unlock()
	if f == nil {
		delete(n.handlers, kind)
		return
	}
	if n.handlers == nil {
		n.handlers = make(map[string]func(context.Context, []byte) []byte)
	}
	n.handlers[kind] = f
}

// handler returns the function that answers requests of a kind, nil if there is none.
func (n *Node) handler(kind []byte) func(context.Context, []byte) []byte {
	n.handlersMu.RLock()
	defer n.handlersMu.RUnlock()
	return n.handlers[string(kind)]
}

// answer answers a request of another node. The reply is empty if its kind is unknown.
func (n *Node) answer(ctx context.Context, frame []byte) []byte {
	kind, request, ok := cutKind(frame)
	if !ok {
		return nil
	}
	if f := n.handler(kind); f != nil {
		return f(ctx, request)
	}
	return nil
}

// appendKind appends the beginning of a request.
func appendKind(dst []byte, kind string) []byte {
	return append(append(dst, byte(len(kind))), kind...)
}

// cutKind splits a frame into the kind and the request.
func cutKind(frame []byte) (kind, request []byte, ok bool) {
	if len(frame) == 0 || int(frame[0]) >= len(frame) {
		return nil, nil, false
	}
	end := 1 + int(frame[0])
	return frame[1:end], frame[end:], true
}

// Ask sends a request to another node, and returns its reply. It waits until ctx ends.
func (n *Node) Ask(ctx context.Context, to protocol.Instance, kind string, request []byte) ([]byte, error) {
	frame := appendKind(make([]byte, 0, 1+len(kind)+len(request)), kind)
	return n.ask(ctx, to, append(frame, request...))
}

func (n *Node) ask(ctx context.Context, to protocol.Instance, frame []byte) ([]byte, error) {
	reply, err := n.cfg.Transport.Ask(ctx, uint64(to), frame)
	if err == nil && len(reply) == 0 {
		err = errNoReply
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// AskAll sends a request to all other members of the newest view, and returns the first reply
// for which good returns true. It waits for one until ctx ends, and 250 ms at most. good is
// called by one goroutine at a time.
func (n *Node) AskAll(ctx context.Context, kind string, request []byte, good func(reply []byte) bool) ([]byte, bool) {
	others := n.others()
	if len(others) == 0 {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, askAllTimeout)
	defer cancel()
	frame := appendKind(make([]byte, 0, 1+len(kind)+len(request)), kind)
	frame = append(frame, request...)
	replies := make(chan []byte, len(others)) // nil for an error
	for _, to := range others {
		go func() {
			reply, _ := n.ask(ctx, to, frame)
			replies <- reply
		}()
	}
	for range others {
		select {
		case reply := <-replies:
			if reply != nil && good(reply) {
				return reply, true
			}
		case <-ctx.Done():
			return nil, false
		}
	}
	return nil, false
}

// others returns the other members of the newest view.
func (n *Node) others() []protocol.Instance {
	n.mu.Lock()
	defer n.mu.Unlock()
	var others []protocol.Instance
	for _, m := range n.machine.View().Members {
		if m.Instance != n.machine.Self() {
			others = append(others, m.Instance)
		}
	}
	return others
}
