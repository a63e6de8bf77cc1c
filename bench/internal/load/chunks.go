package load

import (
	"bytes"
	"fmt"
	"strconv"
)

// chunk splits off the first chunk of a chunked body. It returns the data and the length
// including framing, and reports false if more bytes are needed. The last chunk has no data;
// trailer fields are not supported.
func chunk(body []byte) (data []byte, length int, ok bool, err error) {
	end := bytes.IndexByte(body, '\n')
	if end < 0 {
		return nil, 0, false, nil
	}
	digits, _, _ := bytes.Cut(bytes.TrimRight(body[:end], "\r"), []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 31)
	if err != nil {
		return nil, 0, false, fmt.Errorf("load: no size of a chunk in %.40q", body[:end])
	}
	length = end + 1 + int(size) + 2
	if len(body) < length {
		return nil, 0, false, nil
	}
	if body[length-2] != '\r' || body[length-1] != '\n' {
		return nil, 0, false, fmt.Errorf("load: a chunk of %d bytes ends with %q", size, body[length-2:length])
	}
	return body[end+1 : length-2], length, true, nil
}

// chunked returns the length of a complete chunked body.
func chunked(body []byte) (length int, ok bool, err error) {
	for {
		data, n, ok, err := chunk(body[length:])
		if !ok {
			return 0, false, err
		}
		length += n
		if len(data) == 0 {
			return length, true, nil
		}
	}
}

// join moves the data of a complete chunked body to its start.
func join(body []byte) []byte {
	joined := body[:0]
	for len(body) > 0 {
		data, n, _, _ := chunk(body)
		joined = append(joined, data...)
		body = body[n:]
	}
	return joined
}
