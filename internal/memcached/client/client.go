package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
	"github.com/kasoku/kasoku/internal/pause"
)

// Client sends requests to servers. It is safe for concurrent use.
type Client struct {
	cfg     Config
	servers []*server
	began   time.Time

	ctx    context.Context // cancelled by Close
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // for connections and probes
}

// New returns a client. It connects on demand.
func New(cfg Config) (*Client, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, began: time.Now()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for i := range cfg.Servers {
		c.servers = append(c.servers, newServer(c, &c.cfg.Servers[i]))
	}
	return c, nil
}

// Close closes all connections. Requests in flight and later ones return Down. It returns
// when no goroutine of the client is running.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	for _, s := range c.servers {
		for _, l := range s.lanes {
			l.close()
		}
	}
	c.wg.Wait()
}

var errClosed = errors.New("memcached: the client is closed")

// spawn runs f in a goroutine that Close waits for. It returns false if the client is
// closed.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.wg.Go(f)
	}
	return !c.closed
}

// sleep waits for d. It returns false if the client is closed meanwhile.
func (c *Client) sleep(d time.Duration) bool {
	if d == 0 {
		return c.ctx.Err() == nil
	}
	return pause.For(c.ctx, d)
}

// now returns the time since the client was created.
func (c *Client) now() time.Duration { return time.Since(c.began) }

// Meta reports whether server speaks the meta protocol. Unless that is configured, it is
// false until the first connection was made.
func (c *Client) Meta(server int) bool { return c.servers[server].meta() }

// GetOptions are further parameters of a Get.
type GetOptions struct {
	// Refresh is how long before its expiry the value is to be refreshed, by the one reader
	// for which Call.Won is then true. It is rounded up to seconds; 0 is never. Text servers
	// ignore it.
	Refresh time.Duration
}

// Get fetches the value of key from server. key must not change until it returns.
func (c *Client) Get(x *Call, server int, key []byte, opt GetOptions) Result {
	s := c.servers[server]
	x.begin(wire.Command{Op: wire.Get, Key: key, Refresh: seconds(opt.Refresh)})
	if wire.CheckKey(key) != nil {
		x.result = BadKey
	} else {
		s.do(x)
	}
	s.metrics.gets[x.result].Inc()
	return x.result
}

// Mode is the condition for storing a value.
type Mode uint8

const (
	// Add stores if the server has no value for the key.
	Add Mode = iota
	// Set always stores.
	Set
	// CAS stores if the value still has the given CAS number.
	CAS
)

var modes = [...]wire.Op{Add: wire.Add, Set: wire.Set, CAS: wire.CAS}

// Store stores a value for ttl, which is rounded up to seconds; 0 is without expiry. key and
// value must not change until it returns. cas is used only with mode CAS.
func (c *Client) Store(x *Call, server int, key, value []byte, flags uint32, ttl time.Duration, mode Mode, cas uint64) StoreResult {
	s := c.servers[server]
	x.begin(wire.Command{Op: modes[mode], Key: key, Value: value, Flags: flags, Expires: expiry(ttl), CAS: cas})
	if wire.CheckKey(key) == nil && s.tooLarge(key, value) {
		x.stored = TooLarge
		s.metrics.stores[TooLarge].Inc()
		return TooLarge
	}
	return s.change(x)
}

// Delete removes the value of key from server.
func (c *Client) Delete(x *Call, server int, key []byte) StoreResult {
	x.begin(wire.Command{Op: wire.Delete, Key: key})
	return c.servers[server].change(x)
}

// MarkStale keeps the value of key as a stale one for ttl, and lets the next reader win its
// refresh. A cas other than 0 restricts it to the value with that CAS number.
func (c *Client) MarkStale(x *Call, server int, key []byte, ttl time.Duration, cas uint64) StoreResult {
	s := c.servers[server]
	if p := Protocol(s.protocol.Load()); p == Text || p == Binary {
		return Unsupported
	}
	x.begin(wire.Command{Op: wire.MarkStale, Key: key, Expires: expiry(ttl), CAS: cas})
	return s.change(x)
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// maxRelative is the longest expiry in seconds that memcached reads as relative.
const maxRelative = 30 * 24 * 60 * 60

// expiry returns a time to live in memcached's format.
func expiry(ttl time.Duration) int64 {
	n := seconds(ttl)
	if n > maxRelative {
		return time.Now().Unix() + n
	}
	return max(n, 0)
}
