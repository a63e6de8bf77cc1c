package load

import (
	"sync/atomic"
	"time"
)

// pace decides when requests are sent. Connections draw a slot of the schedule from it for each
// request. In an open loop the number of a slot determines its due time, whichever connection draws
// it.
type pace struct {
	start    time.Time
	end      time.Duration // last moment to send, on the clock of now
	interval float64       // nanoseconds between slots; 0 in a closed loop
	count    uint64        // number of slots
	drawn    atomic.Uint64
}

func (p *pace) begin(cfg *Config) {
	p.end, p.count = 1<<62, 1<<62
	if cfg.Duration > 0 {
		p.end = cfg.Duration
	}
	if cfg.Count > 0 {
		p.count = cfg.Count
	}
	if cfg.Rate > 0 {
		p.interval = float64(time.Second) / cfg.Rate
	}
	p.start = time.Now()
}

// now returns the time since the start of the run.
func (p *pace) now() time.Duration { return time.Since(p.start) }

// draw takes the next slot and returns its due time. It reports false when the run is over.
func (p *pace) draw(now time.Duration) (due time.Duration, ok bool) {
	if now >= p.end {
		return 0, false
	}
	n := p.drawn.Add(1) - 1
	due = p.due(n)
	if n >= p.count || due >= p.end {
		p.drawn.Add(^uint64(0))
		return 0, false
	}
	return due, true
}

func (p *pace) due(slot uint64) time.Duration {
	return time.Duration(float64(slot) * p.interval)
}

// since returns the moment from which a request's latency counts. In an open loop that is
// its due time if no connection was free then. Otherwise it is the moment of sending,
// because the server is not responsible for a late timer.
func (p *pace) since(due, drawn, sent time.Duration) time.Duration {
	if p.interval > 0 && drawn > due {
		return due
	}
	return sent
}

// finish counts the slots that were due but not drawn.
func (p *pace) finish(r *Result) {
	if p.interval == 0 {
		return
	}
	for n := p.drawn.Load(); n < p.count; n++ {
		due := p.due(n)
		if due >= p.end || due >= r.Elapsed {
			return
		}
		r.Unsent++
		r.Latency.Observe(min(p.end, r.Elapsed) - due)
	}
}
