package couch

import (
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/http1"
)

// sessions are renewed session cookies. Nodes set them in answers to permission checks, and
// each is kept until the client's next read. Otherwise a client that is served from copies
// only would be logged out.
type sessions struct {
	count   atomic.Int64
	mu      sync.Mutex // acquired only while there are cookies; no other lock is acquired under it
	cookies map[auth.Identity]http1.Fields
}

// maxSessions is the maximum number of clients with cookies. Beyond it all cookies are
// dropped, and nodes renew the sessions at the next check.
const maxSessions = 10000

// put stores the cookies that an answer to a client sets.
func (s *sessions) put(id auth.Identity, header http1.Fields) {
	var set http1.Fields
	for _, f := range header {
		if f.Is("Set-Cookie") {
			set = append(set, f)
		}
	}
	if id.Anonymous || set == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cookies == nil || len(s.cookies) >= maxSessions {
		s.cookies = map[auth.Identity]http1.Fields{}
	}
	s.cookies[id] = set.Clone()
	s.count.Store(int64(len(s.cookies)))
}

// take removes and returns the cookies of a client.
func (s *sessions) take(id auth.Identity) http1.Fields {
	if id.Anonymous || s.count.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.cookies[id]
	delete(s.cookies, id)
	s.count.Store(int64(len(s.cookies)))
	return set
}
