package cluster

import (
	"sync"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// maxFrame is the size from which a frame takes no further message.
const maxFrame = 256 << 10

// outbox collects messages. While one goroutine sends, all others only add to it: so the
// messages of concurrent writes share frames, and their acknowledgements do.
type outbox struct {
	transport Transport
	sending   sync.Mutex // held while frames are sent; acquired before mu

	mu    sync.Mutex
	queue []*frame                     // in the order of their first messages
	open  map[protocol.Instance]*frame // by receiver; those in queue that take messages
	spare []*frame
}

// frame is a sequence of messages to one receiver, or to all.
type frame struct {
	to    protocol.Instance
	bytes []byte
}

// add adds a message.
func (o *outbox) add(from, to protocol.Instance, m *protocol.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.open[to]
	if f == nil || len(f.bytes) >= maxFrame {
		f = o.newFrame(from, to)
	}
	f.bytes = protocol.AppendMessage(f.bytes, m)
}

// newFrame adds an empty frame to the queue.
func (o *outbox) newFrame(from, to protocol.Instance) *frame {
	f := &frame{}
	if last := len(o.spare) - 1; last >= 0 {
		f, o.spare = o.spare[last], o.spare[:last]
	}
	f.to, f.bytes = to, protocol.AppendHeader(f.bytes[:0], from)
	if o.open == nil {
		o.open = make(map[protocol.Instance]*frame)
	}
	o.open[to] = f
	o.queue = append(o.queue, f)
	return f
}

// flush sends everything that was added before the call, unless another goroutine is sending
// and will.
func (o *outbox) flush() {
	for o.pending() && o.sending.TryLock() {
		for f := o.take(); f != nil; f = o.take() {
			// A frame that is lost is repeated by the protocol.
			if f.to == 0 {
				_ = o.transport.Broadcast(f.bytes)
			} else {
				_ = o.transport.Send(uint64(f.to), f.bytes)
			}
			o.reuse(f)
		}
		o.sending.Unlock()
	}
}

// pending reports whether there is a frame to send. It is checked again after sending is
// unlocked: a frame may have been added after the last take.
func (o *outbox) pending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue) > 0
}

// take removes the oldest frame.
func (o *outbox) take() *frame {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		return nil
	}
	f := o.queue[0]
	o.queue = o.queue[1:]
	if len(o.queue) == 0 {
		o.queue = nil
	}
	if o.open[f.to] == f {
		delete(o.open, f.to)
	}
	return f
}

// maxSpare is the number of frames that are kept for reuse.
const maxSpare = 16

func (o *outbox) reuse(f *frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.spare) < maxSpare && cap(f.bytes) <= 2*maxFrame {
		o.spare = append(o.spare, f)
	}
}
