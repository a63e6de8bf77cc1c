package httpcache

import (
	"io"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// collector keeps a body that is copied for one client, up to max bytes and while there is
// memory for fetches. It gives up slow clients while that memory is half used, because
// clients can cause any number of these. done gets the whole body before the client has the
// last of it. A nil collector keeps nothing.
type collector struct {
	flights *flight.Group
	max     int64 // longest body, in bytes
	done    func(body []byte)

	bytes []byte // counted among the bytes that flights hold
	began time.Time
	over  bool
}

func (k *collector) add(p []byte, err error) {
	if k == nil || k.over {
		return
	}
	if k.began.IsZero() {
		k.began = time.Now()
	}
	if !k.acquire(int64(len(p))) {
		k.release()
		return
	}
	if k.bytes = append(k.bytes, p...); err == io.EOF {
		k.done(k.bytes)
		k.release()
	}
}

// acquire counts n more bytes, if they may be held.
func (k *collector) acquire(n int64) bool {
	slow := time.Since(k.began) > store.DrainSeconds*time.Second
	return int64(len(k.bytes))+n <= k.max && k.flights.Acquire(n, slow)
}

// release frees the body and stops collecting.
func (k *collector) release() {
	if k != nil {
		k.flights.Release(int64(len(k.bytes)))
		k.bytes, k.over = nil, true
	}
}
