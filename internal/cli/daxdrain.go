package cli

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/kasoku/kasoku/internal/cluster"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// drainKind is the kind of requests among nodes that announce the end of a listener for DAX
// clients: the instance of the node in 8 bytes, and the name of the service. The reply is one
// byte.
const drainKind = "dax-drain"

// daxDrains are the listeners for DAX clients that have ended or will soon. Their nodes are
// still members.
type daxDrains struct {
	mu      sync.Mutex
	ended   map[daxEnd]bool
	own     map[string]bool // services of this node
	changes uint64
}

// daxEnd is a listener of another node.
type daxEnd struct {
	node    protocol.Instance
	service string
}

// add adds a listener of another node, and drops the ones of former members.
func (d *daxDrains) add(e daxEnd, view *protocol.View) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for old := range d.ended {
		if view.Find(old.node) == nil {
			delete(d.ended, old)
		}
	}
	if view.Find(e.node) == nil {
		return
	}
	if d.ended == nil {
		d.ended = map[daxEnd]bool{}
	}
	d.ended[e] = true
	d.changes++
}

// addOwn adds a listener of this node.
func (d *daxDrains) addOwn(service string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.own == nil {
		d.own = map[string]bool{}
	}
	d.own[service] = true
	d.changes++
}

// has reports whether a listener of another node has ended.
func (d *daxDrains) has(e daxEnd) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended[e]
}

// hasOwn reports whether the listener that this node had at its start has ended.
func (d *daxDrains) hasOwn(service string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.own[service]
}

// version changes with each listener that is added.
func (d *daxDrains) version() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes
}

// announce informs the other nodes that this one's listener for a service ends, so that they
// omit it from the list of nodes: clients that fetch the list from them move to others. A node
// that is not reached lists it until this one has left the cluster.
func (d *daxDrains) announce(ctx context.Context, node *cluster.Node, service string) {
	d.addOwn(service)
	request := append(binary.BigEndian.AppendUint64(nil, uint64(node.Membership().Self)), service...)
	node.AskAll(ctx, drainKind, request, func([]byte) bool { return false }) // waits for all
}

// answerDrain answers an announcement.
func (c *clusterNode) answerDrain(_ context.Context, request []byte) []byte {
	if len(request) < 8 {
		return nil
	}
	view := c.Membership().View
	c.drains.add(daxEnd{protocol.Instance(binary.BigEndian.Uint64(request)), string(request[8:])}, &view)
	return []byte{1}
}

// leaveDAX is endDAX for a listener that other nodes list.
func (n *Node) leaveDAX(ctx context.Context, service string, front *daxListener) error {
	if front != nil && n.member != nil {
		n.member.drains.announce(ctx, n.member.Node, service)
	}
	return n.endDAX(ctx, front)
}
