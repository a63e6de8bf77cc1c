package bucket_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kasoku/kasoku/internal/cluster/bucket"
	"github.com/kasoku/kasoku/internal/cluster/nats"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// The server's times of elections, which are no options. The tests need several elections.

//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
var minElectionTimeout time.Duration

//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
var maxElectionTimeout time.Duration

//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
var hbInterval time.Duration

//go:linkname lostQuorumInterval github.com/nats-io/nats-server/v2/server.lostQuorumInterval
var lostQuorumInterval time.Duration

//go:linkname lostQuorumCheck github.com/nats-io/nats-server/v2/server.lostQuorumCheck
var lostQuorumCheck time.Duration

func init() {
	minElectionTimeout, maxElectionTimeout, hbInterval = time.Second, 2*time.Second, 100*time.Millisecond
	lostQuorumInterval, lostQuorumCheck = time.Second, time.Second
}

// servers are three nodes that keep copies, and more that don't.
type servers struct {
	t     *testing.T
	nodes []*keeper
	links map[[2]int]*link // by the numbers of two nodes: the first one connects to the second one
}

// keeper is a node, which may keep a copy.
type keeper struct {
	*nats.Transport
	cfg     nats.Config
	number  int
	address atomic.Value // of the listener for routes
}

// start starts three servers that keep copies, and more servers without.
func start(t *testing.T, more int) *servers {
	t.Helper()
	s := &servers{t: t, links: map[[2]int]*link{}}
	for i := range 3 + more {
		s.nodes = append(s.nodes, &keeper{number: i, cfg: nats.Config{
			Cluster: "test", Name: string(rune('a' + i)), Listen: "127.0.0.1:0",
			Advertise: "127.0.0.1:1", // all connections lead through links
			Copies:    nats.Copies{Nodes: 3},
		}})
		if i < 3 {
			s.nodes[i].cfg.Copies.Directory = t.TempDir()
		}
	}
	for i, n := range s.nodes {
		for j, to := range s.nodes {
			if i != j {
				l := newLink(t, &to.address)
				s.links[[2]int{i, j}] = l
				n.cfg.Join = append(n.cfg.Join, l.address)
			}
		}
	}
	for _, n := range s.nodes {
		s.run(n)
	}
	t.Cleanup(func() {
		for _, n := range s.nodes {
			n.Close()
		}
	})
	return s
}

// run starts a node, again or for the first time.
func (s *servers) run(n *keeper) {
	s.t.Helper()
	var err error
	if n.Transport, err = nats.Start(n.cfg); err != nil {
		s.t.Fatal(err)
	}
	n.address.Store(n.Addr().String())
}

// cut stops all traffic of a node, without closing a connection, or allows it again.
func (s *servers) cut(n *keeper, cut bool) {
	for pair, l := range s.links {
		if pair[0] == n.number || pair[1] == n.number {
			l.cut(cut)
		}
	}
}

// leader returns the node that leads the bucket's stream.
func (s *servers) leader() *keeper {
	s.t.Helper()
	js, err := jetstream.New(s.nodes[0].Client())
	if err != nil {
		s.t.Fatal(err)
	}
	stream, err := js.Stream(s.t.Context(), "KV_members")
	if err != nil {
		s.t.Fatal(err)
	}
	name := stream.CachedInfo().Cluster.Leader
	for _, n := range s.nodes {
		if n.cfg.Name == name {
			return n
		}
	}
	s.t.Fatalf("the leader is %q", name)
	return nil
}

// store returns a new store that uses the node.
func (n *keeper) store(cluster string) *bucket.Store {
	return bucket.New(bucket.Config{Cluster: cluster, Bucket: "members", Replicas: 3, Requester: n.Client()})
}

// prepare creates the bucket, for another cluster.
func (s *servers) prepare() {
	s.t.Helper()
	for _, n := range s.nodes {
		await.Until(s.t, func() bool { return n.store("other").Prepare(s.t.Context()) == nil })
	}
}

// link is a TCP proxy. While it is cut, nothing arrives, and no connection is closed.
type link struct {
	address string
	mu      sync.Mutex
	open    *sync.Cond
	isCut   bool
	ended   bool
}

// newLink returns a proxy for the address in to, as soon as that has one.
func newLink(t *testing.T, to *atomic.Value) *link {
	t.Helper()
	l := &link{}
	l.open = sync.NewCond(&l.mu)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.address = listener.Addr().String()
	t.Cleanup(func() {
		_ = listener.Close()
		l.mu.Lock()
		l.ended = true
		l.mu.Unlock()
		l.open.Broadcast()
	})
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go l.connect(from, to)
		}
	}()
	return l
}

func (l *link) connect(from net.Conn, address *atomic.Value) {
	l.wait()
	current, _ := address.Load().(string)
	to, err := net.Dial("tcp", current)
	if err != nil {
		_ = from.Close()
		return
	}
	copyTo := func(to, from net.Conn) {
		defer func() { _ = to.Close() }()
		b := make([]byte, 32<<10)
		for {
			n, err := from.Read(b)
			l.wait()
			if _, failed := to.Write(b[:n]); failed != nil || err != nil {
				return
			}
		}
	}
	go copyTo(to, from)
	go copyTo(from, to)
}

// wait returns when the link is not cut.
func (l *link) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.isCut && !l.ended {
		l.open.Wait()
	}
}

func (l *link) cut(cut bool) {
	l.mu.Lock()
	l.isCut = cut
	l.mu.Unlock()
	l.open.Broadcast()
}
