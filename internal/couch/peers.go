package couch

import (
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
)

// In a cluster, a read without a copy asks the owner of its key before a node. All members
// follow the databases by themselves, so the feeds of one may be behind those of another. The
// copy of a member that is behind can't be used by one that has got a change of the same
// document or result lately: see httpcache.Peering.

// setPeers lets the owner of the key be asked. The incarnation at the beginning of the key is
// this process's own.
func (c *call) setPeers() {
	c.peering.Key = c.key[incarnationSize:]
	c.plan.Peers = &c.peering
}

// attest implements httpcache.Peering.Attest. While the feeds are silent, reads of another member
// may join a fetch that has got this answer: see maxJoined.
func (c *call) attest() (behind time.Duration, ok bool) {
	behind, ok = c.db.Behind(c.svc.cache.Now())
	return behind, ok && behind <= c.settings.cfg.MaxUnfollowed/2
}

// maxJoined is the age of the oldest fetch that a read may join while the feeds are silent. What
// it returns is not older than MaxUnfollowed, also if it is a copy of another member.
func (c *call) maxJoined() time.Duration {
	if c.svc.cache.HasPeers() {
		return c.settings.cfg.MaxUnfollowed / 2
	}
	return c.settings.cfg.MaxUnfollowed
}

// planPeer calls answer with the plan for a request that another member has sent, which has
// checked the client's permission. It implements httpcache.Config.PlanPeer.
func (s *Service) planPeer(x *edge.Exchange, answer func(*httpcache.Plan)) {
	c := s.calls.Get().(*call)
	c.begin(x)
	c.answerPeer(answer)
	c.finish() // not deferred: a call that panicked is not reused
}

func (c *call) answerPeer(answer func(*httpcache.Plan)) {
	switch c.route.Class {
	case api.Static:
		answer(nil)
		return
	case api.Read, api.ReadByBody:
	default:
		return
	}
	c.body = c.x.Body
	if !c.cacheable() || c.fromReplicator() || c.db == nil && !c.useDatabase() {
		return
	}
	c.identity = auth.Identify(c.x.Request.Fields)
	c.plan.Valid, c.plan.Since = c.db.Servable(c.svc.cache.Now()), 0
	if !c.plan.Valid || c.db.Current(nil) == 0 && !c.hasCurrentDocument() || !c.makeKey() {
		return
	}
	c.plan.Key, c.plan.Options = c.key, cachePolicy
	if c.route.Class == api.ReadByBody {
		c.plan.Body = c.body
	}
	c.setPeers()
	answer(&c.plan)
}

// useDatabase sets c.db, and begins to follow the database if it is not in use.
func (c *call) useDatabase() bool {
	t := c.settings.table()
	if c.db = t.Find(c.name); c.db == nil {
		if c.db = t.Use(c.name); c.db != nil {
			c.svc.security.compareLater(c.settings.fleet, string(c.name))
		}
	}
	return c.db != nil
}

// hasCurrentDocument reports whether the request is for one document, which some node has in its
// newest revision.
func (c *call) hasCurrentDocument() bool {
	return (c.route.Kind == api.Document || c.route.Kind == api.Attachment) && c.db.Current(c.route.AppendID(nil)) != 0
}
