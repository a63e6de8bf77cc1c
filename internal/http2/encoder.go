package http2

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/ascii"
)

// AppendStatus appends the field :status to a header block.
func AppendStatus(dst []byte, status int) []byte {
	const first = 8 // the index of :status 200
	for i := first; i < first+7; i++ {
		if statusOf[i-first] == status {
			return append(dst, 0x80|byte(i))
		}
	}
	return strconv.AppendInt(append(dst, first, 3), int64(status), 10)
}

// statusOf has the statuses of the static table.
var statusOf = [...]int{200, 204, 206, 304, 400, 404, 500}

// AppendField appends a field to a header block, with its name in lower case. It is not added
// to the peer's table, so that blocks do not depend on one another.
func AppendField[T string | []byte](dst []byte, name, value T) []byte {
	var buf [40]byte
	lower := ascii.AppendLower(buf[:0], name)
	if index := staticNames()[string(lower)]; index > 0 {
		dst = appendInteger(dst, 0, 4, int(index))
	} else {
		dst = append(appendInteger(append(dst, 0), 0, 7, len(lower)), lower...)
	}
	return append(appendInteger(dst, 0, 7, len(value)), value...)
}

// appendInteger appends an integer behind the high bits of its first byte.
func appendInteger(dst []byte, high byte, prefix uint8, n int) []byte {
	limit := 1<<prefix - 1
	if n < limit {
		return append(dst, high|byte(n))
	}
	dst = append(dst, high|byte(limit))
	for n -= limit; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}
