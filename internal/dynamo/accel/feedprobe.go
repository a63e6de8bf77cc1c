package accel

import (
	"context"
	"log/slog"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/streams"
	"github.com/kasoku/kasoku/internal/pause"
)

// Between the attempts to read a stream for the first time.
const (
	minProbePause = time.Second
	maxProbePause = 5 * time.Minute
)

// feedProbe finds out whether the stream of a table can be read, before a table with StreamsAuto is
// followed. Without it, a table whose stream Kasoku may not read, or can't reach, would not be served
// from memory any more.
type feedProbe struct {
	table, stream string
	began         int64 // on the cache's clock
	readable      bool
	trouble       error // of the last attempt
}

// readable reports whether the stream of a table could be read. The first call for a stream starts
// the attempts; when one succeeds the table is described again, and attached. mu must be held.
func (fs *feeds) readable(t *table) bool {
	p := fs.probes[t.name]
	if p == nil || p.stream != t.stream {
		p = &feedProbe{table: t.name, stream: t.stream, began: fs.svc.cache.Now()}
		fs.probes[t.name] = p
		fs.running.Go(func() { fs.probe(p, t.tags.schema) })
	}
	return p.readable
}

// probe tries to read a stream until it succeeds, or there is no use in it.
func (fs *feeds) probe(p *feedProbe, schema cache.Tag) {
	wait := minProbePause
	for {
		err := fs.tryStream(p.stream)
		fs.mu.Lock()
		p.readable, p.trouble = err == nil, err
		fs.mu.Unlock()
		if err == nil {
			fs.svc.cache.Apply(cache.Change{Cause: cache.ByTable, Tags: []cache.Tag{schema}})
			fs.svc.loadTable(fs.ctx, p.table)
			return
		}
		if wait == minProbePause && fs.ctx.Err() == nil {
			fs.svc.log.Warn("the stream of a table can't be read: writes past Kasoku are seen when the TTLs of answers end",
				slog.String("table", p.table), slog.Any("error", err))
		}
		pause.For(fs.ctx, wait)
		if !fs.wants(p) {
			return
		}
		wait = min(2*wait, maxProbePause)
	}
}

// wants reports whether p is still of use: the table is used and has that stream. It removes p if it
// isn't.
func (fs *feeds) wants(p *feedProbe) bool {
	t := fs.svc.peek([]byte(p.table)) // it is no use of the table
	last, same := p.began, true
	if t != nil { // else it is about to be described
		last, same = t.checked.Load(), t.stream == p.stream
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.probes[p.table] != p {
		return false
	}
	if !same || fs.svc.cache.Now()-last > int64(feedUnused) || fs.ctx.Err() != nil {
		delete(fs.probes, p.table)
		return false
	}
	return true
}

func (fs *feeds) tryStream(stream string) error {
	ctx, cancel := context.WithTimeout(fs.ctx, time.Minute)
	defer cancel()
	return streams.Probe(ctx, streams.Config{
		Call: fs.svc.callStreams, Stream: stream, Describe: fs.describes, Metrics: fs.svc.metrics.streams,
	})
}

// troubles returns why streams can't be read, by table.
func (fs *feeds) troubles() map[string]error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	list := make(map[string]error)
	for name, p := range fs.probes {
		if p.trouble != nil {
			list[name] = p.trouble
		}
	}
	return list
}
