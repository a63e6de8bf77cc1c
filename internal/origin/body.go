package origin

import (
	"io"
	"strconv"

	"github.com/kasoku/kasoku/internal/http1"
)

// readLength reads a body of known length into memory of exactly that size.
func (x *exchange) readLength(c *conn, limit int64) ([]byte, error) {
	if x.response.ContentLength > limit {
		return nil, tooLong(limit)
	}
	body := make([]byte, x.response.ContentLength)
	n := copy(body, x.in[x.begin:x.end])
	x.begin += n
	for n < len(body) {
		k, err := x.read(c, body[n:])
		if err != nil {
			return nil, unexpectedEOF(err, true)
		}
		n += k
	}
	return body, nil
}

// readChunks reads a chunked body, including its trailer.
func (x *exchange) readChunks(c *conn, limit int64) ([]byte, error) {
	x.chunks.Reset(limit)
	x.body = x.body[:0]
	for {
		body, n, done, err := x.chunks.Decode(x.body, x.in[x.begin:x.end])
		x.body = body
		x.begin += n
		switch {
		case err == http1.ErrTooLarge:
			return nil, tooLong(limit)
		case err != nil:
			return nil, err
		case done:
			return x.copyBody(), nil
		}
		if err := x.fill(c); err != nil {
			return nil, unexpectedEOF(err, true)
		}
	}
}

// readToEnd reads a body that ends with the connection.
func (x *exchange) readToEnd(c *conn, limit int64) ([]byte, error) {
	x.body = x.body[:0]
	for {
		x.body = append(x.body, x.in[x.begin:x.end]...)
		x.begin = x.end
		if int64(len(x.body)) > limit {
			return nil, tooLong(limit)
		}
		switch err := x.fill(c); {
		case err == io.EOF && !c.truncated():
			return x.copyBody(), nil
		case err != nil:
			return nil, unexpectedEOF(err, true)
		}
	}
}

// copyBody returns a copy of the body in memory of exactly its size.
func (x *exchange) copyBody() []byte {
	if len(x.body) == 0 {
		return nil
	}
	body := make([]byte, len(x.body))
	copy(body, x.body)
	return body
}

func tooLong(limit int64) error {
	return &http1.Error{Status: 502, Reason: "body longer than the " + strconv.FormatInt(limit, 10) + " bytes allowed"}
}
