package feed

import (
	"cmp"
	"context"
	"encoding/binary"
	"sync"
	"time"
)

// Config is the configuration of Feeds. Zero values mean the defaults.
type Config struct {
	// Ask sends a request to a node.
	Ask Ask
	// OwnCredentials is true if Kasoku has its own credentials, which it uses for feeds that
	// don't depend on the user. Otherwise only clients with the same credentials share a
	// feed.
	OwnCredentials bool
	// RingBytes is the size of a feed's ring of newest rows. Default 512 KiB.
	RingBytes int
	// MaxGroups is the maximum number of shared feeds; clients of further feeds are not
	// shared. Default 128.
	MaxGroups int
	// PageRows and PageBytes limit a page for a client that catches up. Defaults 500 and 64
	// KiB.
	PageRows, PageBytes int
	// MaxPages is the maximum number of pages requested at a time, with a separate limit of
	// the same size for filtered feeds, since a node may search for minutes for a matching
	// row. Default 64.
	MaxPages int
	// Linger is how long a feed without clients is kept open for the next long poll. Default
	// 15s.
	Linger time.Duration
	// ResumeTime is how long a feed that broke off may be resumed. Default 2s.
	ResumeTime time.Duration
	// MaxSilence is how long a node may be silent before its feed counts as broken. Default
	// 10s.
	MaxSilence time.Duration
	// Recheck is the interval at which a client's permission is checked. Default 3s.
	Recheck time.Duration
}

func (c Config) withDefaults() Config {
	c.RingBytes = cmp.Or(c.RingBytes, 512<<10)
	c.MaxGroups = cmp.Or(c.MaxGroups, 128)
	c.PageRows = cmp.Or(c.PageRows, 500)
	c.PageBytes = cmp.Or(c.PageBytes, 64<<10)
	c.MaxPages = cmp.Or(c.MaxPages, 64)
	c.Linger = cmp.Or(c.Linger, 15*time.Second)
	c.ResumeTime = cmp.Or(c.ResumeTime, 2*time.Second)
	c.MaxSilence = cmp.Or(c.MaxSilence, 10*time.Second)
	c.Recheck = cmp.Or(c.Recheck, 3*time.Second)
	return c
}

// Feeds are the shared feeds of a service.
type Feeds struct {
	cfg   Config
	slots [2]chan struct{} // a slot per page request; the second is for filtered feeds
	ctx   context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu      sync.Mutex
	groups  map[string]*group // the groups that clients may join, by source.key
	running map[*group]bool   // all groups with a feed on a node, including retired ones
	stats   Stats
}

// Stats are numbers of feeds, clients and requests.
type Stats struct {
	Feeds, Clients int    // at present
	Opened, Pages  uint64 // feeds and pages requested so far
}

// New returns Feeds. It sends no request until there are clients.
func New(cfg Config) *Feeds {
	cfg = cfg.withDefaults()
	f := &Feeds{cfg: cfg, groups: map[string]*group{}, running: map[*group]bool{}}
	for i := range f.slots {
		f.slots[i] = make(chan struct{}, cfg.MaxPages)
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Close ends all feeds and cuts the remaining clients.
func (f *Feeds) Close() {
	f.stop()
	f.wg.Wait()
}

// Stats returns the present numbers.
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

// join adds a client to the group of s, and returns the group, or nil if there are too many
// feeds. Each join is followed by one leave.
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

// open opens a feed. f.mu is held.
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
		f.remove(g) // first, so that a client that sees the end finds no such group
		g.enter(p)
	})
	return g
}

// remove removes a group whose feed is closed.
func (f *Feeds) remove(g *group) {
	f.retire(g)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, g)
}

// retire keeps further clients from joining a group. Its clients remain.
func (f *Feeds) retire(g *group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.groups[g.key] == g {
		delete(f.groups, g.key)
	}
}

// leave removes a client. After the last one the feed remains open for a while.
func (f *Feeds) leave(g *group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Clients--
	if g.clients--; g.clients > 0 {
		return
	}
	if f.groups[g.key] != g { // no further client can join
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

// key returns the key of s in Feeds.groups.
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
