package cache

import (
	"context"
	"errors"
)

// Coordinator makes the tags of a write unreachable in the other caches of a cluster before
// the write is sent to the origin. It is implemented by package cluster.
type Coordinator interface {
	// Begin returns when every other member has fenced tags and keeps them so. After an
	// error the write must not be sent. Errors wrap ErrIsolated or the context's cause. If this
	// process ends before the write does, the others put tags and unsure in quarantine.
	Begin(ctx context.Context, tags, unsure []Tag) (Round, error)
	// Broadcast returns when every other member has carried out message by Cache.Receive.
	Broadcast(ctx context.Context, message []byte) error
}

// Round is a write as the Coordinator sees it. It ends with exactly one of Commit and
// Unknown.
type Round interface {
	// Sendable reports whether this node has a lease now, so that the write may be sent. It
	// is also called right after the write was sent.
	Sendable() bool
	// Extend returns when every other member has fenced further tags, which only the
	// origin's answer has shown, and keeps them so.
	Extend(ctx context.Context, tags []Tag) error
	// Commit ends the round of a write that is over. It does not block.
	Commit()
	// Unknown ends the round of a write with an unknown outcome: every member puts the tags
	// of the write, and the given ones, in quarantine. It does not block.
	Unknown(tags []Tag)
}

// ErrIsolated is returned for a write that this node must not send, or whose effect it cannot
// report to the other members of its cluster.
var ErrIsolated = errors.New("this node has no lease of its cluster")

// SetCoordinator sets the coordinator of all writes. It must be called before any request.
// The default is nil: the cache is the only one before its origin.
func (c *Cache) SetCoordinator(k Coordinator) { c.coordinator = k }

// Coordinated reports whether the cache has a coordinator.
func (c *Cache) Coordinated() bool { return c.coordinator != nil }

// PassIsolated lets writes be sent without a lease: other members may then serve old answers.
// It must be called before any request.
func (c *Cache) PassIsolated() { c.passIsolated = true }

// Sends reports whether a write that has no round may be sent at now, a time on the cache's
// clock.
func (c *Cache) Sends(now int64) bool { return c.passIsolated || c.Serves(now) }

// Guard returns a function that reports whether this node has a lease now, for writes that
// have no round before they are sent. It returns nil if they need none.
func (c *Cache) Guard() func() bool {
	if c.coordinator == nil || c.passIsolated {
		return nil
	}
	return func() bool { return c.Serves(c.Now()) }
}
