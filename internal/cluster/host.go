package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"time"
	"unsafe"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// The methods of protocol.Host. They are called with mu held.

// Send implements protocol.Host.
func (n *Node) Send(to protocol.Instance, m *protocol.Message) {
	n.out.add(n.machine.Self(), to, m)
}

// ReadView implements protocol.Host.
func (n *Node) ReadView() {
	id := n.trace.asks()
	go func() {
		ctx, cancel := context.WithTimeout(n.ctx, viewTimeout)
		defer cancel()
		v, err := n.cfg.Store.Read(ctx)
		n.trace.reads(id, &v, err)
		if err != nil && n.ctx.Err() == nil {
			n.log.Warn("the members of the cluster can't be read", slog.Any("error", err))
		}
		n.do(func(now protocol.Time) { n.machine.Viewed(now, v, err) })
	}()
}

// WriteView implements protocol.Host.
func (n *Node) WriteView(v protocol.View) {
	id := n.trace.writes(n.machine.Self(), &v)
	go func() {
		ctx, cancel := context.WithTimeout(n.ctx, viewTimeout)
		defer cancel()
		err := n.cfg.Store.Write(ctx, v.Rev-1, v)
		n.trace.wrote(id, err)
		n.do(func(now protocol.Time) { n.machine.Wrote(now, err) })
	}()
}

// tagsOf returns protocol tags as tags of the cache, without copying them.
func tagsOf(tags []uint64) []cache.Tag {
	return unsafe.Slice((*cache.Tag)(unsafe.SliceData(tags)), len(tags))
}

// numbersOf returns tags of the cache as protocol tags, without copying them.
func numbersOf(tags []cache.Tag) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.SliceData(tags)), len(tags))
}

// Fence implements protocol.Host.
func (n *Node) Fence(owner protocol.Instance, seq uint64, tags []uint64) {
	k := holdKey{owner, seq}
	if h := n.holds[k]; h != nil {
		h.Extend(tagsOf(tags))
		return
	}
	n.holds[k] = n.cache.Hold(tagsOf(tags))
}

// Release implements protocol.Host.
func (n *Node) Release(owner protocol.Instance, seq uint64) {
	k := holdKey{owner, seq}
	if h := n.holds[k]; h != nil {
		delete(n.holds, k)
		h.Release()
	}
}

// ReleaseIn implements protocol.Host.
func (n *Node) ReleaseIn(owner protocol.Instance, seq uint64, d protocol.Time) {
	k := holdKey{owner, seq}
	if h := n.holds[k]; h != nil {
		delete(n.holds, k)
		h.Quarantine(time.Duration(d))
	}
}

// Quarantine implements protocol.Host.
func (n *Node) Quarantine(tags []uint64, d protocol.Time) {
	n.cache.Quarantine(time.Duration(d), tagsOf(tags)...)
}

// Apply implements protocol.Host.
func (n *Node) Apply(owner protocol.Instance, seq uint64, payload []byte) {
	go func() {
		n.cache.Receive(payload)
		n.do(func(protocol.Time) { n.machine.Applied(owner, seq) })
	}()
}

// Lease implements protocol.Host.
func (n *Node) Lease(until protocol.Time) {
	n.cache.SetLease(int64(until))
	if until > 0 && !n.hasServed {
		n.hasServed = true
		close(n.served)
	}
}

// Empty implements protocol.Host.
func (n *Node) Empty() { n.cache.Empty() }

// Cold implements protocol.Host.
func (n *Node) Cold(until protocol.Time) { n.cache.ColdUntil(int64(until)) }

// Settle implements protocol.Host.
func (n *Node) Settle(until protocol.Time) { n.cache.SettleUntil(int64(until)) }

// Instance implements protocol.Host.
func (n *Node) Instance() protocol.Instance {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	i := protocol.Instance(binary.LittleEndian.Uint64(b[:])>>1 | 1)
	n.self.Store(uint64(i))
	n.trace.joins(i)
	if err := n.cfg.Transport.Listen(uint64(i), n.receive, n.answer); err != nil {
		n.log.Error("messages of other nodes can't be received", slog.Any("error", err))
	}
	return i
}

// Wall implements protocol.Host.
func (n *Node) Wall() int64 { return time.Now().UnixMilli() }

// Changed implements protocol.Host.
func (n *Node) Changed() {
	n.logState()
	n.membersChanged()
	n.warmJoined()
	if n.machine.Mode() == protocol.Left && !n.hasLeft {
		n.hasLeft = true
		close(n.left)
	}
	n.Wake()
}

// Wake implements protocol.Host.
func (n *Node) Wake() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}
