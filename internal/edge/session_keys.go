package edge

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sessionKeyPeriod is the time for which a key encrypts new sessions.
	sessionKeyPeriod = time.Hour
	// sessionKeyLife is the time for which its sessions can be resumed afterwards. Clients
	// may store them for longer, and make a whole handshake then.
	sessionKeyLife = 24 * time.Hour
)

// SessionKeys are the keys for TLS sessions that clients store and resume, so that a second
// connection needs no signature and no certificates. Listeners that share a SessionKeys
// resume the sessions of each other. The zero value is ready.
//
// A key encrypts new sessions for an hour and can decrypt them for a day after that: with
// TLS 1.2, a stolen key reveals the connections of that time. The keys are replaced by the
// first handshake after an hour, so that there is no timer to stop.
type SessionKeys struct {
	cur atomic.Pointer[sessionKeySet]
	mu  sync.Mutex // leaf; serialises the replacement of cur
}

// sessionKeySet is immutable.
type sessionKeySet struct {
	keys [][32]byte  // the first encrypts, all decrypt
	made []time.Time // when they were made
}

// fresh reports whether the first key may still encrypt.
func (s *sessionKeySet) fresh(now time.Time) bool {
	return s != nil && now.Sub(s.made[0]) < sessionKeyPeriod
}

// current returns the keys, with a new one if it is time for one.
func (k *SessionKeys) current() *sessionKeySet {
	now := time.Now()
	if s := k.cur.Load(); s.fresh(now) {
		return s
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.cur.Load()
	if old.fresh(now) {
		return old
	}
	next := &sessionKeySet{keys: make([][32]byte, 1), made: []time.Time{now}}
	_, _ = rand.Read(next.keys[0][:]) // never fails
	if old != nil {
		for i, made := range old.made {
			if now.Sub(made) < sessionKeyPeriod+sessionKeyLife {
				next.keys, next.made = append(next.keys, old.keys[i]), append(next.made, made)
			}
		}
	}
	k.cur.Store(next)
	return next
}
