//go:build kasokutrace

package cluster

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/telemetry"
)

var (
	traceDir   = flag.String("traces", "", "folder for traces")
	traceFirst = flag.Uint64("tracefirst", 1, "first seed of TestTraces")
	traceSeeds = flag.Int("traceseeds", 3, "number of seeds of TestTraces")
)

// chaos is, in a synctest bubble, a cluster of processes with faults, before an origin of one item.
type chaos struct {
	t     *testing.T
	net   *network
	store *memory
	steps *protocol.Recorder
	asked sync.WaitGroup // requests at the origin

	mu     sync.Mutex
	rand   *rand.Rand
	writer string // the process whose write is at the origin
	seq    uint64 // of this write
}

// chance returns true with a probability.
func (c *chaos) chance(p float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.Float64() < p
}

// pause waits, on the bubble's clock, for a time below a limit, or seldom for a long one.
func (c *chaos) pause(limit time.Duration) {
	if c.chance(0.03) {
		limit = 2 * time.Second
	}
	c.mu.Lock()
	d := time.Duration(c.rand.Int64N(int64(limit)))
	c.mu.Unlock()
	time.Sleep(d)
}

// process is one life of a node.
type process struct {
	*Node
	*chaos
	name    string
	cache   *cache.Cache
	space   *cache.Space
	round   *round // of the newest write
	ctx     context.Context
	stop    context.CancelFunc
	clients sync.WaitGroup
}

// wire is a Transport that loses and delays frames.
type wire struct {
	*end
	chaos *chaos
}

func (w wire) Listen(self uint64, receive func([]byte), answer func(context.Context, []byte) []byte) error {
	w.chaos.steps.Joins(w.node, protocol.Instance(self))
	return w.end.Listen(self, receive, answer)
}

func (w wire) Broadcast(frame []byte) error {
	w.later(frame, w.end.Broadcast)
	return nil
}

func (w wire) Send(to uint64, frame []byte) error {
	w.later(frame, func(frame []byte) error { return w.end.Send(to, frame) })
	return nil
}

// later sends a copy of a frame after a time, unless it gets lost.
func (w wire) later(frame []byte, send func([]byte) error) {
	frame = append([]byte(nil), frame...)
	lost := w.chaos.chance(0.02)
	go func() {
		w.chaos.pause(3 * time.Millisecond)
		if !lost {
			_ = send(frame)
		}
	}()
}

// Read implements Store.
func (p *process) Read(context.Context) (protocol.View, error) {
	p.pause(5 * time.Millisecond)
	v, err := p.read()
	p.pause(5 * time.Millisecond)
	return v, err
}

func (p *process) read() (protocol.View, error) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if p.store.failed == nil {
		p.steps.Read(p.name)
	}
	return p.store.view, p.store.failed
}

// Write implements Store.
func (p *process) Write(_ context.Context, expect uint64, v protocol.View) error {
	by := protocol.Instance(p.self.Load())
	p.pause(5 * time.Millisecond)
	err := p.write(by, expect, v)
	p.pause(5 * time.Millisecond)
	return err
}

func (p *process) write(by protocol.Instance, expect uint64, v protocol.View) error {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil:
		return s.failed
	case s.view.Rev != expect || expect > 0 && s.view.Creator != v.Creator:
		return protocol.ErrConflict
	}
	p.steps.View(p.name, by, &s.view, &v)
	s.view = v
	return nil
}

// Begin implements cache.Coordinator.
func (p *process) Begin(ctx context.Context, tags, unsure []cache.Tag) (cache.Round, error) {
	r, err := p.Node.Begin(ctx, tags, unsure)
	p.round, _ = r.(*round)
	return r, err
}

// start begins a life of a node, and a client of it.
func (c *chaos) start(node string, life int) *process {
	p := &process{chaos: c, name: fmt.Sprintf("%s.%d", node, life)}
	var err error
	if p.cache, err = cache.New(cache.Config{Memory: 16 << 20, Generations: 1 << 10}); err != nil {
		c.t.Fatal(err)
	}
	if p.space, err = p.cache.NewSpace(0); err != nil {
		c.t.Fatal(err)
	}
	p.Node = New(Config{
		Cache: p.cache, Store: p, Transport: wire{&end{net: c.net, node: p.name}, c},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Registry: telemetry.NewRegistry(),
	})
	p.cache.SetCoordinator(p)
	c.steps.Watch(p.name, p.machine)
	p.ctx, p.stop = context.WithCancel(context.Background())
	var empty time.Time
	if p.name == "a.1" {
		empty = time.Now()
	}
	p.Start(protocol.Member{Node: node, Address: node + ":7400"}, empty)
	p.clients.Go(p.client)
	return p
}

// end ends the life: the node leaves, or its process ends without that.
func (p *process) end(leave bool) {
	p.stop()
	p.clients.Wait()
	if leave {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = p.Leave(ctx)
	} else {
		p.net.isolate(p.name, true)
	}
	p.Node.Close()
	p.cache.Close()
}

