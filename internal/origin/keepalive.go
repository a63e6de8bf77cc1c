package origin

import (
	"bytes"
	"strconv"
	"time"
)

// keepFor sets until from the field Keep-Alive ("timeout=5, max=100"; RFC 2068, 19.7.1.1),
// the time for which the origin keeps an idle connection. A write on a connection that is
// just being closed has an unknown outcome, so the connection is used until one second
// before that, or half of a shorter time.
func (c *conn) keepFor(field []byte) {
	c.until = time.Time{}
	if field == nil {
		return
	}
	for part := range bytes.SplitSeq(field, []byte{','}) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(part), []byte{'='})
		if !bytes.EqualFold(name, []byte("timeout")) {
			continue
		}
		if n, err := strconv.ParseUint(string(value), 10, 16); err == nil {
			keep := time.Duration(n) * time.Second
			c.until = time.Now().Add(keep - min(time.Second, keep/2))
		}
	}
}
