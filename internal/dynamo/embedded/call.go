package embedded

import (
	"context"
	"time"
)

// call is one request under way. It is pooled: its buffers keep their memory from
// one request to the next, so nothing that outlives the request may refer to them.
type call struct {
	s    *Store
	ctx  context.Context
	op   string // the operation's name
	body []byte
	host []byte    // the request's Host, empty if it is not known
	now  time.Time // when the request began

	out     []byte // the reply's body under construction
	key     []byte // a key on disk
	scratch []byte
}

// keptBuffer is the largest buffer that a call keeps: one great reply should not
// hold its memory for ever.
const keptBuffer = 256 << 10

func (c *call) begin(s *Store, ctx context.Context, body []byte) {
	c.s, c.ctx, c.body = s, ctx, body
	c.now = s.clock()
	c.op = ""
	c.out, c.key, c.scratch = c.out[:0], c.key[:0], c.scratch[:0]
}

// end lets go of everything that belongs to the request.
func (c *call) end() {
	c.s, c.ctx, c.body, c.host = nil, nil, nil, nil
	for _, b := range []*[]byte{&c.out, &c.key, &c.scratch} {
		if cap(*b) > keptBuffer {
			*b = nil
		}
	}
}
