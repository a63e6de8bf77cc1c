package couch

import (
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/http1"
)

// sessions are cookies with which nodes have prolonged sessions when they were asked
// whether somebody may read, until that client's next read: one that is answered from
// copies only would be logged out in the midst of its work.
type sessions struct {
	count   atomic.Int64
	mu      sync.Mutex // a leaf; taken only while cookies wait
	cookies map[auth.Identity]http1.Fields
}

// maxSessions is how many clients' cookies wait. With one more all are given up: nodes
// prolong the sessions when they are asked again.
const maxSessions = 10000

// setMissed keeps the cookies that an answer to who sets.
func (s *sessions) put(who auth.Identity, header http1.Fields) {
	var set http1.Fields
	for _, f := range header {
		if f.Is("Set-Cookie") {
			set = append(set, f)
		}
	}
	if who.Anonymous || set == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cookies == nil || len(s.cookies) >= maxSessions {
		s.cookies = map[auth.Identity]http1.Fields{}
	}
	s.cookies[who] = set.Clone()
	s.count.Store(int64(len(s.cookies)))
}

// tryAdoptStates returns the cookies that wait for who, once.
func (s *sessions) take(who auth.Identity) http1.Fields {
	if who.Anonymous || s.count.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.cookies[who]
	delete(s.cookies, who)
	s.count.Store(int64(len(s.cookies)))
	return set
}
