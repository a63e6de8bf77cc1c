//go:build kasokutrace

package cluster

import "github.com/kasoku/kasoku/internal/cluster/protocol"

// trace logs that a write is sent. It returns true.
func (r *round) trace() bool {
	r.node.do(func(protocol.Time) { r.node.machine.TraceSend(r.seq) })
	return true
}
