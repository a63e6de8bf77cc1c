package embedded

import (
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// call is one request under way. It is pooled: its buffers keep their memory from
// one request to the next, so nothing that outlives the request may refer to them.
type call struct {
	s    *Store
	op   string // the operation's name
	body []byte
	host []byte    // the request's Host, empty if it is not known
	now  time.Time // when the request began

	// out is the reply's body under construction: in own, or in memory of the caller's
	// if lent.
	out, own []byte
	borrowed bool

	key     []byte // a key on disk
	scratch []byte
}

// maxKeptBuffer is the largest buffer that a call keeps: one great reply should not
// hold its memory for ever.
const maxKeptBuffer = 256 << 10

func (c *call) begin(s *Store, r *origin.Request) {
	c.s, c.body = s, r.Body
	c.now = s.clock()
	c.op = ""
	c.out, c.borrowed = r.Buf, r.Buf != nil
	if !c.borrowed {
		c.out = c.own[:0]
	}
	c.key, c.scratch = c.key[:0], c.scratch[:0]
}

// replyBody returns the finished reply's body, which is the caller's from now on.
func (c *call) replyBody() []byte {
	if c.borrowed {
		return c.out
	}
	c.own = c.out
	body := make([]byte, len(c.out))
	copy(body, c.out)
	return body
}

// end lets go of everything that belongs to the request.
func (c *call) end() {
	c.s, c.body, c.host, c.out = nil, nil, nil, nil
	for _, b := range []*[]byte{&c.own, &c.key, &c.scratch} {
		if cap(*b) > maxKeptBuffer {
			*b = nil
		}
	}
}
