package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Store keeps the view of the cluster: [view.Store] in a table at the origin, [bucket.Store] in
// NATS.
type Store interface {
	// Read returns the view by a linearizable read, the zero View if there is none.
	Read(ctx context.Context) (protocol.View, error)
	// Write replaces the view on condition that its Rev is expect. It returns an error that
	// wraps protocol.ErrConflict if it is not; after any other error the outcome is unknown.
	Write(ctx context.Context, expect uint64, v protocol.View) error
}

// Transport sends frames to other nodes. They may be lost, duplicated or delayed.
// [nats.Transport] implements it.
type Transport interface {
	// Listen receives under an instance number from now on, in the place of a former one.
	Listen(self uint64, receive func(frame []byte), answer func(ctx context.Context, request []byte) []byte) error
	// Broadcast sends a frame to all nodes.
	Broadcast(frame []byte) error
	// Send sends a frame to one node.
	Send(to uint64, frame []byte) error
	// Ask sends a request to one node and returns its reply. An error may be late: as late as
	// ctx ends.
	Ask(ctx context.Context, to uint64, request []byte) ([]byte, error)
	// SetPeers sets the addresses of all members, by name.
	SetPeers(addresses map[string]string)
	// Repair restores connections to members that were lost. It is called often, and returns
	// soon.
	Repair()
}

// Config describes a node.
type Config struct {
	// Delays are those of the protocol; the ones that are 0 have defaults.
	Delays protocol.Config
	// PassIsolated lets writes through that other members can't be informed of.
	PassIsolated bool
	// Warm limits what a node that has joined takes over from the others.
	Warm      WarmLimits
	Cache     *cache.Cache
	Store     Store
	Transport Transport
	Log       *slog.Logger
	Registry  *telemetry.Registry
}

// Node is a process in a cluster.
type Node struct {
	cfg     Config
	cache   *cache.Cache
	log     *slog.Logger
	ctx     context.Context // of reads and writes of the view
	stop    context.CancelFunc
	wake    chan struct{} // runs the loop before its time
	ended   chan struct{} // closed when the loop has ended
	out     *outbox
	sent    chan struct{} // closed when the outbox has ended
	peers   peers
	hot     hot
	warming warming

	self atomic.Uint64 // the instance of the present membership

	mu          sync.Mutex
	machine     *protocol.Machine
	rounds      map[uint64]*round // own writes that wait or are in flight, by number
	opening     *round            // its number is being assigned
	holds       map[holdKey]*cache.Hold
	state       string                     // as last logged
	connected   uint64                     // the epoch whose members' addresses the transport has
	serving     map[protocol.Instance]bool // members that serve, as of the last change
	formerUntil protocol.Time              // former owners of keys are asked until then
	started     bool
	warmedAs    protocol.Instance // the membership that warmJoined was called in
	served      chan struct{}     // closed when the node has had a lease
	hasServed   bool
	left        chan struct{} // closed when the protocol has ended
	hasLeft     bool

	handlersMu sync.RWMutex
	handlers   map[string]func(ctx context.Context, request []byte) []byte // of requests, by kind

	times times
	trace processTrace
}

// holdKey names a write of another member.
type holdKey struct {
	owner protocol.Instance
	seq   uint64
}

// viewTimeout limits a read or a write of the view.
const viewTimeout = 2 * time.Second

// New returns a node. It serves nothing before Start has been called and it has joined.
func New(cfg Config) *Node {
	n := &Node{
		cfg: cfg, cache: cfg.Cache, log: cfg.Log, wake: make(chan struct{}, 1), ended: make(chan struct{}), left: make(chan struct{}), served: make(chan struct{}),
		rounds: make(map[uint64]*round), holds: make(map[holdKey]*cache.Hold),
	}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.out, n.sent = newOutbox(cfg.Transport), make(chan struct{})
	go func() {
		defer close(n.sent)
		n.out.run(n.ctx.Done())
	}()
	n.machine = protocol.New(cfg.Delays, n)
	n.observe(cfg.Registry)
	n.peers.observe(cfg.Registry)
	n.warming.observe(cfg.Registry)
	n.cache.SetLease(0)
	if cfg.PassIsolated {
		n.cache.PassIsolated()
	}
	n.cache.SetCoordinator(n)
	n.cache.SetPeers(n)
	n.Handle(storedKind, n.answerStored)
	n.Handle(hottestKind, n.answerHottest)
	return n
}

// Start begins to join the cluster. self has the node's name, addresses and services. If this
// process has created the table of the view, empty is a time at which that had no item;
// otherwise it is zero.
func (n *Node) Start(self protocol.Member, empty time.Time) {
	n.mu.Lock()
	n.started = true
	fresh := protocol.Time(0)
	if !empty.IsZero() {
		fresh = n.now() - protocol.Time(time.Since(empty)) + n.cfg.Delays.WithDefaults().Lease
	}
	n.trace.start(n, &self, fresh != 0)
	n.machine.Start(self, fresh)
	n.mu.Unlock()
	go n.loop()
}

// now returns the time on the cache's clock, which is the protocol's.
func (n *Node) now() protocol.Time { return protocol.Time(n.cache.Now()) }

// do calls f with the state locked.
func (n *Node) do(f func(now protocol.Time)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.now())
}

// loop calls Tick until the protocol has ended.
func (n *Node) loop() {
	defer close(n.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-n.wake:
		case <-n.left:
			return
		case <-n.ctx.Done():
			return
		}
		var next time.Duration
		var peers map[string]string
		n.do(func(now protocol.Time) {
			n.machine.Tick(now)
			next = time.Duration(n.machine.Next(now) - now)
			if v := n.machine.View(); v.Epoch != n.connected {
				n.connected = v.Epoch
				peers = make(map[string]string, len(v.Members))
				for _, m := range v.Members {
					peers[m.Node] = m.Address
				}
			}
		})
		if len(peers) > 0 {
			n.cfg.Transport.SetPeers(peers)
		}
		n.cfg.Transport.Repair()
		n.times.tick(n.cache.Serves(n.cache.Now()))
		timer.Reset(next)
	}
}

// receive handles a frame of another node.
func (n *Node) receive(frame []byte) {
	if isPeerFrame(frame) {
		n.receivePeer(frame)
		return
	}
	n.do(func(now protocol.Time) {
		err := protocol.Parse(frame, func(from protocol.Instance, m *protocol.Message) { n.machine.Receive(now, from, m) })
		if err != nil {
			n.log.Warn("a message of another node is invalid", slog.Any("error", err))
		}
	})
}

// Leave ends the membership, and waits for that. No writes may be in flight.
func (n *Node) Leave(ctx context.Context) error {
	n.do(func(now protocol.Time) { n.machine.Leave(now) })
	select {
	case <-n.left:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("leaving the cluster: %w", context.Cause(ctx))
	}
}

// Close ends the node without a word to the others, which then take it out. After Leave it
// only frees its resources.
func (n *Node) Close() {
	n.stop()
	n.mu.Lock()
	started := n.started
	n.mu.Unlock()
	if started {
		<-n.ended
	}
	<-n.sent
	n.warming.running.Wait()
	n.cache.SetLease(0)
}
