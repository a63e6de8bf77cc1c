package telemetry

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// JSONLines is a [Sink] that writes one JSON object a line.
//
// Log encodes into the buffer of a shard, nearly always the one of the processor
// that it runs on; one goroutine, the writer, collects the buffers and writes them.
//
//   - A shard's buffer belongs to whoever holds the shard's lock. The writer takes
//     the filled buffer under the lock, leaves the empty one of its last round,
//     and owns what it took until it comes to that shard again.
//   - A shard holds at most queue/shards records. Beyond it Log drops the record and
//     counts it: a disk that hangs costs records, never requests.
type JSONLines struct {
	w      io.WriteCloser
	fields FieldSet
	limit  int
	shards []logShard

	wake  chan struct{} // a shard is no longer empty
	hurry chan struct{} // a shard has much: don't linger
	stop  chan struct{} // closed by Close
	done  chan struct{} // closed by the writer when all is written

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
	spare   []byte // the writer's
	_       [40]byte
}

// linger is how long the writer waits for more lines once there is one, so that
// a quiet server does not pay a system call for each request.
const linger = 50 * time.Millisecond

// flushBytes in one shard are written without lingering any longer.
const flushBytes = 64 << 10

// A buffer that a burst has grown beyond this is given back to the collector.
const keepBuffer = 1 << 20

// NewJSONLines returns a sink that writes to w and closes it at the end. At most
// queue records wait for w at a time, shared out over the processors' shards;
// 0 means 16384. fields chooses and orders nothing but which fields are written:
// names from [Fields], none for all.
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

// Log queues r's line, or drops it when the queue is full.
func (j *JSONLines) Log(r *Record) {
	s := &j.shards[shard()]
	s.mu.Lock()
	if s.closed || s.records >= j.limit {
		s.mu.Unlock()
		j.dropped.Inc()
		return
	}
	before := len(s.buf)
	s.buf = j.fields.append(s.buf, r)
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

// signal leaves a note in c unless one is there.
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

// flush writes what every shard holds. A shard that is closed here takes
// nothing more, so that nothing is left behind in it.
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

// Close writes what is queued, closes the writer and returns its error. When
// ctx ends first, the writing goes on behind and ctx's error is returned.
func (j *JSONLines) Close(ctx context.Context) error {
	j.once.Do(func() { close(j.stop) })
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// LogStats is what has become of a sink's records.
type LogStats struct {
	Written uint64 `json:"written"` // handed to the writer, which took them
	Dropped uint64 `json:"dropped"` // the queue was full, or the sink closed
	Failed  uint64 `json:"failed"`  // the writer refused them

	// Of a sink that sends over a network.
	Pending    int    `json:"pending,omitempty"`     // accepted, in memory
	Spilled    int    `json:"spilled,omitempty"`     // accepted, on disk
	SpillBytes int64  `json:"spill_bytes,omitempty"` // that those on disk take
	Trouble    string `json:"trouble,omitempty"`     // why servers are down; empty when all are up
}

// Add adds what became of another sink's records.
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

// Stats counts since the sink was made.
func (j *JSONLines) Stats() LogStats {
	return LogStats{Written: j.written.Value(), Dropped: j.dropped.Value(), Failed: j.failed.Value()}
}

// Sample returns a sink that passes a share of the records on to s, from 0
// (none) to 1 (all), chosen without regard to their content.
func Sample(s Sink, share float64) Sink {
	switch {
	case share >= 1:
		return s
	case share <= 0:
		return &sampler{Sink: s}
	}
	return &sampler{Sink: s, step: uint64(share * (1 << 32))}
}

// sampler lets a record through whenever the sum of steps passes a whole 2^32:
// exactly the share asked for, evenly spread.
type sampler struct {
	Sink
	step uint64
	sum  []sampleLine
	init sync.Once
}

type sampleLine struct {
	n atomic.Uint64
	_ [120]byte
}

func (s *sampler) Log(r *Record) {
	s.init.Do(func() { s.sum = make([]sampleLine, shardCount) })
	after := s.sum[shard()].n.Add(s.step)
	if after>>32 != (after-s.step)>>32 {
		s.Sink.Log(r)
	}
}
