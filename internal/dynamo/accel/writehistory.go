package accel

import (
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
)

const (
	// maxPastWrites is the number of tags of the latest writes that are recorded.
	maxPastWrites = 4096
	// maxViolatingWrites is the number of writes in the description of a violation.
	maxViolatingWrites = 10
)

// writeHistory has the latest writes through this process, for the descriptions of violations. It is
// recorded only while hits are compared.
type writeHistory struct {
	mu   sync.Mutex // leaf
	ring [maxPastWrites]pastWrite
	n    int // number ever recorded
}

// pastWrite is one of the tags of a write.
type pastWrite struct {
	tag       cache.Tag
	at        int64 // on the cache's clock
	operation string
	request   string // its ID
}

// noteWrite records the write of a call, if hits are compared.
func (v *verifier) noteWrite(c *call, tags []cache.Tag) {
	h := v.writes.Load()
	if h == nil {
		return
	}
	w := pastWrite{at: v.svc.cache.Now(), operation: c.op.Name, request: string(c.x.Record.RequestID)}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w.tag = range tags {
		h.ring[h.n%maxPastWrites] = w
		h.n++
	}
}

// writesOf returns the latest writes that invalidate entries with the fence f. at converts times of
// the cache's clock.
func (v *verifier) writesOf(f *cache.Fence, at func(int64) time.Time) []admin.ViolatingWrite {
	list := []admin.ViolatingWrite{}
	h := v.writes.Load()
	if h == nil {
		return list
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := h.n - 1; i >= max(0, h.n-maxPastWrites) && len(list) < maxViolatingWrites; i-- {
		if w := &h.ring[i%maxPastWrites]; v.svc.cache.DependsOn(f, w.tag) {
			list = append(list, admin.ViolatingWrite{Time: at(w.at), Operation: w.operation, RequestID: w.request})
		}
	}
	slices.Reverse(list)
	return slices.CompactFunc(list, func(a, b admin.ViolatingWrite) bool { return a.RequestID != "" && a.RequestID == b.RequestID })
}
