package disk

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// syncEvery is the least time between two syncs where nobody waits for them. Writes reach
// the system meanwhile.
const syncEvery = 20 * time.Millisecond

// mostLater is more than pebble lets wait for a sync.
const mostLater = 4096

// later waits for syncs in the place of those who wrote: until then pebble has a use for
// their batches. Batches belong to it once it has taken them.
type later struct {
	log     *slog.Logger
	batches chan *pebble.Batch
	done    chan struct{}
}

func newLater(log *slog.Logger) *later {
	l := &later{log: log, batches: make(chan *pebble.Batch, mostLater), done: make(chan struct{})}
	go l.run()
	return l
}

// take is not called any more once close is.
func (l *later) take(b *pebble.Batch) { l.batches <- b }

func (l *later) run() {
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
func (l *later) close() {
	close(l.batches)
	<-l.done
}
