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

// FailureLog logs failed requests to an origin: the first one at once, then at most one per
// failureLogInterval, with the number of failures in between. So an origin that is down does
// not fill the log. The zero value is ready to use. It is safe for concurrent use.
type FailureLog struct {
	next    atomic.Int64 // when the next message may be logged, in Unix nanoseconds
	skipped atomic.Uint64
}

// Log logs err, with attrs that identify the request. It ignores requests whose client has
// disconnected, which are no failure of the origin.
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
