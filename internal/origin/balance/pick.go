package balance

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// pick returns a member that has not been tried, or -1.
func (r *request) pick(now time.Time) int {
	var space [8]int
	cands, panics := r.candidates(space[:0], now)
	if len(cands) == 0 {
		return -1
	}
	if panics {
		r.g.metrics.panics.Inc()
	}
	for _, i := range r.choice.Prefer {
		if slices.Contains(cands, i) {
			return i
		}
	}
	if len(cands) == 1 {
		return cands[0]
	}
	return r.choose(cands, now)
}

// candidates appends the members that may be tried now. panics is true if they are unhealthy
// and used nevertheless: because no member is healthy, or because all healthy ones were
// unreachable and an excluded one may have recovered.
func (r *request) candidates(dst []int, now time.Time) (cands []int, panics bool) {
	well := 0
	for i, m := range r.t.members {
		if !r.allows(i) || !m.available(now) {
			continue
		}
		well++
		if !slices.Contains(r.tried, i) {
			dst = append(dst, i)
		}
	}
	if len(dst) > 0 || well > 0 && (r.attempts == 0 || r.in != nil) {
		return dst, false
	}
	for i, m := range r.t.members {
		if r.allows(i) && !m.drained.Load() && !slices.Contains(r.tried, i) {
			dst = append(dst, i)
		}
	}
	return dst, true
}

func (r *request) allows(i int) bool { return r.choice.Allow == nil || r.choice.Allow(i) }

// weight returns a member's current weight, reduced during its slow start.
func (r *request) weight(i int, now time.Time) float64 {
	w, slow := r.t.shares[i].weight, r.t.cfg.SlowStart
	since := r.t.members[i].since.Load()
	if slow <= 0 || since == 0 {
		return w
	}
	if age := time.Duration(now.UnixNano() - since); age < slow {
		return w * max(0.1, float64(age)/float64(slow))
	}
	return w
}

// choose chooses one of at least two candidates.
func (r *request) choose(cands []int, now time.Time) int {
	switch r.t.cfg.Algorithm {
	case LeastRequests:
		return r.leastRequests(cands, now)
	case P2C:
		return r.powerOfTwo(cands, now)
	case ConsistentHash:
		return r.consistentHash(cands, now)
	}
	return r.roundRobin(cands, now)
}

// roundRobin is smooth weighted round robin: each candidate is credited its weight, the
// highest credit wins and is charged the total. Credits are bounded, so that a member that
// was absent does not receive all requests for long when it returns.
func (r *request) roundRobin(cands []int, now time.Time) int {
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	total := 0.0
	for _, i := range cands {
		total += r.weight(i, now)
	}
	best := -1
	for _, i := range cands {
		s := &r.t.shares[i]
		s.credit = min(max(s.credit, -total), total) + r.weight(i, now)
		if best < 0 || s.credit > r.t.shares[best].credit {
			best = i
		}
	}
	r.t.shares[best].credit -= total
	return best
}

// leastRequests chooses the fewest exchanges in flight for the weight, at random among
// equals.
func (r *request) leastRequests(cands []int, now time.Time) int {
	best, low, equal := -1, math.Inf(1), 0
	for _, i := range cands {
		load := float64(r.t.members[i].inflight.Load()+1) / r.weight(i, now)
		switch {
		case load < low:
			best, low, equal = i, load, 1
		case load == low:
			if equal++; rand.IntN(equal) == 0 {
				best = i
			}
		}
	}
	return best
}

// powerOfTwo draws two candidates by weight and chooses the one with the lower expected
// time: recent latency times exchanges in flight. A difference of less than a tenth is
// ignored.
func (r *request) powerOfTwo(cands []int, now time.Time) int {
	a := r.draw(rand.Float64(), cands, -1, now)
	b := r.draw(rand.Float64(), cands, a, now)
	if r.expectedTime(b, now)*1.1 < r.expectedTime(a, now) {
		return b
	}
	return a
}

// draw returns one of the candidates except not, by weight: at is in [0, 1).
func (r *request) draw(at float64, cands []int, not int, now time.Time) int {
	total := 0.0
	for _, i := range cands {
		if i != not {
			total += r.weight(i, now)
		}
	}
	at *= total
	last := -1
	for _, i := range cands {
		if i == not {
			continue
		}
		last = i
		if at -= r.weight(i, now); at < 0 {
			break
		}
	}
	return last
}

func (r *request) expectedTime(i int, now time.Time) float64 {
	m := r.t.members[i]
	return m.latency.at(now) * float64(m.inflight.Load()+1)
}

// consistentHash chooses the candidate with the highest score, which depends on the key, the
// member's name and its weight alone (weighted rendezvous hashing). When a member is added
// or removed, only its own keys move, and they are spread over the others by weight.
func (r *request) consistentHash(cands []int, now time.Time) int {
	if len(r.choice.Key) == 0 {
		return r.roundRobin(cands, now)
	}
	key := hash(r.choice.Key)
	best, high := -1, math.Inf(-1)
	for _, i := range cands {
		if s := score(key, r.t.members[i].hash, r.weight(i, now)); s > high {
			best, high = i, s
		}
	}
	return best
}

// score returns a random-looking score such that each member has the highest one with a
// probability proportional to its weight.
func score(key, member uint64, weight float64) float64 {
	u := (float64(mix(key^member)>>11) + 0.5) / (1 << 53) // in (0, 1)
	return -weight / math.Log(u)
}

// mix spreads the bits of x (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash is FNV-1a, so that all processes map a key to the same member.
func hash[T string | []byte](b T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(b) {
		h = (h ^ uint64(b[i])) * 1099511628211
	}
	return mix(h)
}
