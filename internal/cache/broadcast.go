package cache

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// broadcasts are the functions of services that carry out what other members broadcast.
type broadcasts struct {
	mu        sync.Mutex // leaf
	receivers map[string]func(payload []byte)
}

// OnBroadcast sets the function that carries out what the service of the same name on another
// member gives to Broadcast; nil removes it. It may be called concurrently.
func (c *Cache) OnBroadcast(service string, receive func(payload []byte)) {
	b := &c.broadcasts
	b.mu.Lock()
	defer b.mu.Unlock()
	if receive == nil {
		delete(b.receivers, service)
		return
	}
	if b.receivers == nil {
		b.receivers = make(map[string]func([]byte))
	}
	b.receivers[service] = receive
}

// Broadcast is for invalidations that are no tags. It returns when the service has carried out
// payload on all other members; the caller has done so in this process before, after
// BeginAnnouncement. Without a coordinator it does nothing. Until all have done so, no member is
// filled by another one.
func (c *Cache) Broadcast(ctx context.Context, service string, payload []byte) error {
	if c.coordinator == nil {
		return nil
	}
	message := append(append([]byte(service), 0), payload...)
	if err := c.coordinator.Broadcast(ctx, message); err != nil {
		return fmt.Errorf("cache: not all other members have carried out an invalidation: %w", err)
	}
	return nil
}

// Receive carries out what another member has given to Broadcast. It is called by the
// coordinator.
func (c *Cache) Receive(message []byte) {
	service, payload, _ := bytes.Cut(message, []byte{0})
	b := &c.broadcasts
	b.mu.Lock()
	receive := b.receivers[string(service)]
	b.mu.Unlock()
	if receive != nil {
		receive(payload)
	}
}