// client reads and writes the item until the life ends.
func (p *process) client() {
	for p.ctx.Err() == nil {
		p.pause(150 * time.Millisecond)
		if p.chance(0.25) {
			p.put()
		} else {
			p.get()
		}
	}
}

// get records a hit, or fills the cache.
func (p *process) get() {
	hit := false
	p.do(func(protocol.Time) {
		if e, _ := p.space.Peek([]byte("key"), p.cache.Now()); e != nil {
			hit = true
			var writer string
			var seq uint64
			_, _ = fmt.Sscanf(string(e.Payload()), "%q %d", &writer, &seq)
			p.steps.Serve(p.name, writer, seq)
		}
	})
	if hit {
		return
	}
	st := p.cache.Note(item)
	p.pause(5 * time.Millisecond)
	value := p.chaos.value()
	p.pause(5 * time.Millisecond)
	p.space.Store(st, []byte("key"), &cache.Filling{Payload: value, TTL: time.Hour})
}

// value returns the item as the origin has it.
func (c *chaos) value() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Appendf(nil, "%q %d", c.writer, c.seq)
}

// apply is the execution of a write by the origin.
func (p *process) apply(seq uint64) {
	p.chaos.mu.Lock()
	defer p.chaos.mu.Unlock()
	p.steps.Apply(p.name, seq)
	p.writer, p.seq = p.name, seq
}

// put writes the item.
func (p *process) put() {
	ctx, cancel := context.WithTimeout(p.ctx, 4*time.Second)
	defer cancel()
	w, err := p.cache.Begin(ctx, []cache.Tag{item}, nil)
	if err != nil {
		return
	}
	if !w.Sendable() {
		_, _ = w.Commit(ctx, cache.Change{})
		return
	}
	seq := p.round.seq
	applied := make(chan struct{})
	lost := p.chance(0.05)
	p.asked.Go(func() {
		p.pause(10 * time.Millisecond)
		p.apply(seq)
		p.pause(10 * time.Millisecond)
		close(applied)
	})
	limit := time.Second
	if lost {
		limit = 0
	}
	select {
	case <-applied:
	case <-time.After(limit):
		w.Unknown()
		return
	}
	if p.ctx.Err() != nil {
		return // with the process: the write has no end
	}
	ch := cache.Change{Puts: []cache.Put{{
		Space: p.space, Key: []byte("key"), Tags: []cache.Tag{item},
		Filling: cache.Filling{Payload: fmt.Appendf(nil, "%q %d", p.name, seq), TTL: time.Hour},
	}}}
	if p.chance(0.3) {
		ch.Tags = []cache.Tag{cache.TagOf([]byte("index"))}
	}
	_, _ = w.Commit(ctx, ch)
}

// run runs nodes with faults for some seconds of the bubble's clock.
func (c *chaos) run(nodes ...string) {
	var all []*process
	lives := map[string]int{}
	start := func(node string) *process {
		lives[node]++
		return c.start(node, lives[node])
	}
	for _, node := range nodes {
		all = append(all, start(node))
	}
	time.Sleep(2 * time.Second)
	for range 6 {
		c.mu.Lock()
		i, kind, d := c.rand.IntN(len(all)), c.rand.IntN(5), time.Duration(c.rand.Int64N(int64(3*time.Second)))
		c.mu.Unlock()
		switch p := all[i]; kind {
		case 0, 1:
			c.net.isolate(p.name, true)
			time.Sleep(d)
			c.net.isolate(p.name, false)
		case 2:
			p.end(true)
			time.Sleep(d / 4)
			all[i] = start(nodes[i])
		case 3:
			p.end(false)
			time.Sleep(d / 4)
			all[i] = start(nodes[i])
		case 4:
			c.store.fail(errors.New("the store does not answer"))
			time.Sleep(d)
			c.store.fail(nil)
		}
		time.Sleep(500 * time.Millisecond)
	}
	for _, p := range all {
		p.end(false)
	}
	c.asked.Wait()
	time.Sleep(5 * time.Second) // until all frames have arrived
}

// TestTraces writes the traces of runs of nodes, for specs/trace-runs.sh.
func TestTraces(t *testing.T) {
	for i := range *traceSeeds {
		seed := *traceFirst + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c := &chaos{t: t, net: newNetwork(), store: &memory{}, rand: rand.New(rand.NewPCG(seed, 3))}
			c.steps = protocol.NewRecorder(func() int64 { return time.Since(began).Milliseconds() }, func([]uint64, []byte) bool { return true })
			c.run([]string{"a", "b", "c"}[:2+seed%2]...)
			dir := *traceDir
			if dir == "" {
				dir = t.TempDir()
			}
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("nodes-%d.ndjson", seed)))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			out := bufio.NewWriter(f)
			delays := protocol.Config{}.WithDefaults()
			header := protocol.Header{
				Action: "Start", Tick: 10, Fresh: true, Lease: int64(delays.Lease / protocol.Millisecond),
				Wait: int64(delays.Wait / protocol.Millisecond), Reach: int64(delays.Reach / protocol.Millisecond),
				Quarantine: int64(delays.Quarantine / protocol.Millisecond),
			}
			if err := errors.Join(c.steps.Write(out, header), out.Flush()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
