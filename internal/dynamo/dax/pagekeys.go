package dax

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// pageKeys keeps the cache keys of queries and scans that were served from the cache, by the bytes
// of their requests. A repeated request is then not translated and parsed again.
type pageKeys struct {
	seed  maphash.Seed
	taken atomic.Uint32 // number of times that another request had the slot
	slots [1 << pageKeyBits]atomic.Pointer[pageRequest]
}

const (
	pageKeyBits = 12
	// maxPageKey is the size up to which a request and its key are kept, in bytes.
	maxPageKey = 1 << 10
	// replacePageKey is the number of times that a request has to find its slot taken before one
	// replaces another. Requests that share a slot thus rarely allocate.
	replacePageKey = 64
)

// pageRequest is a request that was served from the cache.
type pageRequest struct {
	pageVersion
	key accel.PageKey
}

// pageVersion is all that the meaning of a request depends on beside its table.
type pageVersion struct {
	op      *wire.Operation
	goV2    bool   // whether Select is that of version 2 of the Go client
	request []byte // the arguments after the table's name
}

func (v *pageVersion) equal(other *pageVersion) bool {
	return v.op == other.op && v.goV2 == other.goV2 && bytes.Equal(v.request, other.request)
}

func newPageKeys() *pageKeys { return &pageKeys{seed: maphash.MakeSeed()} }

func (p *pageKeys) slot(v *pageVersion) *atomic.Pointer[pageRequest] {
	return &p.slots[maphash.Bytes(p.seed, v.request)>>(64-pageKeyBits)]
}

// find returns the key of a request, or nil.
func (p *pageKeys) find(v *pageVersion) *accel.PageKey {
	if r := p.slot(v).Load(); r != nil && r.equal(v) {
		return &r.key
	}
	return nil
}

// add keeps the key of a request that was served as h, unless another request has its slot. body is
// the translated request.
func (p *pageKeys) add(v *pageVersion, h *accel.PageHit, body []byte) {
	slot := p.slot(v)
	if r := slot.Load(); r != nil && !r.equal(v) && p.taken.Add(1)%replacePageKey != 0 {
		return
	}
	if h.KeySize(body)+len(v.request) > maxPageKey {
		return
	}
	r := &pageRequest{*v, h.Key(body)}
	r.request = bytes.Clone(v.request)
	slot.Store(r)
}
