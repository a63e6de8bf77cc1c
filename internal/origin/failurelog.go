package origin

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// failureLogInterval is the minimum time between two messages of a FailureLog.
const failureLogInterval = 10 * time.Second

// FailureLog logs requests that an origin has failed: the first one at once, then at
// most one in failureLogInterval, with the number of those in between. So an origin that
// is down does not fill the log. The zero value is ready for use, also by several
// goroutines.
type FailureLog struct {
	next    atomic.Int64 // when the next message may be logged, in Unix nanoseconds
	skipped atomic.Uint64
}

// Log logs err, with attrs that name the request. A request whose client has left is no
// failure of the origin.
func (l *FailureLog) Log(log *slog.Logger, err error, attrs ...slog.Attr) {
	f, isFault := errors.AsType[*Fault](err)
	if isFault && f.Kind == Canceled || errors.Is(err, context.Canceled) {
		return
	}
	now, next := time.Now().UnixNano(), l.next.Load()
	if now < next || !l.next.CompareAndSwap(next, now+int64(failureLogInterval)) {
		l.skipped.Add(1)
		return
	}
	attrs = append(attrs, slog.Any("error", err), slog.Uint64("others_since_last", l.skipped.Swap(0)))
	log.LogAttrs(context.Background(), slog.LevelWarn, "the origin failed a request", attrs...)
}
