package cluster

import (
	"runtime"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// maxFrame is the size from which a frame takes no further message.
const maxFrame = 256 << 10

// linger is how long a frame waits that has no urgent message. The end of a write is not
// urgent: until a member receives it, it only stores nothing under the write's tags.
const linger = time.Millisecond

// outbox collects messages and sends them from one goroutine. Other goroutines that are ready
// to run add theirs before it sends: so the messages of concurrent writes share frames, and
// their acknowledgements do.
type outbox struct {
	transport Transport
	wake      chan struct{} // an urgent message was added
	soon      chan struct{} // another one was

	mu    sync.Mutex
	queue []*frame                     // in the order of their first messages
	open  map[protocol.Instance]*frame // by receiver; those in queue that take messages
	spare []*frame
}

// frame is a sequence of messages to one receiver, or to all.
type frame struct {
	from  protocol.Instance // this node, which may join again under another number meanwhile
	to    protocol.Instance
	bytes []byte
}

func newOutbox(t Transport) *outbox {
	return &outbox{
		transport: t, wake: make(chan struct{}, 1), soon: make(chan struct{}, 1),
		open: make(map[protocol.Instance]*frame),
	}
}

// add adds a message.
func (o *outbox) add(from, to protocol.Instance, m *protocol.Message) {
	o.mu.Lock()
	f := o.open[to]
	if f == nil || f.from != from || len(f.bytes) >= maxFrame {
		f = o.newFrame(from, to)
	}
	f.bytes = protocol.AppendMessage(f.bytes, m)
	o.mu.Unlock()
	signal := o.wake
	if m.Kind == protocol.Val {
		signal = o.soon
	}
	select {
	case signal <- struct{}{}:
	default:
	}
}

// newFrame adds an empty frame to the queue. The caller holds mu.
func (o *outbox) newFrame(from, to protocol.Instance) *frame {
	f := &frame{}
	if last := len(o.spare) - 1; last >= 0 {
		f, o.spare = o.spare[last], o.spare[:last]
	}
	f.from, f.to, f.bytes = from, to, protocol.AppendHeader(f.bytes[:0], from)
	o.open[to] = f
	o.queue = append(o.queue, f)
	return f
}

// run sends what is added until done is closed, and then what is left.
func (o *outbox) run(done <-chan struct{}) {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for {
		select {
		case <-o.wake:
		case <-o.soon:
			timer.Reset(linger)
			select {
			case <-o.wake:
			case <-timer.C:
			case <-done:
			}
		case <-done:
			o.send()
			return
		}
		runtime.Gosched()
		o.send()
	}
}

// send sends all frames.
func (o *outbox) send() {
	for f := o.take(); f != nil; f = o.take() {
		// A frame that is lost is repeated by the protocol.
		if f.to == 0 {
			_ = o.transport.Broadcast(f.bytes)
		} else {
			_ = o.transport.Send(uint64(f.to), f.bytes)
		}
		o.reuse(f)
	}
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
