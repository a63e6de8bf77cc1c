package transfer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/anonymise"
	"github.com/kasoku/kasoku/internal/dynamo/transfer/creation"
)

// copier copies tables from one store to another.
type copier struct {
	cfg      *Config
	counters counters
	from, to *caller
	state    stateFile
	totals   Totals // its tables

	mu       sync.Mutex
	segments map[string][]*tracker // of tables that are begun
	saved    map[string][]segment
}

// copyState is the state of a copy that is not complete.
type copyState struct {
	stateHead
	Tables map[string][]segment `json:"tables"`
}

// Copy copies tables, with their items, from one store to another. Tables that exist in both
// need the same key.
func Copy(ctx context.Context, cfg *Config) (Totals, error) {
	cfg.setDefaults()
	c := &copier{cfg: cfg, counters: counters{start: time.Now()}, segments: map[string][]*tracker{}}
	c.from, c.to = cfg.caller(cfg.From, &c.counters), cfg.caller(cfg.Endpoint, &c.counters)
	err := c.run(ctx)
	t := c.counters.totals()
	t.Tables, t.Created = append(t.Tables, c.totals.Tables...), c.totals.Created
	return t, err
}

func (c *copier) settings() string { return c.cfg.settings("copy", c.cfg.From.Name(), c.cfg.Segments) }

func (c *copier) run(ctx context.Context) error {
	if c.cfg.From.Name() == c.cfg.Endpoint.Name() {
		return fmt.Errorf("%s can't be copied into itself", c.cfg.From.Name())
	}
	c.state = stateFile{path: c.cfg.State, take: c.take}
	var saved copyState
	if err := c.cfg.resume(c.state.path, c.settings(), &saved); err != nil {
		return err
	}
	c.saved = saved.Tables
	sources, err := c.from.selected(ctx, c.cfg.Tables)
	if err != nil {
		return err
	}
	for _, t := range sources {
		c.counters.all.Add(t.items)
	}
	if err := c.state.save(true); err != nil {
		return err
	}
	w := startWriter(ctx, c.to, c.cfg, &c.counters, &c.state)
	for _, t := range sources {
		if err := c.table(w, t); err != nil {
			w.cancel(err)
			break
		}
	}
	if err := w.close(); err != nil {
		return errors.Join(err, c.state.save(true))
	}
	c.cfg.progress(&c.counters)
	return c.state.remove()
}

// selected returns the tables with some names, or all tables.
func (c *caller) selected(ctx context.Context, names []string) (list []*table, err error) {
	if len(names) == 0 {
		if names, err = c.tables(ctx); err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("there are no tables at %s", c.Name())
		}
	}
	for _, name := range names {
		t, err := c.describe(ctx, name)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, fmt.Errorf("there is no table %s at %s", name, c.Name())
		}
		list = append(list, t)
	}
	return list, nil
}

// take returns the state.
func (c *copier) take() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := copyState{stateHead{stateFormat, c.settings()}, map[string][]segment{}}
	for name, list := range c.saved {
		s.Tables[name] = list
	}
	for name, list := range c.segments {
		segments := make([]segment, len(list))
		for i, t := range list {
			segments[i].Position, segments[i].End = t.at()
		}
		s.Tables[name] = segments
	}
	return s
}

// table copies a table.
func (c *copier) table(w *writer, source *table) error {
	expiry, err := c.from.timeToLive(w.ctx, source.name)
	if err != nil {
		return err
	}
	request, err := creation.Request(source.description)
	if err != nil {
		return err
	}
	s := &schema{place: c.from.Name(), table: source, request: request, expiry: expiry}
	target, created, err := c.to.create(w.ctx, s)
	if err != nil {
		return err
	}
	c.totals.Tables = append(c.totals.Tables, target.name)
	if created {
		c.totals.Created = append(c.totals.Created, target.name)
	}
	plan, err := c.cfg.plan(target)
	if err != nil {
		return err
	}
	begin := c.begin(source.name)
	var scans sync.WaitGroup
	for i := range begin {
		scans.Go(func() {
			if err := c.segment(w, source, target, plan, i, begin); err != nil {
				w.cancel(err)
			}
		})
	}
	scans.Wait()
	return context.Cause(w.ctx)
}

// begin returns the segments of a table, where an earlier run has left them.
func (c *copier) begin(name string) []segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.saved[name]
	if len(list) != c.cfg.Segments {
		list = make([]segment, c.cfg.Segments)
	}
	for _, s := range list {
		t := newTracker(0, s.Position)
		t.ended = s.End
		c.segments[name] = append(c.segments[name], t)
	}
	return list
}

// segment copies a segment.
func (c *copier) segment(w *writer, source, target *table, plan *anonymise.Plan, i int, begin []segment) error {
	c.mu.Lock()
	progress := c.segments[source.name][i]
	c.mu.Unlock()
	n := 0
	return c.from.scan(w.ctx, source, i, len(begin), c.cfg.Consistent, begin[i], func(items [][]byte, after segment) error {
		for _, text := range items {
			at := place{file: "table " + source.name}
			r, err := parseRecord(text, source)
			var key string
			if err == nil {
				r.item = plan.Apply(r.item)
				key, err = r.key(target)
			}
			if err != nil {
				err = w.fail(at, progress, n, err)
			} else {
				err = w.add(task{record: r, table: target, key: key, place: at, number: n, source: progress})
			}
			if err != nil {
				return err
			}
			n++
		}
		c.counters.read.Add(int64(len(items)))
		progress.mark(n, after.Position, after.End)
		return nil
	})
}
