package follow

import (
	"context"
	"log/slog"
	"time"
)

const (
	// turn is how often a database is looked after.
	turn = time.Second
	// sweeping is how many turns are between two calls of Sweep.
	sweeping = 5
	// complaining is how many turns are between two calls of Config.Behind.
	complaining = 10
	// forgone is how long a database that is on no node is followed.
	forgone = 10 * time.Second
)

// tend looks after the database until ctx ends.
func (d *Database) tend(ctx context.Context) {
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	seen := time.Now() // on any node
	c := newComparison(d)
	for turns := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-d.kick:
			c.pause = 0
		case <-ticker.C:
			turns++
			if !d.nowhere() {
				seen = time.Now()
			}
			if !d.always && (d.idle() || time.Since(seen) >= forgone) {
				d.table.let(d)
				return
			}
			d.report()
			d.rate(turns)
			c.mark()
			if turns%sweeping == 0 {
				d.sweep()
			}
		}
		d.judge()
		c.make(ctx)
		d.welcome()
	}
}

// idle tells whether nobody has asked for the database for long enough.
func (d *Database) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used.Swap(false) {
		d.since = time.Now()
	}
	return time.Since(d.since) >= d.table.cfg.Idle
}

// report tells whose feeds have broken and are there again.
func (d *Database) report() {
	for node := range d.nodes {
		if d.returned(node) {
			d.table.cfg.Returned(node)
		}
	}
}

// returned tells, once, whether node's feed is open again after it has broken.
func (d *Database) returned(node int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.nodes[node]
	if p.follower == nil {
		return false
	}
	st := p.follower.State()
	if st.Breaks != p.breaks {
		p.breaks, p.broken = st.Breaks, true
	}
	if !p.broken || st.Phase != Following && st.Phase != Polling {
		return false
	}
	p.broken = false
	return true
}

// rate finds out which nodes lag too far behind. That they still do is told from
// time to time.
func (d *Database) rate(turns int) {
	now := d.table.cfg.Cache.Now()
	var lagging uint64
	for node := range d.nodes {
		if s := d.known.Standing(node, now); s.Lag > d.table.cfg.MaxLag {
			lagging |= 1 << node
			if turns%complaining == 0 {
				d.table.cfg.Behind(d.name, node)
			}
		}
	}
	d.lagging.Store(lagging)
}

func (d *Database) sweep() {
	if n := d.known.Sweep(d.table.cfg.Cache.Now()); n > 0 {
		d.table.metrics.forsaken.Add(uint64(n))
		d.table.cfg.Log.Warn("changes have not reached every node for so long that they are not waited for any more",
			slog.String("database", d.name), slog.Int("changes", n))
	}
}

// welcome takes note of the nodes that are compared since the database was found
// there, or that nobody has to be compared with.
func (d *Database) welcome() {
	d.mu.Lock()
	defer d.mu.Unlock()
	adrift, _ := d.known.Adrift()
	for node := range d.nodes {
		if p := &d.nodes[node]; p.heard && !adrift.Has(node) {
			p.fresh = false
		}
	}
	d.settle()
}

// mostDoubts is how many changes a node is asked about at once.
const mostDoubts = 1000

// mostRest is how many turns at most a node is not asked that did not have what it
// was asked for.
const mostRest = 8

// patience bounds one request to a node.
const patience = 10 * time.Second

// doubt asks node, until ctx ends, about the changes that it should have announced.
// The longer it has none of them, the more seldom: it lags.
func (d *Database) doubt(ctx context.Context, node int) {
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for rest, next := 0, 0; ; next-- {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if next > 0 {
			continue
		}
		asked, found := d.inquire(ctx, node)
		if asked == 0 || found > 0 {
			rest = 0
		} else {
			rest = min(2*rest+1, mostRest)
		}
		next = rest
	}
}

// inquire asks node about its doubts, for as long as there are many that it dispels.
func (d *Database) inquire(ctx context.Context, node int) (asked, found int) {
	for {
		resets := d.resets(node)
		doubts := d.known.Doubts(node, d.table.cfg.Cache.Now(), mostDoubts)
		if len(doubts) == 0 {
			return asked, found
		}
		missing, err := d.missing(ctx, node, doubts)
		if err != nil {
			return asked, found
		}
		d.settled(node, resets, doubts, missing)
		asked += len(doubts)
		found += len(doubts) - len(missing)
		if len(doubts) < mostDoubts || len(missing) > mostDoubts/2 {
			return asked, found
		}
	}
}

func (d *Database) resets(node int) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node].resets
}

// settled takes the node's word on the doubts, unless its database has become
// another one since it was asked.
func (d *Database) settled(node int, resets uint64, doubts []Revision, missing map[Revision]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[node].resets != resets {
		return
	}
	now := d.table.cfg.Cache.Now()
	for _, doubt := range doubts {
		if !missing[doubt] {
			d.known.Found(node, doubt, now)
		}
	}
}
