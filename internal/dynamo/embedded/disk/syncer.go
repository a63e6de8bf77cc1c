package disk

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// syncEvery is the minimum interval between two syncs if no request waits for them. Writes
// reach the operating system before that.
const syncEvery = 20 * time.Millisecond

// maxPending is more than the number of batches that pebble allows to wait for a sync.
const maxPending = 4096

// batchSyncer waits for the sync of batches in the background: pebble uses a batch until it
// is synced. It owns the batches that are added.
type batchSyncer struct {
	log     *slog.Logger
	batches chan *pebble.Batch
	done    chan struct{}
}

func newBatchSyncer(log *slog.Logger) *batchSyncer {
	l := &batchSyncer{log: log, batches: make(chan *pebble.Batch, maxPending), done: make(chan struct{})}
	go l.run()
	return l
}

// add must not be called after close.
func (l *batchSyncer) add(b *pebble.Batch) { l.batches <- b }

func (l *batchSyncer) run() {
	defer close(l.done)
	logged := false
	for b := range l.batches {
		if err := b.SyncWait(); err != nil && !logged {
			logged = true
			l.log.Error("writes that were answered may not be on disk", slog.Any("error", err))
		}
		_ = b.Close()
	}
}

// close returns once all added batches are on disk.
func (l *batchSyncer) close() {
	close(l.batches)
	<-l.done
}
