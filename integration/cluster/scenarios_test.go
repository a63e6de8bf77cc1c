//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	daxclient "github.com/kasoku/kasoku/integration/dax/client"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/pause"
)

// put stores a value of the item k through n.
func (n *node) put(k, value string) error {
	_, _, err := n.send("PutItem", fmt.Sprintf(`{"TableName":"items","Item":{"p":{"S":%q},"v":{"S":%q}}}`, k, value))
	return err
}

// get returns the value of the item k through n, and whether it was cached.
func (n *node) get(k string) (value string, hit bool, err error) {
	text, hit, err := n.send("GetItem", fmt.Sprintf(`{"TableName":"items","Key":{"p":{"S":%q}}}`, k))
	_, after, _ := strings.Cut(text, `"v":{"S":"`)
	value, _, _ = strings.Cut(after, `"`)
	return value, hit, err
}

// mustPut is like put. It returns the time until the answer.
func (s *scene) mustPut(n *node, k, value string) time.Duration {
	s.t.Helper()
	began := time.Now()
	if err := n.put(k, value); err != nil {
		s.t.Fatal(err)
	}
	return time.Since(began)
}

// cached reads the item k through n until it is a hit, which must not take long.
func (s *scene) cached(n *node, k, want string) {
	s.t.Helper()
	harness.Await(s.t, fmt.Sprintf("a hit of %s through %s", k, n.name), 10*time.Second, func() bool {
		value, hit, err := n.get(k)
		if err != nil || value != want {
			s.t.Fatalf("%s through %s: got %q, %v, want %q", k, n.name, value, err, want)
		}
		return hit
	})
}

// TestDeath kills one of two nodes. A write through the other one waits once, no read waits,
// and it caches as before.
func TestDeath(t *testing.T) {
	s := start(t, store(t), 2)
	s.createTable()
	a, b := s.nodes[0], s.nodes[1]
	s.mustPut(a, "k", "1")
	s.mustPut(a, "other", "1")
	s.cached(a, "k", "1")
	s.cached(b, "k", "1")
	s.cached(a, "other", "1")

	// A client that reads what is cached all the time.
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	var slowest time.Duration
	reads, misses := 0, 0
	reading.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			value, hit, err := a.get("other")
			if err != nil || value != "1" {
				t.Errorf("read through the other node: got %q, %v", value, err)
				return
			}
			slowest = max(slowest, time.Since(began))
			if reads++; !hit {
				misses++
			}
			pause.For(ctx, time.Millisecond)
		}
	})
	b.Kill()
	first := s.mustPut(a, "k", "2")
	second := s.mustPut(a, "k", "3")
	s.cached(a, "k", "3")
	cancel()
	reading.Wait()
	t.Logf("the first write took %s, the next one %s; %d reads meanwhile, the slowest %s, %d of them no hits", first, second, reads, slowest, misses)
	if first > maxWrite || second > first {
		t.Errorf("writes took %s and %s, want about 2 s once", first, second)
	}
	if slowest > maxRead {
		t.Errorf("a read took %s: it waited for the dead node", slowest)
	}
	if misses > 0 {
		t.Errorf("%d of %d reads of another item were no hits", misses, reads)
	}
	if left := a.members(); len(left) != 1 {
		t.Errorf("the members are %v, want only a", left)
	}

	b.Restart(t)
	s.cached(b, "k", "3")
	s.mustPut(b, "k", "4")
	s.cached(a, "k", "4")
}

