package live

import (
	"context"
	"sync"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// maxPending is the maximum number of bytes that wait for a reader.
const maxPending = 1 << 20

var allFields = telemetry.SelectFields(nil)

// Reader gets the records that a filter selects. Next and Close are for one goroutine.
type Reader struct {
	log    *Log
	filter *Filter
	ready  chan struct{} // buffered: something is pending

	mu      sync.Mutex
	pending []byte // lines
	lost    uint64 // lines that did not fit since the last Next

	taken []byte // as returned by the last Next
}

// add adds a record that the filter selects.
func (r *Reader) add(record *telemetry.Record) {
	if !r.filter.Match(record) {
		return
	}
	r.mu.Lock()
	if len(r.pending) < maxPending {
		r.pending = allFields.Append(r.pending, record)
	} else {
		r.lost++
	}
	r.mu.Unlock()
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// Next waits for records, and returns them as lines of JSON, and the number of records that were lost
// since the last call: they are newer than the lines. The lines are valid until the next call. It
// returns the error of ctx if that ends first.
func (r *Reader) Next(ctx context.Context) (lines []byte, lost uint64, err error) {
	select {
	case <-r.ready:
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	lines, lost = r.pending, r.lost
	r.pending, r.lost, r.taken = r.taken[:0], 0, lines
	return lines, lost, nil
}

// Close ends the reader.
func (r *Reader) Close() { r.log.remove(r) }
