package telemetry

import (
	"context"
	"io"
	"sync"
	"time"
)

// JSONLines is a [Sink] that writes one JSON object per line.
//
// Log encodes into the buffer of a shard, nearly always that of the current processor; one
// goroutine, the writer, collects the buffers and writes them.
//
//   - A shard's buffer is guarded by the shard's lock. The writer swaps the filled buffer
//     for the empty one of its last round under the lock, and owns it until the next swap
//     of that shard.
//   - A shard holds at most queue/shards records. Beyond that Log drops the record and
//     counts it: a hanging disk costs records, never requests.
type JSONLines struct {
	w      io.WriteCloser
	fields FieldSet
	limit  int
	shards []logShard

	wake  chan struct{} // a shard is no longer empty
	hurry chan struct{} // a shard has many bytes: write at once
	stop  chan struct{} // closed by Close
	done  chan struct{} // closed by the writer when everything is written

	once    sync.Once
	written *Counter
	dropped *Counter
	failed  *Counter
	err     error // of closing w; set before done is closed
}

type logShard struct {
	mu      sync.Mutex
	buf     []byte
	records int
	closed  bool
	spare   []byte // used by the writer
	_       [40]byte
}

// linger is how long the writer waits for more lines after the first one, so that a server
// with little traffic does not need a system call per request.
const linger = 50 * time.Millisecond

// flushBytes is the size of a shard's buffer from which it is written without waiting.
const flushBytes = 64 << 10

// keepBuffer is the capacity above which a buffer grown by a burst is released.
const keepBuffer = 1 << 20

// NewJSONLines returns a sink that writes to w and closes it at the end. At most queue
// records wait for w at a time, divided among the shards; 0 means 16384. fields selects the
// fields to write, in the fixed order: names from [Fields], all fields if empty.
func NewJSONLines(w io.WriteCloser, queue int, fields ...string) *JSONLines {
	if queue <= 0 {
		queue = 16384
	}
	j := &JSONLines{
		w:       w,
		fields:  SelectFields(fields),
		limit:   max(1, queue/int(shardCount)),
		shards:  make([]logShard, shardCount),
		wake:    make(chan struct{}, 1),
		hurry:   make(chan struct{}, 1),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		written: NewCounter(),
		dropped: NewCounter(),
		failed:  NewCounter(),
	}
	go j.run()
	return j
}

// Log queues a line for r, or drops it if the queue is full.
func (j *JSONLines) Log(r *Record) {
	s := &j.shards[shard()]
	s.mu.Lock()
	if s.closed || s.records >= j.limit {
		s.mu.Unlock()
		j.dropped.Inc()
		return
	}
	before := len(s.buf)
	s.buf = j.fields.Append(s.buf, r)
	after := len(s.buf)
	s.records++
	n := s.records
	s.mu.Unlock()
	if n == 1 {
		signal(j.wake)
	}
	if n == (j.limit+1)/2 || before < flushBytes && after >= flushBytes {
		signal(j.hurry)
	}
}

// signal sends to c unless a signal is pending.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (j *JSONLines) run() {
	defer close(j.done)
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for stopped := false; !stopped; {
		select {
		case <-j.wake:
			timer.Reset(linger)
			select {
			case <-timer.C:
			case <-j.hurry:
			case <-j.stop:
			}
		case <-j.hurry:
		case <-j.stop:
			stopped = true
		}
		j.flush(stopped)
	}
	j.err = j.w.Close()
}

// flush writes the contents of all shards. With last it also closes them, so that nothing is
// added afterwards.
func (j *JSONLines) flush(last bool) {
	for i := range j.shards {
		s := &j.shards[i]
		s.mu.Lock()
		buf, n := s.buf, s.records
		s.buf, s.records = s.spare[:0], 0
		s.closed = last
		s.mu.Unlock()
		if n > 0 {
			if _, err := j.w.Write(buf); err != nil {
				j.failed.Add(uint64(n))
			} else {
				j.written.Add(uint64(n))
			}
		}
		if cap(buf) > keepBuffer {
			buf = nil
		}
		s.spare = buf
	}
}

// Close writes the queued lines, closes the writer and returns its error. If ctx ends first,
// it returns ctx's error while the writing continues.
func (j *JSONLines) Close(ctx context.Context) error {
	j.once.Do(func() { close(j.stop) })
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// LogStats counts the records of a sink.
type LogStats struct {
	Written uint64 `json:"written"` // written successfully
	Dropped uint64 `json:"dropped"` // the queue was full, or the sink closed
	Failed  uint64 `json:"failed"`  // the write failed

	// Only for a sink that sends over a network.
	Pending    int    `json:"pending,omitempty"`     // accepted, in memory
	Spilled    int    `json:"spilled,omitempty"`     // accepted, on disk
	SpillBytes int64  `json:"spill_bytes,omitempty"` // size of the records on disk
	Trouble    string `json:"trouble,omitempty"`     // why servers are down; empty when all are up
}

// Add adds the counters of another sink.
func (t *LogStats) Add(o LogStats) {
	t.Written += o.Written
	t.Dropped += o.Dropped
	t.Failed += o.Failed
	t.Pending += o.Pending
	t.Spilled += o.Spilled
	t.SpillBytes += o.SpillBytes
	if t.Trouble == "" {
		t.Trouble = o.Trouble
	}
}

// Stats returns the counters since the sink was made.
func (j *JSONLines) Stats() LogStats {
	return LogStats{Written: j.written.Value(), Dropped: j.dropped.Value(), Failed: j.failed.Value()}
}

// Sample returns a sink that passes a share of the records on to s, from 0 (none) to 1
// (all), independently of their content.
func Sample(s Sink, share float64) Sink {
	switch {
	case share >= 1:
		return s
	case share <= 0:
		return &sampler{Sink: s}
	}
	return &sampler{Sink: s, step: uint64(share * (1 << 32))}
}

// sampler passes a record on whenever the sum of steps exceeds another 2^32: exactly the
// given share, evenly distributed.
type sampler struct {
	Sink
	step uint64
	sum  []counterLine
	init sync.Once
}

func (s *sampler) Log(r *Record) {
	s.init.Do(func() { s.sum = make([]counterLine, shardCount) })
	after := s.sum[shard()].n.Add(s.step)
	if after>>32 != (after-s.step)>>32 {
		s.Sink.Log(r)
	}
}