// TestSuspended stops a process for longer than its lease, and sends requests to it that it
// finds when it continues: it must not answer them with what it had cached.
func TestSuspended(t *testing.T) {
	s := start(t, store(t), 3)
	s.createTable()
	f := func(d time.Duration) {
		t.Helper()
		n := s.nodes[2]
		const keys = 8
		for i := range keys {
			s.mustPut(s.nodes[0], fmt.Sprint(i), "old")
			s.cached(n, fmt.Sprint(i), "old")
		}
		n.signal(syscall.SIGSTOP)
		stopped := time.Now()
		var slowest time.Duration
		for i := range keys {
			slowest = max(slowest, s.mustPut(s.nodes[i%2], fmt.Sprint(i), "new"))
		}
		var reading sync.WaitGroup
		for i := range keys {
			reading.Go(func() {
				if value, _, err := n.get(fmt.Sprint(i)); err != nil || value != "new" {
					t.Errorf("stopped for %s: read %q, %v, after a write was acknowledged", d, value, err)
				}
			})
		}
		<-time.After(d - time.Since(stopped))
		n.signal(syscall.SIGCONT)
		reading.Wait()
		back := harness.Await(t, "all nodes serve", 20*time.Second, s.whole)
		for i := range keys {
			s.cached(n, fmt.Sprint(i), "new")
		}
		t.Logf("stopped for %s: the slowest write took %s; all nodes served after %s", d, slowest, back)
	}
	f(3 * time.Second)
	f(10 * time.Second)
}

// TestShortSuspension stops a process for less than its lease: writes wait until it answers.
func TestShortSuspension(t *testing.T) {
	s := start(t, store(t), 3)
	s.createTable()
	n := s.nodes[1]
	s.mustPut(s.nodes[0], "k", "old")
	s.cached(n, "k", "old")
	const d = 700 * time.Millisecond
	n.signal(syscall.SIGSTOP)
	timer := time.AfterFunc(d, func() { n.signal(syscall.SIGCONT) })
	defer timer.Stop()
	took := s.mustPut(s.nodes[0], "k", "new")
	s.cached(n, "k", "new")
	t.Logf("the write took %s", took)
	if took < d/2 {
		t.Errorf("the write took %s, although a member was stopped for %s", took, d)
	}
}

// balancer sends requests to nodes in turn. It repeats a request on the next node only if its
// connection is refused: then no node has received it.
type balancer struct {
	nodes []*node
	turn  atomic.Int64
	// plain is set if it does not ask /readyz first. Then it repeats a request also if the
	// connection breaks, because that may be opened while a listener is closed.
	plain bool
}

// errNoneReady is the error of a request when no node is ready.
var errNoneReady = errors.New("no node is ready")

func (b *balancer) do(f func(n *node) error) (err error) {
	for range 2 * len(b.nodes) {
		n := b.nodes[int(b.turn.Add(1))%len(b.nodes)]
		if !b.plain && !n.ready() {
			err = errNoneReady
			continue
		}
		err = f(n)
		broken := b.plain && errors.Is(err, errConnection)
		if !broken && !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
	}
	return err
}

