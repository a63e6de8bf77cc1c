package transfer

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/pause"
)

const (
	// maxBatch is the maximum number of requests in a BatchWriteItem.
	maxBatch = 25
	// maxBatchBytes is the size from which a batch takes no further request. The service's
	// limit for requests is 16 MB.
	maxBatchBytes = 8 << 20
	// maxReplaced is the number of records of a batch that later ones have replaced, from which
	// the batch takes no further record.
	maxReplaced = 10 * maxBatch
	// maxQueue is the number of records that wait for a worker.
	maxQueue = 2 * maxBatch
)

// task is a record on its way to the store.
type task struct {
	record
	table  *table
	key    string
	place  place
	number int // in its source
	source *tracker
}

// place is the place of a record, for messages.
type place struct {
	file string
	line int
}

func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// writer writes records with parallel workers. All records of one key pass through one worker,
// so that they are written in their order.
type writer struct {
	*caller
	counters *counters
	cfg      *Config
	state    *stateFile
	queues   []chan task
	seed     maphash.Seed
	workers  sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

// startWriter starts the workers. They end with an error, which is the cause of the writer's
// context, or with close.
func startWriter(ctx context.Context, c *caller, cfg *Config, counters *counters, state *stateFile) *writer {
	w := &writer{caller: c, counters: counters, cfg: cfg, state: state, seed: maphash.MakeSeed()}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	for range cfg.Parallel {
		q := make(chan task, maxQueue)
		w.queues = append(w.queues, q)
		w.workers.Go(func() {
			if err := w.work(q); err != nil {
				w.cancel(err)
			}
		})
	}
	return w
}

// add adds a record. It returns the cause if the writer has ended.
func (w *writer) add(t task) error {
	q := w.queues[maphash.String(w.seed, t.key)%uint64(len(w.queues))]
	select {
	case q <- t:
		return nil
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
}

// close waits until everything is written, and returns the first error.
func (w *writer) close() error {
	for _, q := range w.queues {
		close(q)
	}
	w.workers.Wait()
	err := context.Cause(w.ctx)
	w.cancel(nil)
	return err
}

// fail reports a record that can't be written. It returns an error if the run must stop.
func (w *writer) fail(at place, source *tracker, number int, why error) error {
	w.counters.failed.Add(1)
	if !w.cfg.KeepGoing {
		return fmt.Errorf("%s: %w", at, why)
	}
	w.cfg.report(at.String() + ": " + why.Error())
	source.finish(number)
	return nil
}

// batch are requests of one table, at most one for each key.
type batch struct {
	tasks    []task
	texts    [][]byte // their requests
	index    map[string]int
	replaced []task // records whose key has a later record in the batch
	bytes    int
}

// add adds a record. It replaces an earlier one with the same key: BatchWriteItem refuses two.
func (b *batch) add(t task) {
	text := t.appendRequest(nil)
	b.bytes += len(text)
	if i, ok := b.index[t.key]; ok {
		b.bytes -= len(b.texts[i])
		b.replaced = append(b.replaced, b.tasks[i])
		b.tasks[i], b.texts[i] = t, text
		return
	}
	if b.index == nil {
		b.index = make(map[string]int, maxBatch)
	}
	b.index[t.key] = len(b.tasks)
	b.tasks, b.texts = append(b.tasks, t), append(b.texts, text)
}

// full reports whether the batch must be written before a record is added.
func (b *batch) full(t *task) bool {
	return len(b.tasks) > 0 && (len(b.tasks) == maxBatch || len(b.replaced) >= maxReplaced || b.bytes >= maxBatchBytes || b.tasks[0].table != t.table)
}

// work writes the records of a queue.
func (w *writer) work(q <-chan task) error {
	b := &batch{}
	for {
		select {
		case <-w.ctx.Done():
			return nil
		case t, ok := <-q:
			if !ok || b.full(&t) {
				if err := w.write(b); err != nil {
					return err
				}
				b = &batch{}
			}
			if !ok {
				return nil
			}
			b.add(t)
		}
	}
}

// write writes a batch. Requests that the store has not processed are sent again.
func (w *writer) write(b *batch) error {
	var pauses backoff
	progress := time.Now()
	for pending := b; len(pending.tasks) > 0; {
		answer, err := w.call(w.ctx, "BatchWriteItem", pending.body())
		if refused(err) {
			return w.writeEach(pending, b.replaced)
		}
		if err != nil {
			return err
		}
		rest, err := pending.unprocessed(answer)
		if err != nil {
			return fmt.Errorf("%s: BatchWriteItem: %w", w.Name(), err)
		}
		done := len(pending.tasks) - len(rest.tasks)
		for i := range pending.tasks {
			if _, again := rest.index[pending.tasks[i].key]; !again {
				w.finish(&pending.tasks[i], len(pending.texts[i]))
			}
		}
		pending = rest
		if len(rest.tasks) == 0 {
			break
		}
		if done > 0 {
			progress, pauses = time.Now(), 0
		} else if time.Since(progress) > w.giveUp {
			return fmt.Errorf("%s: BatchWriteItem: given up after %s in which no request was processed", w.Name(), w.giveUp)
		}
		w.counters.retries.Add(int64(len(rest.tasks)))
		if !pause.For(w.ctx, pauses.next()) {
			return context.Cause(w.ctx)
		}
	}
	for i := range b.replaced {
		w.finish(&b.replaced[i], 0)
	}
	w.cfg.progress(w.counters)
	return w.state.save(false)
}

// refused reports whether an error is caused by one of the requests of a batch.
func refused(err error) bool {
	typ := errorType(err)
	return typ == "ValidationException" || typ == "ItemCollectionSizeLimitExceededException" || typ == "SerializationException"
}

// finish counts a record that is written, or replaced by one that is.
func (w *writer) finish(t *task, size int) {
	t.source.finish(t.number)
	if t.deletion {
		w.counters.deleted.Add(1)
	} else {
		w.counters.items.Add(1)
	}
	w.counters.bytes.Add(int64(size))
}

// writeEach writes the records of a batch that was refused, to find those that are the reason.
func (w *writer) writeEach(b *batch, replaced []task) error {
	for i := range b.tasks {
		t := &b.tasks[i]
		operation, member := "PutItem", `,"Item":`
		if t.deletion {
			operation, member = "DeleteItem", `,"Key":`
		}
		body := append(wire.AppendQuoted([]byte(`{"TableName":`), []byte(t.table.name)), member...)
		_, err := w.call(w.ctx, operation, append(t.item.AppendItem(body), '}'))
		switch {
		case refused(err):
			if e, ok := errors.AsType[*ServiceError](err); ok {
				err = errors.New(e.Message)
			}
			if err = w.fail(t.place, t.source, t.number, err); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			w.finish(t, len(b.texts[i]))
		}
	}
	for i := range replaced {
		w.finish(&replaced[i], 0)
	}
	return nil
}

// body returns the request of a batch.
func (b *batch) body() []byte {
	dst := make([]byte, 0, b.bytes+len(b.tasks)+300)
	dst = append(wire.AppendQuoted(append(dst, `{"RequestItems":{`...), []byte(b.tasks[0].table.name)), ":["...)
	for i, text := range b.texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text...)
	}
	return append(dst, "]}}"...)
}

