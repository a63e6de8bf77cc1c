// Package client is a small DAX client: one connection, without signatures and without
// retries, for checks that depend on the outcome of each request.
package client

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// Method is a method's number in the protocol, and the number of items in its reply.
type Method struct {
	id      int64
	replies int
}

// The methods used by checks.
var (
	Endpoints             = Method{455855874, 1}
	DefineKeySchema       = Method{-742646399, 1}
	DefineAttributeListID = Method{-1230579644, 1}
	DefineAttributeList   = Method{670678385, 1}
	GetItem               = Method{263244906, 1}
	PutItem               = Method{-2106490455, 1}
	UpdateItem            = Method{1425579023, 1}
	DeleteItem            = Method{1013539361, 1}
	Query                 = Method{-931250863, 1}
	BatchGetItem          = Method{-697851100, 2}
)

// Error is an error reply.
type Error struct {
	Codes   []int64
	Message string
	Type    string // DynamoDB's name, or ""
}

func (e *Error) Error() string { return fmt.Sprintf("%v %s: %s", e.Codes, e.Type, e.Message) }

// Conn is a connection to a node. It must not be used concurrently.
type Conn struct {
	addr  string
	agent string
	net   net.Conn // nil: not connected
	in    []byte   // bytes of the reply read so far
	out   []byte

	lists map[int64][]string
	ids   map[string]int64
}

// New returns a connection to the node at addr, "dax://127.0.0.1:8111". It connects on first
// use.
func New(addr string) *Conn { return newConn(addr, "KasokuTest-1") }

// newConn is like New, for a client that identifies itself as agent.
func newConn(addr, agent string) *Conn {
	return &Conn{addr: strings.TrimPrefix(addr, "dax://"), agent: agent, lists: map[int64][]string{1: {}}, ids: map[string]int64{"": 1}}
}

// Addr returns the address of the node.
func (c *Conn) Addr() string { return c.addr }

// Close closes the connection; the next call opens another one.
func (c *Conn) Close() {
	if c.net != nil {
		c.net.Close()
		c.net = nil
	}
}

// Partial sends only the first n bytes of a request.
func (c *Conn) Partial(ctx context.Context, m Method, args []byte, n int) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	_, err := c.net.Write(request(nil, m, args)[:n])
	return err
}

// Send sends a request and leaves the reply unread.
func (c *Conn) Send(ctx context.Context, m Method, args []byte) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	_, err := c.net.Write(request(nil, m, args))
	return err
}

// Call sends one request. The error is an *Error if the node has returned one; otherwise the
// outcome of the request is unknown, and the connection is closed. The reader is valid until
// the next call.
func (c *Conn) Call(ctx context.Context, m Method, args []byte) (cbor.Reader, error) {
	if err := c.connect(ctx); err != nil {
		return cbor.Reader{}, err
	}
	conn := c.net // c.net may be closed and cleared while the function runs
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			c.Close() // its deadline is over
		}
	}()
	c.out = request(c.out[:0], m, args)
	if _, err := c.net.Write(c.out); err != nil {
		c.Close()
		return cbor.Reader{}, err
	}
	r, err := c.reply(m)
	if err != nil {
		c.Close()
		return cbor.Reader{}, err
	}
	if n := r.Array(); n > 0 {
		return cbor.Reader{}, failure(&r, n)
	}
	return r, r.Err()
}

func (c *Conn) connect(ctx context.Context) (err error) {
	if c.net != nil {
		return nil
	}
	if c.net, err = (&net.Dialer{}).DialContext(ctx, "tcp", c.addr); err != nil {
		return err
	}
	preamble := cbor.AppendText(nil, "J7yne5G")
	preamble = cbor.AppendInt(preamble, 0)
	preamble = cbor.AppendText(preamble, "0")
	preamble = cbor.AppendMap(preamble, 1)
	preamble = cbor.AppendText(cbor.AppendText(preamble, "UserAgent"), c.agent)
	_, err = c.net.Write(cbor.AppendInt(preamble, 0))
	return err
}

func request(dst []byte, m Method, args []byte) []byte {
	return append(cbor.AppendInt(cbor.AppendInt(dst, 1), m.id), args...)
}

// reply reads a complete reply. Its first item determines the number of items.
func (c *Conn) reply(m Method) (cbor.Reader, error) {
	c.in = c.in[:0]
	var s cbor.Scanner
	s.Begin(1)
	first := true
	for {
		end, whole, err := s.Scan(c.in)
		if err != nil {
			return cbor.Reader{}, err
		}
		switch {
		case whole && first:
			first = false
			items := 1 + m.replies
			if status := cbor.NewReader(c.in); status.Array() > 0 {
				items = 3
			}
			s.Begin(items)
			continue
		case whole:
			return cbor.NewReader(c.in[:end]), nil
		}
		part := make([]byte, 16<<10)
		n, err := c.net.Read(part)
		if err != nil {
			return cbor.Reader{}, err
		}
		c.in = append(c.in, part[:n]...)
	}
}

func failure(r *cbor.Reader, codes int) error {
	e := &Error{}
	for range codes {
		e.Codes = append(e.Codes, r.Int())
	}
	e.Message = string(r.Text())
	if !r.Null() && r.Array() >= 3 {
		r.Skip()
		if !r.Null() {
			e.Type = string(r.Text())
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	return e
}
