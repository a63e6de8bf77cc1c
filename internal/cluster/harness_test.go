package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// network connects the nodes of a test. It delivers each frame in a goroutine, unless its
// receiver or its sender is cut off.
type network struct {
	mu   sync.Mutex
	ends map[uint64]*end
	cut  map[string]bool // by node
	sent traffic
}

// traffic counts frames, and the bytes that their receivers have got.
type traffic struct{ published, delivered, bytes int }

func (a traffic) minus(b traffic) traffic {
	return traffic{a.published - b.published, a.delivered - b.delivered, a.bytes - b.bytes}
}

func (n *network) counts() traffic {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent
}

// end is one node's Transport.
type end struct {
	net     *network
	node    string
	self    uint64
	receive func([]byte)
	answer  func(context.Context, []byte) []byte
}

func newNetwork() *network { return &network{ends: map[uint64]*end{}, cut: map[string]bool{}} }

func (e *end) Listen(self uint64, receive func([]byte), answer func(context.Context, []byte) []byte) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	delete(e.net.ends, e.self)
	e.self, e.receive, e.answer = self, receive, answer
	e.net.ends[self] = e
	return nil
}

func (e *end) Broadcast(frame []byte) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.net.sent.published++
	for _, to := range e.net.ends {
		e.deliver(to, frame)
	}
	return nil
}

func (e *end) Send(to uint64, frame []byte) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.net.sent.published++
	e.deliver(e.net.ends[to], frame)
	return nil
}

// Ask waits until ctx ends if either end is cut off.
func (e *end) Ask(ctx context.Context, to uint64, request []byte) ([]byte, error) {
	e.net.mu.Lock()
	peer := e.net.ends[to]
	if peer == nil {
		e.net.mu.Unlock()
		return nil, errors.New("no node has this instance")
	}
	cut, answer := e.net.cut[e.node] || e.net.cut[peer.node], peer.answer
	e.net.mu.Unlock()
	if cut {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return answer(ctx, slices.Clone(request)), nil
}

func (e *end) SetPeers(map[string]string) {}

func (e *end) Repair() {}

func (e *end) deliver(to *end, frame []byte) {
	if to == nil || to == e || e.net.cut[e.node] || e.net.cut[to.node] {
		return
	}
	e.net.sent.delivered++
	e.net.sent.bytes += len(frame)
	frame, receive := slices.Clone(frame), to.receive
	go receive(frame)
}

func (n *network) isolate(node string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[node] = cut
}

// memory is the Store of a test.
type memory struct {
	mu     sync.Mutex
	view   protocol.View
	failed error
}

func (s *memory) Read(context.Context) (protocol.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view, s.failed
}

func (s *memory) Write(_ context.Context, expect uint64, v protocol.View) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil:
		return s.failed
	case s.view.Rev != expect || expect > 0 && s.view.Creator != v.Creator:
		return fmt.Errorf("rev %d: %w", s.view.Rev, protocol.ErrConflict)
	}
	s.view = v
	return nil
}

func (s *memory) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

// lab is a cluster in a synctest bubble.
type lab struct {
	t      *testing.T
	net    *network
	store  *memory
	origin *source // of the service "site" of nodes that start from now on; may be nil
}

func newLab(t *testing.T) *lab { return &lab{t: t, net: newNetwork(), store: &memory{}} }

// member is a node of a lab with its cache.
type member struct {
	*Node
	name    string
	cache   *cache.Cache
	space   *cache.Space
	applied chan string
}

func (l *lab) start(name string, change ...func(*Config, *protocol.Member)) *member {
	l.t.Helper()
	c, err := cache.New(cache.Config{Memory: 16 << 20, Generations: 1 << 10})
	if err != nil {
		l.t.Fatal(err)
	}
	space, err := c.NewSpace(0)
	if err != nil {
		l.t.Fatal(err)
	}
	m := &member{name: name, cache: c, space: space, applied: make(chan string, 10)}
	self := protocol.Member{Node: name, Address: name + ":7400"}
	cfg := Config{
		Cache: c, Store: l.store,
		Transport: &end{net: l.net, node: name}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Registry: telemetry.NewRegistry(),
	}
	c.OnBroadcast("site", func(p []byte) { m.applied <- string(p) })
	for _, f := range change {
		f(&cfg, &self)
	}
	if l.origin != nil {
		l.origin.serve([]*member{m})
	}
	m.Node = New(cfg)
	m.Start(self, time.Now())
	l.t.Cleanup(func() {
		m.Close()
		c.Close()
	})
	return m
}

// cluster starts nodes and waits until they serve.
func (l *lab) cluster(names ...string) []*member {
	l.t.Helper()
	var all []*member
	for _, name := range names {
		all = append(all, l.start(name))
	}
	for _, m := range all {
		l.serving(m)
	}
	return all
}

// serving waits until m serves.
func (l *lab) serving(m *member) {
	l.t.Helper()
	l.until(func() bool { return m.Ready() == nil })
}

// until waits for a condition. In a bubble the time is the bubble's.
func (l *lab) until(reached func() bool) {
	l.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		if reached() {
			return
		}
		<-tick.C
	}
	l.t.Fatal("the condition is not true after half a minute")
}

var item = cache.TagOf([]byte("item"))

// put stores a value under the tag item.
func (m *member) put(t *testing.T, value string) {
	t.Helper()
	st := m.cache.Note(item)
	if _, stored := m.space.Store(st, []byte("key"), &cache.Filling{Payload: []byte(value), TTL: time.Hour}); !stored {
		t.Errorf("%s does not store %q", m.name, value)
	}
}

// get returns the value that a look-up finds, "" for none.
func (m *member) get() string {
	e, _ := m.space.Peek([]byte("key"), m.cache.Now())
	if e == nil {
		return ""
	}
	return string(e.Payload())
}
