package disk

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// syncEvery is the least time between two syncs where nobody waits for them. Writes reach
// the system meanwhile.
const syncEvery = 20 * time.Millisecond

// maxPending is more than pebble lets wait for a sync.
const maxPending = 4096

// batchSyncer waits for syncs in the place of those who wrote: until then pebble has a use for
// their batches. Batches belong to it once it has taken them.
type batchSyncer struct {
	log     *slog.Logger
	batches chan *pebble.Batch
	done    chan struct{}
}

func newLater(log *slog.Logger) *batchSyncer {
	l := &batchSyncer{log: log, batches: make(chan *pebble.Batch, maxPending), done: make(chan struct{})}
	go l.run()
	return l
}

// add is not called any more once close is.
func (l *batchSyncer) add(b *pebble.Batch) { l.batches <- b }

func (l *batchSyncer) run() {
	defer close(l.done)
	told := false
	for b := range l.batches {
		if err := b.SyncWait(); err != nil && !told {
			told = true
			l.log.Error("writes that were answered may not be on disk", slog.Any("error", err))
		}
		_ = b.Close()
	}
}

// close returns when all that was taken is on disk.
func (l *batchSyncer) close() {
	close(l.batches)
	<-l.done
}
