package socket

import (
	"context"
	"sync"
	"syscall"
	"time"
)

// firstCheck is the first interval of a Watch. It is short: a client that disconnects right
// after its request costs the origin little.
const firstCheck = 25 * time.Millisecond

// Watch checks periodically whether the peer of a connection has closed its end, while a
// request of the peer is served. It queries the kernel for the state of the connection and
// reads nothing, so that no byte of the next request is lost. The zero value is ready.
type Watch struct {
	raw      syscall.RawConn
	longest  time.Duration
	cancel   context.CancelCauseFunc
	cause    error
	mu       sync.Mutex  // held by a check, so that none runs when Stop has returned
	timer    *time.Timer // nil before the first Start
	running  bool
	interval time.Duration
}

// Start begins the checks of raw, and calls cancel with the cause if the peer has closed its
// end. The interval doubles with each check, up to longest. If raw is nil, Start does
// nothing. A Watch that was stopped can be started again.
func (w *Watch) Start(raw syscall.RawConn, longest time.Duration, cancel context.CancelCauseFunc, cause error) {
	if raw == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.raw, w.longest, w.cancel, w.cause, w.interval = raw, longest, cancel, cause, firstCheck
	w.running = true
	if w.timer == nil {
		w.timer = time.AfterFunc(w.interval, w.check)
	} else {
		w.timer.Reset(w.interval)
	}
}

func (w *Watch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.running:
	case PeerClosed(w.raw):
		w.cancel(w.cause)
	default:
		w.interval = min(2*w.interval, w.longest)
		w.timer.Reset(w.interval)
	}
}

// Stop ends the checks: after it has returned, none runs or starts.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running {
		w.running = false
		w.timer.Stop()
	}
}
