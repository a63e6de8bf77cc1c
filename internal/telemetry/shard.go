package telemetry

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// shardCount is a power of two, at least the number of processors at start, so that two
// processors seldom share a cache line. Above 64 the memory for each series would cost more
// than the contention.
var shardCount = func() uint32 {
	n := uint32(1)
	for n < uint32(runtime.GOMAXPROCS(0)) && n < 64 {
		n *= 2
	}
	return n
}()

// token carries a shard's index. sync.Pool keeps its items per processor, so a token taken
// from it nearly always has the shard of the current processor. It is a hint: any index is
// correct.
type token struct {
	index uint32
	_     [60]byte // keeps tokens in separate cache lines
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

// Shards returns the number of shards into which a figure that all requests write is divided.
func Shards() int { return int(shardCount) }

// Shard returns the index of a shard in [0, Shards()) that other processors are unlikely to be
// using now.
func Shard() int { return int(shard()) }
