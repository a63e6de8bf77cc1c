package embedded

import (
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
)

// call is a request in progress. It is pooled: its buffers keep their memory for the next
// request, so data that outlives the request must not refer to them.
type call struct {
	s    *Store
	op   string // the operation's name
	body []byte
	host []byte    // the request's Host, empty if unknown
	now  time.Time // start of the request

	// out is the body of the reply being built. It uses own, or memory of the caller if
	// borrowed is set.
	out, own []byte
	borrowed bool

	fault     *faults.Decision // nil without faults, as is modes
	modes     *faultState
	uncertain bool // executed, though the answer is an error

	key     []byte // a key on disk
	scratch []byte
}

// maxKeptBuffer is the largest buffer that a pooled call keeps, so that one large reply does
// not hold its memory forever.
const maxKeptBuffer = 256 << 10

func (c *call) begin(s *Store, r *Request) {
	c.s, c.body = s, r.Body
	c.now = s.clock()
	c.op, c.uncertain = "", false
	c.out, c.borrowed = r.Buf, r.Buf != nil
	if !c.borrowed {
		c.out = c.own[:0]
	}
	c.key, c.scratch = c.key[:0], c.scratch[:0]
}

// replyBody returns the body of the finished reply, which the caller then owns.
func (c *call) replyBody() []byte {
	if c.borrowed {
		return c.out
	}
	c.own = c.out
	body := make([]byte, len(c.out))
	copy(body, c.out)
	return body
}

// end releases all data of the request.
func (c *call) end() {
	c.s, c.body, c.host, c.out, c.fault, c.modes = nil, nil, nil, nil, nil, nil
	for _, b := range []*[]byte{&c.own, &c.key, &c.scratch} {
		if cap(*b) > maxKeptBuffer {
			*b = nil
		}
	}
}
