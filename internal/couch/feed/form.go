package feed

import (
	"strconv"
	"sync"
)

// appendRow appends a row; follows is true for all rows except the first.
func (f Form) appendRow(dst []byte, r *row, follows bool) []byte {
	switch f {
	case Longpoll:
		if follows {
			dst = append(dst, ",\r\n"...)
		}
		return append(dst, r.text...)
	case Eventsource:
		dst = append(append(dst, "data: "...), r.text...)
		dst = append(append(dst, "\nid: "...), r.seq...)
		return append(dst, "\n\n"...)
	}
	return append(append(dst, r.text...), '\n')
}

// head returns the text before the first row.
func (f Form) head() []byte {
	if f == Longpoll {
		return []byte("{\"results\":[\n")
	}
	return nil
}

// heartbeat returns the text of a heartbeat.
func (f Form) heartbeat() []byte {
	if f == Eventsource {
		return []byte("event: heartbeat\ndata: \n\n")
	}
	return []byte("\n")
}

// tail returns the end of a feed that ends in order. last is the client's position as JSON,
// pending the known number of rows after it.
func (f Form) tail(last string, pending int) []byte {
	var dst []byte
	switch f {
	case Eventsource:
		return nil
	case Longpoll:
		dst = append(dst, "\n],\n\"last_seq\":"...)
	default:
		dst = append(dst, "{\"last_seq\":"...)
	}
	dst = append(append(dst, last...), ",\"pending\":"...)
	return append(strconv.AppendInt(dst, int64(pending), 10), "}\n"...)
}

// batch has the buffers for writing to a client.
type batch struct {
	rows [32]row
	text []byte
}

const (
	batchText    = 16 << 10
	maxBatchText = 64 << 10 // of a batch that is returned to the pool
)

var batches = sync.Pool{New: func() any { return &batch{text: make([]byte, 0, batchText)} }}

func (b *batch) release() {
	clear(b.rows[:])
	if cap(b.text) <= maxBatchText {
		batches.Put(b)
	}
}
