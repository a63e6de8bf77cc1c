package balance

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// ewma is the time to a head lately, for P2C. It takes a longer time at once and a
// shorter one slowly, and forgets: a member that was slow is tried again after some
// time without requests. The zero value is ready.
type ewma struct {
	mu    sync.Mutex // leaf
	value float64    // seconds
	stamp time.Time
}

const (
	// decayTime is the time after which a value has lost about two thirds of its weight.
	decayTime = 10 * time.Second
	// minLatency is what counts as no time: below it the requests under way decide.
	minLatency = time.Millisecond
	// maxLatency bounds what failures count as.
	maxLatency = time.Minute
)

// observe takes a time in.
func (e *ewma) observe(took time.Duration, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.take(took.Seconds(), now)
}

func (e *ewma) take(v float64, now time.Time) {
	if v < e.value {
		w := e.decay(now)
		v = e.value*w + v*(1-w)
	}
	e.value, e.stamp = v, now
}

// observeFailure takes a failure in, which must not look quick: it counts as twice the time
// that is known.
func (e *ewma) observeFailure(took time.Duration, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.take(min(max(took.Seconds(), 2*e.value, 2*minLatency.Seconds()), maxLatency.Seconds()), now)
}

// decay is how much of the value is left now.
func (e *ewma) decay(now time.Time) float64 {
	return math.Exp(-max(0, now.Sub(e.stamp).Seconds()) / decayTime.Seconds())
}

// at is the time in seconds, at least quickest.
func (e *ewma) at(now time.Time) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(e.value*e.decay(now), minLatency.Seconds())
}

// quantile knows within which time most heads came lately. The zero value is ready.
type quantile struct {
	mu     sync.Mutex // leaf; guards all below
	since  time.Time  // when counts began
	counts [2][quantileBuckets]uint32
	total  [2]uint32
}

const (
	// quantileSpan is how long counts are added to before they become the older ones.
	quantileSpan = 10 * time.Second
	// Each power of two of nanoseconds has four buckets.
	quantileBuckets = 64 * 4
	quantileLeast   = 100
)

// bucket is the bucket of a duration.
func bucket(d time.Duration) int {
	n := uint64(max(d, 4))
	power := bits.Len64(n) - 1
	return power*4 + int(n>>(power-2)&3)
}

// upper is the least duration that is above a bucket.
func upper(b int) time.Duration {
	power, part := b/4, b%4
	return time.Duration(uint64(5+part) << (power - 2))
}

func (q *quantile) observe(d time.Duration, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rotate(now)
	q.counts[0][bucket(d)]++
	q.total[0]++
}

// credit makes the counts the older ones after their time. The caller holds mu.
func (q *quantile) rotate(now time.Time) {
	age := now.Sub(q.since)
	if age < quantileSpan {
		return
	}
	q.counts[1], q.total[1] = q.counts[0], q.total[0]
	if age >= 2*quantileSpan {
		q.counts[1], q.total[1] = [quantileBuckets]uint32{}, 0
	}
	q.counts[0], q.total[0] = [quantileBuckets]uint32{}, 0
	q.since = now
}

// at is a time within which the share p of the heads came, and false as long as too
// few are known.
func (q *quantile) at(p float64, now time.Time) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rotate(now)
	total := q.total[0] + q.total[1]
	if total < quantileLeast {
		return 0, false
	}
	rest := p * float64(total)
	for b := range quantileBuckets {
		if rest -= float64(q.counts[0][b] + q.counts[1][b]); rest <= 0 {
			return upper(b), true
		}
	}
	return maxLatency, true
}
