package couch

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// written is the result of a write as far as later requests depend on it: which node has
// what. The other members of a cluster get it as JSON, before the client is answered.
// Without it they would consider a node complete until a feed announces the write, and could
// read from a node that lacks it.
type written struct {
	Node      string // the URL of the node that answered; empty if it is not known
	Database  []byte // unescaped
	Client    uint64 // see call.clientHash
	Accepted  bool   // the node has executed something
	Existence bool   // the database may have been created or deleted
	Unknown   bool   // the node has stored revisions that are not known
	Stored    []api.Revision
}

// maxWritten is the maximum size of a message about a write. The revisions of a longer one
// are sent as unknown.
const maxWritten = 64 << 10

// marshal returns the message for other members.
func (r *written) marshal() ([]byte, error) {
	text, err := json.Marshal(r)
	if err == nil && len(text) > maxWritten {
		short := *r
		short.Stored, short.Unknown = nil, true
		text, err = json.Marshal(&short)
	}
	return text, err
}

// concerns reports whether the result means anything to later requests through other
// members.
func (r *written) concerns() bool {
	return len(r.Database) > 0 && (r.Existence || r.Node != "" && (r.Accepted || r.Unknown || len(r.Stored) > 0))
}

// publish records the result wherever the next request may need it: in this process, then at
// the other members of the cluster. An error means that a member may lack it.
func (s *Service) publish(ctx context.Context, r *written) error {
	s.record(r)
	if !s.cache.Coordinated() || len(s.settings.Load().cfg.Nodes) < 2 || !r.concerns() {
		return nil
	}
	message, err := r.marshal()
	if err != nil {
		return err
	}
	return s.cache.Broadcast(ctx, s.broadcastName(), message)
}

// broadcastName is the name for broadcasts of writes. The engine uses the service's name.
func (s *Service) broadcastName() string { return "couch writes " + s.name }

// receive records a write of another member.
func (s *Service) receive(message []byte) {
	var r written
	if err := json.Unmarshal(message, &r); err != nil {
		s.log.Error("a member of the cluster has sent a malformed message about a write", slog.Any("error", err))
		return
	}
	s.record(&r)
}

// record records the result in this process. The configuration may have been replaced since
// the write began, and may be replaced meanwhile.
func (s *Service) record(r *written) {
	var recorded *settings
	for set := s.settings.Load(); set != recorded; set = s.settings.Load() {
		s.recordIn(set, r)
		recorded = set
	}
}

// recordIn records the result in one configuration.
func (s *Service) recordIn(set *settings, r *written) {
	node := slices.Index(set.fleet.urls, r.Node)
	if node >= 0 && r.Accepted {
		set.fleet.recentWrites.record(r.Client, node, time.Now().Unix())
	}
	if set.table() == nil {
		return
	}
	db := set.table().Find(r.Database)
	if db == nil {
		return
	}
	if r.Existence {
		set.fleet.recheckExistence(db, node)
	}
	switch {
	case node < 0:
	case r.Unknown:
		db.WroteUnknown(node)
	default:
		now := s.cache.Now()
		for _, rev := range r.Stored {
			db.Wrote(node, rev.ID, rev.Rev, now)
		}
	}
}
