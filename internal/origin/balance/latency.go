package balance

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// ewma is a moving average of the time to a head, for P2C. It follows an increase at once
// and a decrease slowly, and decays: a member that was slow is tried again after some time
// without requests. The zero value is ready to use.
type ewma struct {
	mu    sync.Mutex // leaf
	value float64    // seconds
	stamp time.Time
}

const (
	// decayTime is the time after which a value has lost about two thirds of its weight.
	decayTime = 10 * time.Second
	// minLatency is the lower bound of latencies: below it only the exchanges in flight
	// count.
	minLatency = time.Millisecond
	// maxLatency bounds the latency assumed for failures.
	maxLatency = time.Minute
)

// observe adds a measured time.
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

// observeFailure adds a failure as twice the current value, so that fast failures don't look
// attractive.
func (e *ewma) observeFailure(took time.Duration, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.take(min(max(took.Seconds(), 2*e.value, 2*minLatency.Seconds()), maxLatency.Seconds()), now)
}

// decay returns the factor by which the value has decayed until now.
func (e *ewma) decay(now time.Time) float64 {
	return math.Exp(-max(0, now.Sub(e.stamp).Seconds()) / decayTime.Seconds())
}

// at returns the value in seconds, at least minLatency.
func (e *ewma) at(now time.Time) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(e.value*e.decay(now), minLatency.Seconds())
}

// quantile estimates quantiles of the time to a head over the last seconds. The zero value
// is ready to use.
type quantile struct {
	mu     sync.Mutex // leaf; guards all fields below
	since  time.Time  // start of counts
	counts [2][quantileBuckets]uint32
	total  [2]uint32
}

const (
	// quantileSpan is the time after which the current counts become the older ones.
	quantileSpan = 10 * time.Second
	// Each power of two of nanoseconds has four buckets.
	quantileBuckets = 64 * 4
	quantileLeast   = 100
)

func bucket(d time.Duration) int {
	n := uint64(max(d, 4))
	power := bits.Len64(n) - 1
	return power*4 + int(n>>(power-2)&3)
}

// upper returns the exclusive upper bound of a bucket.
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

// rotate makes the counts the older ones after quantileSpan. The caller holds mu.
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

// at returns the quantile p, and false if there are too few measurements.
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
