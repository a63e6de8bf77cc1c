package feed

import (
	"strconv"
	"sync"
)

// appendRow writes a row; follows is true if another went before it.
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

// opening is what stands before everything else.
func (f Form) opening() []byte {
	if f == Longpoll {
		return []byte("{\"results\":[\n")
	}
	return nil
}

// heartbeat says that there is nothing to tell.
func (f Form) heartbeat() []byte {
	if f == Eventsource {
		return []byte("event: heartbeat\ndata: \n\n")
	}
	return []byte("\n")
}

// closing is the end that the client can tell from a break: last is its position as
// JSON, pending how many rows are known to be behind it.
func (f Form) closing(last string, pending int) []byte {
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

// batch is what a client needs while it is written to.
type batch struct {
	rows [32]row
	text []byte
}

const (
	batchText    = 16 << 10
	maxBatchText = 64 << 10 // of a batch that is used again
)

var batches = sync.Pool{New: func() any { return &batch{text: make([]byte, 0, batchText)} }}

func (b *batch) release() {
	clear(b.rows[:])
	if cap(b.text) <= maxBatchText {
		batches.Put(b)
	}
}
