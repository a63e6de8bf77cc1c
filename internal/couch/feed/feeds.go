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
	// OwnCredentials says that there are credentials of Kasoku's own, with which feeds are read
	// that look the same to everybody. Without them clients share a feed only with those
	// who bring the same credentials.
	OwnCredentials bool
	// RingBytes is how much of its newest rows a feed holds. Default 512 KiB.
	RingBytes int
	// MaxGroups is how many feeds are shared at a time; clients of others get one of their
	// own. Default 128.
	MaxGroups int
	// PageRows and PageBytes bound what a client gets at once while it catches up.
	// Defaults 500 and 64 KiB.
	PageRows, PageBytes int
	// MaxPages is how many pages may be on their way at a time to clients that catch up; as
	// many more may be through filters, since a node may look for minutes for a row that
	// they let through. Default 64.
	MaxPages int
	// Linger is how long a feed without clients stays open, so that long polls find it
	// again. Default 15s.
	Linger time.Duration
	// ResumeTime is for how long a feed that broke off may be resumed. Default 2s.
	ResumeTime time.Duration
	// MaxSilence is how long nothing may come from a node until a feed counts as broken
	// off. Default 10s.
	MaxSilence time.Duration
	// Recheck is how often it is asked whether a client may still see its feed. Default
	// 3s.
	Recheck time.Duration
}

func (c Config) withDefaults() Config {
	for _, n := range []struct {
		field *int
		value int
	}{{&c.RingBytes, 512 << 10}, {&c.MaxGroups, 128}, {&c.PageRows, 500}, {&c.PageBytes, 64 << 10}, {&c.MaxPages, 64}} {
		if *n.field == 0 {
			*n.field = n.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.Linger, 15 * time.Second}, {&c.ResumeTime, 2 * time.Second}, {&c.MaxSilence, 10 * time.Second}, {&c.Recheck, 3 * time.Second}} {
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

	mu      sync.Mutex
	groups  map[string]*group // to which clients may come
	running map[*group]bool   // which ask a node: those, and those that only have the clients they have
	stats   Stats
}

// Stats is what feeds have done and are doing.
type Stats struct {
	Feeds, Clients int    // now
	Opened, Pages  uint64 // feeds and pages that nodes were asked for
}

// New makes feeds. Nothing is asked before there are clients.
func New(cfg Config) *Feeds {
	cfg = cfg.withDefaults()
	f := &Feeds{cfg: cfg, groups: map[string]*group{}, running: map[*group]bool{}}
	for i := range f.slots {
		f.slots[i] = make(chan struct{}, cfg.MaxPages)
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Close ends all feeds, and cuts the clients that are left.
func (f *Feeds) Close() {
	f.stop()
	f.wg.Wait()
}

// Stats counts.
func (f *Feeds) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.stats
	t.Feeds = len(f.running)
	return t
}

func (f *Feeds) countPage() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Pages++
}

// join makes its caller a client of the feed from s, and returns nil if there are too
// many feeds. Each join is followed by one leave.
func (f *Feeds) join(s *source) *group {
	key := s.key()
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groups[key]
	if g == nil {
		if len(f.running) >= f.cfg.MaxGroups || f.ctx.Err() != nil {
			return nil
		}
		g = f.open(key, *s)
	}
	g.clients++
	f.stats.Clients++
	if g.lingerTimer != nil {
		g.lingerTimer.Stop()
	}
	return g
}

// running opens a feed. It is called with mu held.
func (f *Feeds) open(key string, s source) *group {
	s.ask, s.silence = f.cfg.Ask, f.cfg.MaxSilence
	s.header = s.header.Clone()
	s.body = append([]byte(nil), s.body...)
	ctx, cancel := context.WithCancel(f.ctx)
	g := &group{cfg: &f.cfg, key: key, source: s, cancel: cancel, checking: make(chan struct{}, 1), pages: map[pageKey]*pageRead{}, moved: make(chan struct{})}
	g.ring.limit = f.cfg.RingBytes
	f.groups[key], f.running[g] = g, true
	f.stats.Opened++
	f.wg.Go(func() {
		defer cancel()
		p := g.run(ctx)
		f.remove(g) // first: whoever sees that it is over finds no such group
		g.enter(p)
	})
	return g
}

// remove takes a group off that asks nothing any more.
func (f *Feeds) remove(g *group) {
	f.retire(g)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, g)
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
	f.stats.Clients--
	if g.clients--; g.clients > 0 {
		return
	}
	if f.groups[g.key] != g { // nobody comes any more
		g.cancel()
		return
	}
	g.lingerTimer = time.AfterFunc(f.cfg.Linger, func() { f.closeUnused(g) })
}

func (f *Feeds) closeUnused(g *group) {
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
	for _, text := range []string{s.db, s.shared, s.method, string(s.body)} {
		part(text)
	}
	for i := range s.header {
		part(string(s.header[i].Name))
		part(string(s.header[i].Value))
	}
	return string(b)
}
