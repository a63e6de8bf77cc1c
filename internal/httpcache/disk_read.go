package httpcache

import (
	"errors"
	"io"
	"net/http"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// maxUnreadable is the number of unreadable bodies on disk for which one request is answered
// anew. After that, it bypasses the cache.
const maxUnreadable = 3

// openBody reads the first bytes of o's body if it is on disk, to find damage before
// anything is sent. If the body is damaged, openBody answers the request anew and returns
// false.
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
	if c.progress.unreadable++; c.progress.unreadable > maxUnreadable {
		c.pass(policy.CacheFault)
	} else {
		c.read()
	}
	return false
}

// dropUnreadable drops an object that cannot be read from disk.
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

// copyRange sends n bytes of a body that begin at offset from. It drops a body that is
// damaged; the caller must cut the answer.
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
