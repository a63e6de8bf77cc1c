package feed

import (
	"context"
	"encoding/binary"
	"sync"
	"time"
)

// Config says how feeds are shared. What is 0 means its default.
type Config struct {
	// Ask sends a request to a node.
	Ask Ask
	// Own says that there are credentials of Kasoku's own, with which feeds are read
	// that look the same to everybody. Without them clients share a feed only with those
	// who bring the same credentials.
	Own bool
	// RingBytes is how much of its newest rows a feed holds. Default 512 KiB.
	RingBytes int
	// Groups is how many feeds are shared at a time; clients of others get one of their
	// own. Default 128.
	Groups int
	// PageRows and PageBytes bound what a client gets at once while it catches up.
	// Defaults 500 and 64 KiB.
	PageRows, PageBytes int
	// CatchUps is how many pages may be on their way at a time to clients that catch up; as
	// many more may be through filters, since a node may look for minutes for a row that
	// they let through. Default 64.
	CatchUps int
	// Linger is how long a feed without clients stays open, so that long polls find it
	// again. Default 15s.
	Linger time.Duration
	// Patience is for how long a feed that broke off may be resumed. Default 2s.
	Patience time.Duration
	// Silence is how long nothing may come from a node until a feed counts as broken
	// off. Default 10s.
	Silence time.Duration
	// Recheck is how often it is asked whether a client may still see its feed. Default
	// 3s.
	Recheck time.Duration
}

func (c Config) withDefaults() Config {
	for _, n := range []struct {
		field *int
		value int
	}{{&c.RingBytes, 512 << 10}, {&c.Groups, 128}, {&c.PageRows, 500}, {&c.PageBytes, 64 << 10}, {&c.CatchUps, 64}} {
		if *n.field == 0 {
			*n.field = n.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.Linger, 15 * time.Second}, {&c.Patience, 2 * time.Second}, {&c.Silence, 10 * time.Second}, {&c.Recheck, 3 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}

// Feeds are the shared feeds of a service.
type Feeds struct {
	cfg   Config
	slots [2]chan struct{} // one for each client that reads a page; apart if rows are left out
	ctx   context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.Mutex
	groups map[string]*group // to which clients may come
	open   map[*group]bool   // which ask a node: those, and those that only have the clients they have
	tally  Tally
}

// Tally is what feeds have done and are doing.
type Tally struct {
	Feeds, Clients int    // now
	Opened, Pages  uint64 // feeds and pages that nodes were asked for
}

// New makes feeds. Nothing is asked before there are clients.
func New(cfg Config) *Feeds {
	cfg = cfg.withDefaults()
	f := &Feeds{cfg: cfg, groups: map[string]*group{}, open: map[*group]bool{}}
	for i := range f.slots {
		f.slots[i] = make(chan struct{}, cfg.CatchUps)
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Close ends all feeds, and cuts the clients that are left.
func (f *Feeds) Close() {
	f.stop()
	f.wg.Wait()
}

// Tally counts.
func (f *Feeds) Tally() Tally {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tally
	t.Feeds = len(f.open)
	return t
}

func (f *Feeds) paged() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.Pages++
}

// join makes its caller a client of the feed from s, and returns nil if there are too
// many feeds. Each join is followed by one leave.
func (f *Feeds) join(s *source) *group {
	key := s.key()
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groups[key]
	if g == nil {
		if len(f.open) >= f.cfg.Groups || f.ctx.Err() != nil {
			return nil
		}
		g = f.make(key, *s)
	}
	g.clients++
	f.tally.Clients++
	if g.leftover != nil {
		g.leftover.Stop()
	}
	return g
}

// make opens a feed. It is called with mu held.
func (f *Feeds) make(key string, s source) *group {
	s.ask, s.silence = f.cfg.Ask, f.cfg.Silence
	s.header = s.header.Clone()
	s.body = append([]byte(nil), s.body...)
	ctx, cancel := context.WithCancel(f.ctx)
	g := &group{cfg: &f.cfg, key: key, source: s, cancel: cancel, check: make(chan struct{}, 1), flights: map[wish]*flight{}, moved: make(chan struct{})}
	g.ring.limit = f.cfg.RingBytes
	f.groups[key], f.open[g] = g, true
	f.tally.Opened++
	f.wg.Go(func() {
		defer cancel()
		p := g.run(ctx)
		f.over(g) // first: whoever sees that it is over finds no such group
		g.enter(p)
	})
	return g
}

// over takes a group off that asks nothing any more.
func (f *Feeds) over(g *group) {
	f.retire(g)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, g)
}

// retire takes a group off the table. Its clients stay with it.
func (f *Feeds) retire(g *group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.groups[g.key] == g {
		delete(f.groups, g.key)
	}
}

// leave takes a client off. The last one leaves the feed open for a while.
func (f *Feeds) leave(g *group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.Clients--
	if g.clients--; g.clients > 0 {
		return
	}
	if f.groups[g.key] != g { // nobody comes any more
		g.cancel()
		return
	}
	g.leftover = time.AfterFunc(f.cfg.Linger, func() { f.abandon(g) })
}

func (f *Feeds) abandon(g *group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g.clients == 0 {
		if f.groups[g.key] == g {
			delete(f.groups, g.key)
		}
		g.cancel()
	}
}

// key is what those have in common who share a feed.
func (s *source) key() string {
	var b []byte
	part := func(text string) {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(s.node))
	for _, text := range []string{s.db, s.shape, s.method, string(s.body)} {
		part(text)
	}
	for i := range s.header {
		part(string(s.header[i].Name))
		part(string(s.header[i].Value))
	}
	return string(b)
}