// TestRollingRestart restarts one node after the other behind clients of DAX and of HTTP. No
// client gets an error, even if it uses nodes that are not ready.
func TestRollingRestart(t *testing.T) {
	s := start(t, store(t), 3)
	s.createTable()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var requests [2]atomic.Int64
	errs := make(chan error, 1000)
	attempt := func(kind int, client string, f func(i int) error) {
		for i := 0; ctx.Err() == nil; i++ {
			began := time.Now()
			if err := f(i); err != nil && ctx.Err() == nil {
				select {
				case errs <- fmt.Errorf("client %s, %s after its begin: %w", client, time.Since(began), err):
				default:
				}
			}
			requests[kind].Add(1)
			pause.For(ctx, 5*time.Millisecond)
		}
	}
	balancers := []*balancer{{nodes: s.nodes}, {nodes: s.nodes, plain: true}}
	for c := range 4 {
		running.Go(func() {
			b := balancers[c%2]
			k := fmt.Sprintf("http-%d", c)
			attempt(0, k, func(i int) error {
				if err := b.do(func(n *node) error { return n.put(k, fmt.Sprint(i)) }); err != nil {
					return err
				}
				return b.do(func(n *node) error {
					value, _, err := n.get(k)
					if err == nil && value != fmt.Sprint(i) {
						err = fmt.Errorf("read %s after writing %d", value, i)
					}
					return err
				})
			})
		})
		cluster, err := daxclient.NewCluster(t.Context(), s.nodes[c%3].DAX, c%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		running.Go(func() {
			k := fmt.Sprintf("dax-%d", c)
			attempt(1, k, func(i int) error { return throughDAX(ctx, cluster, k, fmt.Sprint(i)) })
		})
	}
	began := time.Now()
	for _, n := range s.nodes {
		pause.For(ctx, time.Second)
		n.Terminate(t)
		n.Restart(t)
		harness.Await(t, "all nodes serve", 20*time.Second, s.whole)
	}
	pause.For(ctx, time.Second)
	took := time.Since(began)
	cancel()
	running.Wait()
	t.Logf("%s for 3 restarts; %d iterations of HTTP clients and %d of DAX clients, %d errors",
		took, requests[0].Load(), requests[1].Load(), len(errs))
	for i := 0; len(errs) > 0 && i < 10; i++ {
		t.Error(<-errs)
	}
}

// throughDAX writes a value and reads it again. Errors are repeated only as the clients of DAX
// do.
func throughDAX(ctx context.Context, cluster *daxclient.Cluster, k, value string) error {
	key := []byte(k)
	err := cluster.Do(func(c *daxclient.Conn) error {
		_, err := c.Put(ctx, "items", key, daxclient.Item{"v": `{"S":"` + value + `"}`}, false)
		return err
	})
	if err != nil {
		return err
	}
	return cluster.Do(func(c *daxclient.Conn) error {
		item, err := c.Get(ctx, "items", key, false)
		if err == nil && item["v"] != `{"S":"`+value+`"}` {
			err = fmt.Errorf("read %s after writing %s", item["v"], value)
		}
		return err
	})
}

// TestPurges purges through each node, over fast and over slow routes. When a purge is answered
// all nodes have dropped their copies. It reports how long that takes.
func TestPurges(t *testing.T) {
	url := store(t)
	s := start(t, url, 3)
	s.createTable()
	past := &node{Node: &harness.Node{URL: url}, name: "the store"}
	for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
		for _, n := range s.nodes {
			for _, o := range s.others(n) {
				s.net.Delay(n.name, o, delay)
			}
		}
		for i, n := range s.nodes {
			k := fmt.Sprint("k", i, delay)
			s.mustPut(n, k, "1")
			for _, o := range s.nodes {
				s.cached(o, k, "1")
			}
			s.mustPut(past, k, "2") // past all nodes
			began := time.Now()
			if err := n.Purge(fmt.Sprintf(`{"service":"db","table":"items","key":{"p":{"S":%q}}}`, k)); err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			for _, o := range s.nodes {
				if value, _, err := o.get(k); err != nil || value != "2" {
					t.Errorf("through %s after the purge through %s: got %q, %v, want 2 of the store", o.name, n.name, value, err)
				}
			}
			t.Logf("the purge through %s took %s, with routes that delay by %s", n.name, took, delay)
		}
	}
}

// TestPowerLoss kills all nodes at once and starts them again. The first one back takes the
// others out, and stores nothing as long as the origin may still execute earlier writes.
func TestPowerLoss(t *testing.T) {
	s := start(t, store(t), 3)
	s.createTable()
	s.mustPut(s.nodes[0], "k", "1")
	s.cached(s.nodes[1], "k", "1")
	for _, n := range s.nodes {
		n.Kill()
	}
	began := time.Now()
	s.nodes[1].Restart(t)
	first := time.Since(began)
	s.mustPut(s.nodes[1], "k", "2")
	write := time.Since(began)
	if value, hit, err := s.nodes[1].get("k"); err != nil || hit || value != "2" {
		t.Errorf("read: got %q, hit %t, %v, want 2 of the origin", value, hit, err)
	}
	s.nodes[0].Restart(t)
	s.nodes[2].Restart(t)
	harness.Await(t, "all nodes serve", 20*time.Second, s.whole)
	s.mustPut(s.nodes[0], "k", "3")
	for _, n := range s.nodes {
		if value, hit, err := n.get("k"); err != nil || hit || value != "3" {
			t.Errorf("read through %s: got %q, hit %t, %v, want 3 of the origin", n.name, value, hit, err)
		}
	}
	t.Logf("the first node was back after %s, a write through it was answered after %s", first, write)
}
