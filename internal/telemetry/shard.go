package telemetry

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// shardCount is a power of two, at least the number of processors at start, so
// that two processors seldom share a cache line. Above 64 the memory for each
// series would cost more than the contention does.
var shardCount = func() uint32 {
	n := uint32(1)
	for n < uint32(runtime.GOMAXPROCS(0)) && n < 64 {
		n *= 2
	}
	return n
}()

// A token carries a shard's index. sync.Pool keeps its items per processor, so
// that taking a token and putting it back gives, nearly always, the shard of
// the processor that we run on. It is a hint: any index is correct.
type token struct {
	index uint32
	_     [60]byte // tokens must not share a line either
}

var (
	nextToken atomic.Uint32
	tokens    = sync.Pool{New: func() any {
		return &token{index: nextToken.Add(1) & (shardCount - 1)}
	}}
)

// shard returns the index of a shard in [0, shardCount) that other processors
// are unlikely to be using now.
func shard() uint32 {
	t := tokens.Get().(*token)
	i := t.index
	tokens.Put(t)
	return i
}
