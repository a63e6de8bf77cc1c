package history

import (
	"context"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Step is the length of the intervals of the last hour, and DayStep that of the last day.
const (
	Step    = 10 * time.Second
	DayStep = 5 * time.Minute
)

// Hour and Day are the times that intervals are kept for.
const (
	Hour = time.Hour
	Day  = 24 * time.Hour
)

// History has the figures of services. Create one with New; all methods are safe for concurrent
// use.
type History struct {
	collect func() []Totals

	mu       sync.Mutex // held while collect runs
	at       time.Time  // of the newest totals
	services map[string]*service
}

// service has the rings of one service: 160 KB at most.
type service struct {
	base      Totals // at the end of the newest interval
	hour, day ring
	open      interval // part of the next interval of day
}

// New returns a history that begins now, with all totals at zero. collect returns the totals of all
// services; the history holds its lock meanwhile.
func New(collect func() []Totals) *History {
	return &History{collect: collect, at: time.Now(), services: map[string]*service{}}
}

// Run adds an interval at each step, until ctx ends.
func (h *History) Run(ctx context.Context) {
	t := time.NewTicker(Step)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			h.step()
		case <-ctx.Done():
			return
		}
	}
}

// step adds an interval for each service, and drops services that were removed.
func (h *History) step() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, next := time.Now(), map[string]*service{}
	for _, t := range h.collect() {
		s := h.services[t.Service]
		if s == nil {
			s = newService()
		}
		s.add(interval{now, now.Sub(h.at), since(&s.base, &t)})
		s.base = t
		next[t.Service] = s
	}
	h.at, h.services = now, next
}

func newService() *service {
	return &service{hour: newRing(int(Hour / Step)), day: newRing(int(Day / DayStep))}
}

// add adds an interval to both rings.
func (s *service) add(i interval) {
	s.hour.push(i)
	if s.open.add(&i); s.open.takes >= DayStep {
		s.day.push(s.open)
		s.open = interval{}
	}
}

// Since returns the figures of a service over Hour or Day, the oldest first; the last point ends
// now. It returns false if there is no such service.
func (h *History) Since(name string, span time.Duration) (Span, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.collect() {
		if t.Service != name {
			continue
		}
		s := h.services[name]
		if s == nil {
			s = newService()
		}
		now := time.Now()
		last, begin := interval{now, now.Sub(h.at), since(&s.base, &t)}, now.Add(-span)
		all := s.hour.after(begin)
		if span > Hour {
			all = s.day.after(begin)
			open := s.open
			open.add(&last)
			last = open
		}
		return newSpan(append(all, last)), true
	}
	return Span{}, false
}

// Point is the figures of an interval.
type Point struct {
	Time    time.Time `json:"time"` // its end
	Seconds float64   `json:"seconds"`
	Requests
	HitRatio *float64 `json:"hit_ratio"` // null without reads
	// Latency has the number of requests in each of [telemetry.Buckets], and Origin that of the
	// ones that waited for the origin by how long; the last number has no bound. They are left out
	// if there are none.
	Latency []uint32 `json:"latency,omitempty"`
	Origin  []uint32 `json:"origin_latency,omitempty"`
}

// Span is the figures of a time, as a whole and in parts.
type Span struct {
	Total           Point
	Points          []Point
	Latency, Origin telemetry.Snapshot // of the whole, without sums
}

func newSpan(all []interval) Span {
	whole := merged(all)
	s := Span{Total: whole.point(), Latency: snapshot(&whole.latency), Origin: snapshot(&whole.origin)}
	for i := range all {
		s.Points = append(s.Points, all[i].point())
	}
	return s
}

func snapshot(counts *[buckets]uint32) (s telemetry.Snapshot) {
	for i, n := range counts {
		s.Counts[i] = uint64(n)
		s.Count += uint64(n)
	}
	return s
}

func (i *interval) point() Point {
	p := Point{Time: i.end.UTC(), Seconds: i.takes.Seconds(), Latency: counts(&i.latency), Origin: counts(&i.origin)}
	for c := range classes {
		*p.class(c) = uint64(i.requests[c])
	}
	p.Errors = uint64(i.errors)
	if ratio, ok := HitRatio(p.Hits, p.Misses); ok {
		p.HitRatio = &ratio
	}
	return p
}

// counts returns the numbers of a histogram; nil if it is empty.
func counts(all *[buckets]uint32) []uint32 {
	if *all == ([buckets]uint32{}) {
		return nil
	}
	list := *all
	return list[:]
}
