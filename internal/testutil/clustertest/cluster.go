// Package clustertest connects caches in one process for tests, as a cluster connects those of
// several processes.
package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
)

// Cluster is the coordinator of its caches. Its messages arrive at once.
type Cluster struct {
	all []*cache.Cache

	mu      sync.Mutex
	refuse  error    // of Begin
	further error    // of Extend
	lost    error    // of Broadcast
	sends   int      // calls of Sendable that return true; negative: all
	rounds  []string // how each round ended
	before  func()   // called before each broadcast is delivered
	owner   *cache.Cache
	owners  []*cache.Cache
	former  *cache.Cache // the former owner of all keys
	fetches []string     // how each question to another member was answered
	after   func()       // called when another member has answered
	loses   func(to *cache.Cache) (request, answer bool)
}

// Connect makes one cluster of caches.
func Connect(all ...*cache.Cache) *Cluster {
	cl := &Cluster{all: all, sends: -1}
	for _, c := range all {
		c.SetCoordinator(member{cl, c})
	}
	return cl
}

// Share divides all keys between owners, which the other caches ask before the origin.
func (cl *Cluster) Share(owners ...*cache.Cache) {
	cl.owner, cl.owners = owners[0], owners
	for _, c := range cl.all {
		c.SetPeers(member{cl, c})
	}
}

// Own changes the owner of all keys after Share.
func (cl *Cluster) Own(owner *cache.Cache) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.owner, cl.owners = owner, []*cache.Cache{owner}
}

// Inherit makes former the former owner of all keys, which the owner asks for what is stored
// there. It is called after Share.
func (cl *Cluster) Inherit(former *cache.Cache) { cl.former = former }

// Fetches returns how the questions to other members since the last call were answered: by the
// owner with "hit", "fill" or "declined", or by the former owner with "stored" or "absent".
func (cl *Cluster) Fetches() []string {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	all := cl.fetches
	cl.fetches = nil
	return all
}

// AfterAnswer lets f be called between another member's answer to a question and its arrival.
func (cl *Cluster) AfterAnswer(f func()) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.after = f
}

// Lose lets f be called for each member that FetchAll asks. f reports whether the request to that
// member is lost, and whether its answer is.
func (cl *Cluster) Lose(f func(to *cache.Cache) (request, answer bool)) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.loses = f
}

// BeforeBroadcast lets f be called before a broadcast is delivered to the other caches.
func (cl *Cluster) BeforeBroadcast(f func()) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.before = f
}

// Refuse lets all further rounds fail with err, if it is not nil.
func (cl *Cluster) Refuse(err error) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.refuse = err
}

// RefuseFurther lets all further tags be refused with err, if it is not nil.
func (cl *Cluster) RefuseFurther(err error) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.further = err
}

// RefuseBroadcasts lets all further broadcasts fail with err, if it is not nil.
func (cl *Cluster) RefuseBroadcasts(err error) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.lost = err
}

// Sendable lets the next n checks of the lease succeed and further ones fail. A negative n lets all
// succeed.
func (cl *Cluster) Sendable(n int) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.sends = n
}

// Rounds returns how the rounds since the last call have ended: "commit" or "unknown", or "refused".
func (cl *Cluster) Rounds() []string {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	all := cl.rounds
	cl.rounds = nil
	return all
}

func (cl *Cluster) ended(how string) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.rounds = append(cl.rounds, how)
}

// member is the coordinator of one cache.
type member struct {
	*Cluster
	own *cache.Cache
}

// round is a write in flight.
type round struct {
	cl   *Cluster
	held []*cache.Hold
}

// ownerOf returns the owner of key, and its name for other members.
func (cl *Cluster) ownerOf(key []byte) (owner *cache.Cache, name string) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	i := crc32.ChecksumIEEE(key) % uint32(len(cl.owners))
	if i == 0 {
		return cl.owner, "owner"
	}
	return cl.owners[i], fmt.Sprint("owner", i)
}

