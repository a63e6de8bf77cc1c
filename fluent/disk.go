package fluent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/kasoku/kasoku/fluent/internal/spool"
)

// disk is the part of the queue that WithSpill keeps in files: batches older than the ones
// in memory. Methods may be called on nil, which is empty.
type disk struct {
	spool *spool.Spool
	fault func(error)

	mu      sync.Mutex
	waiting int            // batches not read yet
	written uint64         // batches written so far
	stuck   bool           // reading failed; the spiller enables another attempt
	wanted  []chan<- error // waiters for a sync
	closed  error          // error of closing, set before Shutdown is done
}

// openDisk opens the directory of WithSpill. Later failures and losses are passed to fault.
func openDisk(o *options, fault func(error)) (*disk, error) {
	s, found, err := spool.Open(o.spillDir, spool.Options{MaxBytes: o.spill.MaxBytes, Sync: o.spill.Sync, Report: fault})
	if err != nil {
		return nil, fmt.Errorf("fluent: %w", err)
	}
	if found.DamagedBytes > 0 {
		fault(fmt.Errorf("fluent: %s: %s", o.spillDir, found))
	}
	return &disk{spool: s, fault: fault, waiting: found.Payloads}, nil
}

// unread reports whether there are batches to read.
func (d *disk) unread() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting > 0 && !d.stuck
}

// read removes the oldest batch, or returns nil if none can be read now.
func (d *disk) read() *batch {
	for {
		d.mu.Lock()
		written := d.written
		d.mu.Unlock()
		id, payload, err := d.spool.Next()
		d.took(written, err)
		if errors.Is(err, spool.ErrEmpty) {
			return nil
		}
		if err != nil {
			d.fault(err)
			return nil
		}
		b, err := parseBatch(payload)
		if err == nil {
			b.spooled, b.spoolID = true, id
			return b
		}
		d.fault(err)
		d.spool.Done(id)
	}
}

// took updates the state after a call of Next. written is the number of batches written before
// the call. The spool skips damaged batches, so it may be empty before as many are read as were
// written.
func (d *disk) took(written uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.waiting = max(d.waiting-1, 0)
	case !errors.Is(err, spool.ErrEmpty):
		d.stuck = true
	case written == d.written:
		d.waiting = 0
	}
}

// unstick enables another attempt after a failed read and reports whether there was one.
func (d *disk) unstick() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.stuck
	d.stuck = false
	return was
}

// isStuck reports whether the last read failed.
func (d *disk) isStuck() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stuck
}

// write appends b.
func (d *disk) write(scratch []byte, b *batch) ([]byte, error) {
	scratch = b.appendTo(scratch[:0])
	if err := d.spool.Append(scratch, b.records); err != nil {
		return scratch, err
	}
	d.mu.Lock()
	d.written++
	d.waiting++
	d.mu.Unlock()
	return scratch, nil
}

// done removes a batch that was read.
func (d *disk) done(b *batch) { d.spool.Done(b.spoolID) }

// records returns the records on disk that are not done.
func (d *disk) records() (records int, bytes int64) {
	if d == nil {
		return 0, 0
	}
	_, records, bytes = d.spool.Len()
	return records, bytes
}

// lost returns the number of records found damaged since the directory was opened. Earlier
// damage is not counted, but was reported.
func (d *disk) lost() uint64 {
	if d == nil {
		return 0
	}
	_, records, _ := d.spool.Lost()
	return uint64(records)
}

// want requests a sync from the spiller.
func (d *disk) want() <-chan error {
	synced := make(chan error, 1)
	d.mu.Lock()
	d.wanted = append(d.wanted, synced)
	d.mu.Unlock()
	return synced
}

// sync syncs for the requests made with want.
func (d *disk) sync() {
	d.mu.Lock()
	wanted := d.wanted
	d.wanted = nil
	d.mu.Unlock()
	if len(wanted) == 0 {
		return
	}
	err := d.spool.Sync()
	for _, synced := range wanted {
		synced <- err
	}
}

// close releases the directory.
func (d *disk) close() error {
	if d == nil {
		return nil
	}
	d.closed = errors.Join(d.closed, d.spool.Close())
	return d.closed
}

// closingFailed returns the error of close.
func (d *disk) closingFailed() error {
	if d == nil || d.closed == nil {
		return nil
	}
	return fmt.Errorf("fluent: %w", d.closed)
}

// batchFormat is the first byte of a batch on disk. It is followed by the tag and the id,
// each after its length, the number of records, and the entries.
const batchFormat = 1

func (b *batch) appendTo(dst []byte) []byte {
	dst = append(dst, batchFormat)
	dst = binary.AppendUvarint(dst, uint64(len(b.tag)))
	dst = append(dst, b.tag...)
	dst = binary.AppendUvarint(dst, uint64(len(b.id)))
	dst = append(dst, b.id...)
	dst = binary.AppendUvarint(dst, uint64(b.records))
	return append(dst, b.entries...)
}

var errBatchFormat = errors.New("fluent: a batch on disk has a form that this version can't read")

func parseBatch(p []byte) (*batch, error) {
	if len(p) == 0 || p[0] != batchFormat {
		return nil, errBatchFormat
	}
	p = p[1:]
	number := func() int {
		v, n := binary.Uvarint(p)
		if n <= 0 || v > math.MaxInt32 {
			p = nil
			return -1
		}
		p = p[n:]
		return int(v)
	}
	text := func() (string, bool) {
		n := number()
		if n < 0 || n > len(p) {
			return "", false
		}
		s := string(p[:n])
		p = p[n:]
		return s, true
	}
	tag, ok := text()
	id, idOK := text()
	records := number()
	if !ok || !idOK || records <= 0 {
		return nil, errBatchFormat
	}
	return &batch{tag: tag, id: id, records: records, entries: p}, nil
}

// syncDisk waits until the spiller has synced everything written before, or until ctx ends.
func (l *Logger) syncDisk(ctx context.Context) error {
	synced := l.disk.want()
	signal(l.queue.spill)
	select {
	case err := <-synced:
		return err
	case <-l.ending.done:
		return l.disk.closed
	case <-ctx.Done():
		return ctx.Err()
	}
}
