package httpcache

import (
	"errors"
	"io"
	"net/http"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// maxUnreadable is how many bodies in a row are fetched anew for one request because they
// can't be read from disk. Then it passes the cache by.
const maxUnreadable = 3

// openBody has the first bytes of an answer with o's body at hand, if that is on disk: a
// damaged body is found before anything has left, and the answer is fetched anew.
// Then it has been given, and false is returned.
func (c *call) openBody(o *store.Object, out *policy.Outcome) bool {
	if !o.OnDisk() || c.req.Method == policy.HEAD || out.Status == http.StatusNotModified ||
		out.Status == http.StatusRequestedRangeNotSatisfiable && out.Status != o.Head.Response.Status {
		return true
	}
	first := int64(0)
	if len(out.Spans) > 0 {
		first = out.Spans[0].Start
	}
	r, err := o.Body.Open()
	if err == nil {
		c.reader = r
		_, err = r.At(first)
	}
	if err == nil {
		return true
	}
	c.dropUnreadable(o, err)
	c.x.Reply.Reset()
	if c.unreadable++; c.unreadable > maxUnreadable {
		c.pass(policy.CacheFault)
	} else {
		c.read()
	}
	return false
}

// dropUnreadable takes away what can't be read from disk.
func (c *call) dropUnreadable(o *store.Object, err error) {
	c.closeReader()
	if errors.Is(err, disk.ErrDamaged) {
		o.Body.Damaged()
	}
	c.svc.store.Drop(c.key, o)
}

func (c *call) closeReader() {
	if c.reader != nil {
		c.reader.Close()
		c.reader = nil
	}
}

// copyRange sends n bytes of a body from offset from on. A body that turns out to be
// damaged is dropped; the answer is to be cut.
func (c *call) copyRange(out io.Writer, b *store.Body, from, n int64) error {
	if c.reader == nil {
		return b.WriteRange(out, from, n)
	}
	err := c.reader.WriteRange(out, from, n)
	if errors.Is(err, disk.ErrDamaged) {
		c.svc.store.DropDamaged(b)
		c.svc.metrics.cut.Inc()
	}
	return err
}