func (m member) Owner(key []byte) string {
	owner, name := m.ownerOf(key)
	if m.own == owner {
		return ""
	}
	return name
}

func (m member) Owns(key []byte) bool {
	owner, _ := m.ownerOf(key)
	return m.own == owner
}

func (m member) Fetch(ctx context.Context, service string, key, request []byte) (s cache.Shared, ok bool) {
	owner, _ := m.ownerOf(key)
	if m.own == owner {
		return m.FetchStored(ctx, service, key, request)
	}
	if len(request) > cache.MaxPeerRequest {
		return s, false
	}
	s, ok = owner.Answer(ctx, service, slices.Clone(request))
	ok = ok && len(s.Payload) <= cache.MaxShared
	how := "fill"
	switch {
	case !ok:
		how = "declined"
	case s.Hit:
		how = "hit"
	}
	m.mu.Lock()
	m.fetches = append(m.fetches, how)
	after := m.after
	m.mu.Unlock()
	if after != nil {
		after()
	}
	return s, ok
}

func (m member) FetchAll(ctx context.Context, service string, request []byte) (answers []cache.Shared) {
	if len(request) > cache.MaxPeerRequest {
		return nil
	}
	m.mu.Lock()
	loses := m.loses
	m.mu.Unlock()
	for _, c := range m.all {
		if c == m.own {
			continue
		}
		lostRequest, lostAnswer := false, false
		if loses != nil {
			lostRequest, lostAnswer = loses(c)
		}
		if lostRequest {
			continue
		}
		s, ok := c.Answer(ctx, service, slices.Clone(request))
		if ok && !lostAnswer && len(s.Payload) <= cache.MaxShared {
			answers = append(answers, s)
		}
	}
	return answers
}

func (m member) FetchStored(_ context.Context, service string, _, request []byte) (s cache.Shared, ok bool) {
	if m.former == nil || m.own != m.owner {
		return s, false
	}
	s, ok = m.former.Stored(service, slices.Clone(request))
	how := "absent"
	if ok {
		how = "stored"
	}
	m.mu.Lock()
	m.fetches = append(m.fetches, how)
	after := m.after
	m.mu.Unlock()
	if after != nil {
		after()
	}
	return s, ok
}

func (m member) Broadcast(ctx context.Context, message []byte) error {
	m.mu.Lock()
	err, before := cmp.Or(m.refuse, m.lost), m.before
	m.mu.Unlock()
	if before != nil {
		before()
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	for _, c := range m.all {
		if c != m.own {
			c.Receive(message)
		}
	}
	return nil
}

func (m member) Begin(ctx context.Context, tags, _ []cache.Tag) (cache.Round, error) {
	m.mu.Lock()
	err := m.refuse
	m.mu.Unlock()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		m.ended("refused")
		return nil, err
	}
	r := &round{cl: m.Cluster}
	for _, c := range m.all {
		if c != m.own {
			r.held = append(r.held, c.Hold(slices.Clone(tags)))
		}
	}
	return r, nil
}

func (r *round) Sendable() bool {
	r.cl.mu.Lock()
	defer r.cl.mu.Unlock()
	if r.cl.sends > 0 {
		r.cl.sends--
		return true
	}
	return r.cl.sends < 0
}

func (r *round) Extend(_ context.Context, tags []cache.Tag) error {
	r.cl.mu.Lock()
	err := r.cl.further
	r.cl.mu.Unlock()
	if err != nil {
		return err
	}
	for _, h := range r.held {
		h.Extend(tags)
	}
	return nil
}

func (r *round) Commit() {
	for _, h := range r.held {
		h.Release()
	}
	r.cl.ended("commit")
}

func (r *round) Unknown(tags []cache.Tag) {
	for _, h := range r.held {
		h.Quarantine(30*time.Second, tags...)
	}
	r.cl.ended("unknown")
}
