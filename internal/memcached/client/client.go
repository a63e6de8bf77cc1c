package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
)

// Client asks servers. It is safe for concurrent use.
type Client struct {
	cfg     Config
	servers []*server
	began   time.Time

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // of connections and probes
}

// New makes a client. It connects to nothing before it is asked.
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

// Close ends all connections; requests under way and later ones find the servers Down.
// It returns when nothing of the client is running any more.
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

// spawn runs f in a goroutine that Close waits for, unless the client is closed.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.wg.Go(f)
	}
	return !c.closed
}

// sleep lets d pass. It returns false if the client is closed meanwhile.
func (c *Client) sleep(d time.Duration) bool {
	if d == 0 {
		return c.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// now is the time since the client was made.
func (c *Client) now() time.Duration { return time.Since(c.began) }

// CheckKey says why a server would not take key, or could be tricked by it: a key has 1
// to 250 bytes of 0x21-0x7e and 0x80-0xff.
func CheckKey(key []byte) error { return wire.CheckKey(key) }

// Meta says whether server speaks the meta protocol. It is false until a first
// connection has told, unless the configuration says so.
func (c *Client) Meta(server int) bool { return c.servers[server].meta() }

// GetOptions are what a Get asks beside the value.
type GetOptions struct {
	// Refresh is how long before its end the value is to be refreshed, by the one reader
	// that then has Call.Won: in whole seconds, rounded up. Text servers ignore it. 0 never.
	Refresh time.Duration
}

// Get asks server for the value of key, which must not change until it returns.
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

// Mode says on what condition a value is stored.
type Mode uint8

const (
	// Add stores if the server has no value for the key.
	Add Mode = iota
	// Set stores in any case.
	Set
	// CAS stores if the value is the one whose CAS number is told.
	CAS
)

var modes = [...]wire.Op{Add: wire.Add, Set: wire.Set, CAS: wire.CAS}

// Store gives server a value, for ttl, rounded up to seconds; 0 is for ever. key and value
// must not change until it returns. cas counts only with mode CAS.
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

// MarkStale keeps the value of key as a stale one for ttl, and lets the next reader win
// its refresh. With a cas other than 0 only the value with that CAS number is marked.
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

// maxRelative is the longest time that memcached takes as one from now.
const maxRelative = 30 * 24 * 60 * 60

// expiry gives a time to live as memcached has it.
func expiry(ttl time.Duration) int64 {
	n := seconds(ttl)
	if n > maxRelative {
		return time.Now().Unix() + n
	}
	return max(n, 0)
}
