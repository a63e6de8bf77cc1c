package couch

import (
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
)

// recentWrites records which node took the last write of each client in a database that is
// not followed, so that the client reads its own write. Clients with the same slot overwrite
// each other.
type recentWrites struct {
	slots [1 << 14]atomic.Uint64 // 40 bits of hash, 6 of node, 18 of time in seconds
}

const (
	recentNode = 6
	recentTime = 18
	recentMask = 1<<recentTime - 1
)

func (r *recentWrites) slot(hash uint64) *atomic.Uint64 { return &r.slots[hash%uint64(len(r.slots))] }

// record records a write at a time in Unix seconds.
func (r *recentWrites) record(hash uint64, node int, now int64) {
	r.slot(hash).Store(hash>>24<<24 | uint64(node)<<recentTime | uint64(now)&recentMask)
}

// node returns the node that took the last write, if that was less than d ago.
func (r *recentWrites) node(hash uint64, now int64, d time.Duration) (node int, ok bool) {
	p := r.slot(hash).Load()
	age := (uint64(now) - p) & recentMask
	if p == 0 || p>>24 != hash>>24 || time.Duration(age)*time.Second > d {
		return 0, false
	}
	return int(p >> recentTime & (1<<recentNode - 1)), true
}

func hashOf(parts ...[]byte) uint64 {
	h := xxhash.New()
	for _, part := range parts {
		h.Write(part)
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// copyFrom copies the writes of old. nodes are the new indexes of old's nodes; -1 for
// removed ones.
func (r *recentWrites) copyFrom(old *recentWrites, nodes []int) {
	const mask = 1<<recentNode - 1
	for i := range old.slots {
		p := old.slots[i].Load()
		if node := int(p >> recentTime & mask); p != 0 && node < len(nodes) && nodes[node] >= 0 {
			r.slots[i].Store(p&^(mask<<recentTime) | uint64(nodes[node])<<recentTime)
		}
	}
}
