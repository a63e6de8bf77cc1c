package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCalls is the maximum number of calls without an answer. Further messages are not read.
const maxCalls = 32

// transport limits the calls of a client, and answers all of them before the connection ends.
// Without it, the SDK reads any number of calls, and drops their answers once the client has
// closed its side.
type transport struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (t transport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: c, pending: map[jsonrpc.ID]struct{}{}, answered: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// connection is a connection of a transport. One goroutine calls Read.
type connection struct {
	sdk.Connection
	mu      sync.Mutex
	pending map[jsonrpc.ID]struct{} // calls without an answer

	answered chan struct{} // has an element if pending may have shrunk since Read has seen it
	once     sync.Once     // closes closed
	closed   chan struct{}
}

// Read returns the next message. It returns the end of the input, or an error, when all calls
// are answered.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	c.await(ctx, maxCalls-1)
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.await(ctx, 0)
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.pending[r.ID] = struct{}{}
		c.mu.Unlock()
	}
	return m, nil
}

// await waits until at most n calls have no answer, or the connection is closed.
func (c *connection) await(ctx context.Context, n int) {
	for {
		c.mu.Lock()
		now := len(c.pending)
		c.mu.Unlock()
		if now <= n {
			return
		}
		select {
		case <-c.answered:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Write sends a message.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.pending, r.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// Close closes the connection.
func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
