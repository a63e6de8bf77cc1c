package accel

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/streams"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/pause"
)

// feeds are the feeds of a service, one for each table whose stream is followed.
type feeds struct {
	svc       *Service
	describes *streams.Limiter
	ctx       context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu      sync.Mutex // acquired after tables.mu
	byTable map[string]*feed
	warned  map[string]bool       // tables without a stream that should have one
	probes  map[string]*feedProbe // by table
}

func newFeeds(s *Service) *feeds {
	ctx, cancel := context.WithCancel(context.Background())
	return &feeds{svc: s, describes: streams.NewLimiter(), ctx: ctx, cancel: cancel, byTable: make(map[string]*feed), warned: make(map[string]bool), probes: make(map[string]*feedProbe)}
}

// close stops all feeds.
func (fs *feeds) close() {
	fs.cancel()
	fs.running.Wait()
}

// attach returns the feed of a table as it is described now, and starts it if it isn't running. It
// returns nil if the table's stream isn't followed.
func (fs *feeds) attach(t *table) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.ctx.Err() != nil {
		return nil
	}
	f := fs.byTable[t.name]
	if !t.known || !t.rule.caches() || !t.rule.streams.follows(t.streamView) {
		fs.remove(t.name)
		delete(fs.probes, t.name)
		fs.enable(t)
		return nil
	}
	id := feedID{t.tags.origin, t.name, t.stream, t.streamView, t.rule.maxLag}
	if f == nil || f.feedID != id {
		fs.remove(t.name)
		if t.rule.streams == StreamsAuto && !fs.readable(t) {
			return nil
		}
		f = fs.svc.newFeed(id)
		fs.byTable[t.name] = f
	}
	if !f.running {
		fs.start(f)
	}
	return f
}

// start runs a feed. mu must be held.
func (fs *feeds) start(f *feed) {
	ctx, cancel := context.WithCancel(fs.ctx)
	f.running, f.stop = true, cancel
	fs.running.Go(func() {
		again := f.run(ctx)
		fs.mu.Lock()
		f.running = false
		fs.mu.Unlock()
		if again {
			pause.For(ctx, feedRetry)
			fs.svc.loadTable(ctx, f.table)
		}
		cancel()
	})
}

// remove stops the feed of a table. mu must be held.
func (fs *feeds) remove(name string) {
	if f := fs.byTable[name]; f != nil {
		f.stop()
		delete(fs.byTable, name)
	}
}

// removeAll stops all feeds.
func (fs *feeds) removeAll() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for name := range fs.byTable {
		fs.remove(name)
	}
	clear(fs.probes)
}

// enable warns that a table has no stream though its stream is to be followed, or gives it one if
// that is allowed. mu must be held.
func (fs *feeds) enable(t *table) {
	if !t.known || !t.active || !t.rule.caches() || t.rule.streams != StreamsOn {
		return
	}
	switch {
	case t.rule.enable:
		fs.running.Go(func() { fs.svc.enableStream(fs.ctx, t) })
	case !fs.warned[t.name]:
		fs.warned[t.name] = true
		fs.svc.log.Warn("a table has no stream to follow: writes past Kasoku are seen when the TTLs of answers end", slog.String("table", t.name))
	}
}

// enableStream gives a table a stream.
func (s *Service) enableStream(ctx context.Context, t *table) {
	body := append([]byte(`{"TableName":`), wire.AppendQuoted(nil, []byte(t.name))...)
	body = append(body, `,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`...)
	if _, err := s.settings.Load().readOrigin(ctx, "UpdateTable", body); err != nil {
		s.log.Warn("a table could not be given a stream", slog.String("table", t.name), slog.Any("error", err))
		return
	}
	s.log.Info("a table was given a stream", slog.String("table", t.name))
	s.cache.Apply(cache.Change{Cause: cache.ByTable, Tags: []cache.Tag{t.tags.schema}}) // describe it again
}

// list returns all feeds in the order of their tables.
func (fs *feeds) list() []*feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	list := make([]*feed, 0, len(fs.byTable))
	for _, f := range fs.byTable {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *feed) int { return cmp.Compare(a.table, b.table) })
	return list
}
