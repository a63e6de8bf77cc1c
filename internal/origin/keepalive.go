package origin

import (
	"bytes"
	"strconv"
	"time"
)

// keepFor takes in what the origin says of how long it keeps the connection when it
// is not used, in the field Keep-Alive ("timeout=5, max=100"; RFC 2068, 19.7.1.1). A
// write that meets a connection just being closed has an unknown outcome, so it is
// used no longer than until a second before, or half of a shorter time.
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