// unprocessed returns the requests of a batch that an answer lists as not processed.
func (b *batch) unprocessed(answer []byte) (*batch, error) {
	rest := &batch{}
	tables, ok := wire.Lookup(answer, "UnprocessedItems")
	if !ok {
		return rest, nil
	}
	for it := wire.Object(tables); it.Next(); {
		for requests := wire.Array(it.Value()); requests.Next(); {
			item, deletion := []byte(nil), false
			if put, ok := wire.Lookup(requests.Value(), "PutRequest"); ok {
				item, _ = wire.Lookup(put, "Item")
			} else if del, ok := wire.Lookup(requests.Value(), "DeleteRequest"); ok {
				item, _ = wire.Lookup(del, "Key")
				deletion = true
			}
			i, err := b.find(item, deletion)
			if err != nil {
				return nil, err
			}
			rest.add(b.tasks[i])
		}
	}
	return rest, nil
}

// find returns the request of the batch with the key of an item in an answer.
func (b *batch) find(item []byte, deletion bool) (int, error) {
	r := record{deletion: deletion}
	parsed, err := parseRecord(item, b.tasks[0].table)
	if err != nil {
		return 0, fmt.Errorf("an unprocessed item can't be read: %w", err)
	}
	r.item = parsed.item
	key, err := r.key(b.tasks[0].table)
	i, ok := b.index[key]
	if err != nil || !ok {
		return 0, errors.New("an unprocessed item is none of the request")
	}
	return i, nil
}
