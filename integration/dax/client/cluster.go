package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ErrNoRoutes is the error of requests while the list of nodes is empty.
var ErrNoRoutes = errors.New("no routes found")

// Cluster is a client that finds nodes, pools connections and retries like the Go clients of
// DAX:
//
//   - It fetches the list of nodes from the seed, over a separate connection, every refresh
//     interval. It closes its connections to nodes that are not in the list; an empty list
//     leaves it without routes. A failed refresh changes nothing.
//   - Idle connections of a node are a stack: the most recently used one is used next. Idle
//     connections are not watched, so the first request over one that the node has closed
//     fails.
//   - A request is tried three times in all, without pauses, if the connection fails. Version 2
//     doesn't retry after the end of the stream, only after a reset.
//   - It fetches the list from each node over a pooled connection every health interval. A node
//     that doesn't answer gets a new pool.
//
// It is safe for concurrent use.
type Cluster struct {
	seed string
	v2   bool

	mu    sync.Mutex
	pools map[string]*pool // of the nodes in the list

	stop context.CancelFunc
	done sync.WaitGroup
}

// The intervals of the client. They are much shorter than those of the Go clients, 4 s and 5
// s.
const (
	refreshInterval = 50 * time.Millisecond
	healthInterval  = 200 * time.Millisecond
	attempts        = 3
)

// NewCluster returns a client of the node at seed, "dax://127.0.0.1:8111", that behaves like
// version 2 or version 1 of the Go client. It has fetched the list of nodes when it returns.
func NewCluster(ctx context.Context, seed string, v2 bool) (*Cluster, error) {
	c := &Cluster{seed: seed, v2: v2, pools: map[string]*pool{}}
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.done.Go(func() { every(ctx, refreshInterval, func() { _ = c.refresh(ctx) }) })
	c.done.Go(func() { every(ctx, healthInterval, func() { c.check(ctx) }) })
	return c, nil
}

// Close closes the client. No request may be in progress.
func (c *Cluster) Close() {
	c.stop()
	c.done.Wait()
	for _, p := range c.pools {
		p.close()
	}
}

func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}

func (c *Cluster) agent() string {
	if c.v2 {
		return "DaxGoV2Client-1.0.3"
	}
	return "DaxGoClient-1.2.15"
}

// refresh applies the list of nodes.
func (c *Cluster) refresh(ctx context.Context) error {
	ask := newConn(c.seed, c.agent())
	defer ask.Close()
	nodes, err := endpoints(ctx, ask)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pools := map[string]*pool{}
	for _, node := range nodes {
		if pools[node] = c.pools[node]; pools[node] == nil {
			pools[node] = &pool{addr: node, agent: c.agent()}
		}
	}
	for node, p := range c.pools {
		if pools[node] == nil {
			p.close()
		}
	}
	c.pools = pools
	return nil
}

// check replaces the pools of nodes that don't answer.
func (c *Cluster) check(ctx context.Context) {
	for _, p := range c.list() {
		var err error
		for range attempts + 1 {
			if err = p.do(func(conn *Conn) error { _, err := endpoints(ctx, conn); return err }); err == nil {
				break
			}
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		c.mu.Lock()
		if c.pools[p.addr] == p {
			c.pools[p.addr] = &pool{addr: p.addr, agent: c.agent()}
		}
		c.mu.Unlock()
		p.close()
	}
}

func (c *Cluster) list() (all []*pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		all = append(all, p)
	}
	return all
}

// Nodes returns the addresses of the nodes in the list, in order.
func (c *Cluster) Nodes() (all []string) {
	for _, p := range c.list() {
		all = append(all, p.addr)
	}
	slices.Sort(all)
	return all
}

// Do calls f with a pooled connection, and again after a failure of that connection.
func (c *Cluster) Do(f func(*Conn) error) (err error) {
	for range attempts {
		all := c.list()
		if len(all) == 0 {
			return ErrNoRoutes
		}
		if err = all[0].do(f); err == nil || !c.retries(err) {
			return err
		}
	}
	return err
}

func (c *Cluster) retries(err error) bool {
	var network net.Error
	return errors.As(err, &network) || !c.v2 && errors.Is(err, io.EOF)
}

// pool holds the idle connections to a node.
type pool struct {
	addr, agent string

	mu     sync.Mutex
	idle   []*Conn
	closed bool
}

func (p *pool) do(f func(*Conn) error) error {
	conn := p.get()
	err := f(conn)
	var reply *Error
	if err != nil && !errors.As(err, &reply) {
		conn.Close()
		return err
	}
	p.put(conn)
	return err
}

func (p *pool) get() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		conn := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return conn
	}
	return newConn(p.addr, p.agent)
}

func (p *pool) put(conn *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		conn.Close()
		return
	}
	p.idle = append(p.idle, conn)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, conn := range p.idle {
		conn.Close()
	}
	p.idle = nil
}

// endpoints returns the addresses in the list of nodes.
func endpoints(ctx context.Context, conn *Conn) (nodes []string, err error) {
	r, err := conn.Call(ctx, Endpoints, nil)
	if err != nil {
		return nil, err
	}
	n := r.Array()
	for r.More(&n) {
		var address netip.Addr
		var port uint16
		fields := r.Map()
		for r.More(&fields) {
			switch key := r.Int(); {
			case key == 2:
				address, _ = netip.AddrFromSlice(r.Bytes())
			case key == 3:
				port = uint16(r.Int())
			default:
				r.Skip()
			}
		}
		nodes = append(nodes, netip.AddrPortFrom(address, port).String())
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("list of nodes: %w", err)
	}
	return nodes, nil
}
