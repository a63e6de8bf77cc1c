package cluster

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Delays of answers of peers.
const (
	// silentAsk is how long a node waits for a sign of the owner before it asks the origin. It
	// leaves an owner time to look at its messages while many clients connect to it.
	silentAsk = 150 * time.Millisecond
	// maxUnsigned is the same for an owner that sends signs for other requests, or messages of the
	// protocol: it is alive, and this one may wait in a queue, or be lost.
	maxUnsigned = 400 * time.Millisecond
	// maxTimerDelay is the delay of a timer that shows that this node itself gets too little CPU
	// time to judge an owner silent: its sign may wait to be read.
	maxTimerDelay = 5 * time.Millisecond
	// aliveInterval is the interval of these signs.
	aliveInterval = 5 * time.Millisecond
	// maxAsk is how long a node waits for the owner's answer before it asks the origin: the
	// owner may have no contact with the origin.
	maxAsk = 500 * time.Millisecond
	// silentOwner is the silence from which an owner is not asked.
	silentOwner = 400 * protocol.Millisecond
)

// maxHeard is the number of members, present and former ones, whose signs are recorded.
const maxHeard = 128

// maxAnswering is the number of requests of other members that are answered at a time.
const maxAnswering = 1024

// peers holds the requests to and from other members.
type peers struct {
	mu        sync.Mutex // leaf
	number    uint64     // of the newest own request
	asked     map[uint64]*question
	answering map[protocol.Instance]map[uint64]uint64 // epochs by member and number
	total     int                                     // in answering
	ticking   bool                                    // sendAlive is scheduled
	heard     map[protocol.Instance]time.Time         // when members have replied or sent signs last

	answered, declined, silent *telemetry.Counter // own requests
	hits, fills, refused       *telemetry.Counter // requests of other members

	formerFound, formerAbsent, formerFailed *telemetry.Counter // requests to former owners
}

// question is an own request.
type question struct {
	to     protocol.Instance
	sign   chan struct{}   // the owner is at work; nil if that is of no interest
	answer chan *peerFrame // an answer or nil; questions to several members share it
}

// observe registers the metrics.
func (p *peers) observe(r *telemetry.Registry) {
	asked := func(result string) *telemetry.Counter {
		return r.Counter("kasoku_cluster_peer_asked_total",
			"Misses for which the owner of the key was asked before the origin: answered, declined by it, or without a reply in time (silent).", "result", result)
	}
	p.answered, p.declined, p.silent = asked("answered"), asked("declined"), asked("silent")
	given := func(result string) *telemetry.Counter {
		return r.Counter("kasoku_cluster_peer_answers_total",
			"Requests of other members: answered from memory (hit), also for a member that is warmed, from the origin (fill), or declined.", "result", result)
	}
	p.hits, p.fills, p.refused = given("hit"), given("fill"), given("declined")
	former := func(result string) *telemetry.Counter {
		return r.Counter("kasoku_cluster_former_asked_total",
			"Misses after a change of the members for which the former owner of the key was asked before the origin: answered from its memory, absent there, or without a reply in time (silent).", "result", result)
	}
	p.formerFound, p.formerAbsent, p.formerFailed = former("answered"), former("absent"), former("silent")
}

// owner returns the member that owns key, and the epoch. ok is false if it must not be asked:
// it is this node, does not serve or is silent, or a purge is being carried out, which its
// answer might be older than.
func (n *Node) owner(key []byte) (to protocol.Member, epoch uint64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m, now := n.machine, n.now()
	if !n.shares(now) {
		return to, 0, false
	}
	v := m.View()
	best := rendezvous(v, key, 0)
	if best == nil || best.Instance == m.Self() || !n.replies(now, best.Instance) {
		return to, 0, false
	}
	return *best, v.Epoch, true
}

// replies reports whether another member is expected to reply. It is called with mu held.
func (n *Node) replies(now protocol.Time, to protocol.Instance) bool {
	m := n.machine
	return !m.View().IsSuspended(to) && m.Silence(now, to) <= silentOwner
}

// shares reports whether this node may ask peers and answer them. It is called with mu held.
func (n *Node) shares(now protocol.Time) bool {
	m := n.machine
	return m.Mode() == protocol.In && m.Serves(now) && !m.Purging()
}

// rendezvous returns the owner of key among the members that serve: the one with the highest
// hash of its name and the key. It is nil if there is none. A change of the members moves only
// the keys of the ones that have changed: without is left out, so that the result owns the keys
// of that member when it is no member.
func rendezvous(v *protocol.View, key []byte, without protocol.Instance) (best *protocol.Member) {
	of := xxhash.Sum64(key)
	var highest uint64
	for i := range v.Members {
		m := &v.Members[i]
		if m.Joining || m.Instance == without {
			continue
		}
		score := mix(of ^ xxhash.Sum64String(m.Node))
		if best == nil || score > highest || score == highest && m.Instance > best.Instance {
			best, highest = m, score
		}
	}
	return best
}

// mix is the finalizer of MurmurHash3: each bit of x affects all bits of the result.
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Owner implements cache.Peers.
func (n *Node) Owner(key []byte) string {
	m, _, _ := n.owner(key)
	return m.Node
}

// Owns implements cache.Peers. A node that is no member owns nothing.
func (n *Node) Owns(key []byte) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.machine
	best := rendezvous(m.View(), key, 0)
	return m.Mode() == protocol.In && best != nil && best.Instance == m.Self()
}

// Fetch implements cache.Peers. It waits while the owner sends signs that it is at work,
// for maxAsk at most.
func (n *Node) Fetch(ctx context.Context, service string, key, request []byte) (s cache.Shared, ok bool) {
	to, epoch, ok := n.owner(key)
	if !ok {
		return n.FetchStored(ctx, service, key, request)
	}
	if len(request) > maxPeerRequest {
		return s, false
	}
	q := &question{to: to.Instance, sign: make(chan struct{}, 1), answer: make(chan *peerFrame, 1)}
	number, sent := n.sendQuestion(q, epoch, service, request)
	defer n.peers.forget(number)
	if !sent {
		n.peers.silent.Inc()
		return s, false
	}
	signed := time.Now()
	due := signed.Add(silentAsk)
	timer := time.NewTimer(silentAsk)
	defer timer.Stop()
	wait := func(d time.Duration) {
		due = time.Now().Add(d)
		timer.Reset(d)
	}
	limit := time.NewTimer(maxAsk)
	defer limit.Stop()
	for {
		select {
		case f := <-q.answer:
			if f == nil {
				n.peers.declined.Inc()
				return s, false
			}
			n.peers.answered.Inc()
			return f.shared, true
		case <-q.sign:
			signed = time.Now()
			wait(silentAsk)
		case <-timer.C:
			if time.Since(due) > maxTimerDelay {
				wait(silentAsk)
				continue
			}
			if left := n.extension(to.Instance, signed); left > 0 {
				wait(left)
				continue
			}
			n.peers.silent.Inc()
			return s, false
		case <-limit.C:
			n.peers.silent.Inc()
			return s, false
		case <-ctx.Done():
			return s, false
		}
	}
}

// sendQuestion sends a question. The caller must call forget with its number.
func (n *Node) sendQuestion(q *question, epoch uint64, service string, request []byte) (number uint64, sent bool) {
	number = n.peers.ask(q)
	return number, n.sendPeer(q.to, &peerFrame{kind: peerAsk, number: number, epoch: epoch, service: service, request: request})
}

// FetchAll implements cache.Peers. It waits for silentAsk at most.
func (n *Node) FetchAll(ctx context.Context, service string, request []byte) (answers []cache.Shared) {
	if len(request) > maxPeerRequest {
		return nil
	}
	others, epoch := n.allToAsk()
	if len(others) == 0 {
		return nil
	}
	replies, waiting := make(chan *peerFrame, len(others)), 0
	for _, to := range others {
		number, sent := n.sendQuestion(&question{to: to, answer: replies}, epoch, service, request)
		defer n.peers.forget(number)
		if sent {
			waiting++
		}
	}
	limit := time.NewTimer(silentAsk)
	defer limit.Stop()
	for ; waiting > 0; waiting-- {
		select {
		case f := <-replies:
			if f != nil {
				answers = append(answers, f.shared)
			}
		case <-limit.C:
			return answers
		case <-ctx.Done():
			return answers
		}
	}
	return answers
}

// allToAsk returns the other members that may be asked, and the epoch.
func (n *Node) allToAsk() (list []protocol.Instance, epoch uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m, now := n.machine, n.now()
	if !n.shares(now) {
		return nil, 0
	}
	v := m.View()
	for i := range v.Members {
		o := &v.Members[i]
		if !o.Joining && o.Instance != m.Self() && n.replies(now, o.Instance) {
			list = append(list, o.Instance)
		}
	}
	return list, v.Epoch
}

// extension returns for how much longer a request without a sign since a time waits for its owner,
// because that has sent other messages lately.
func (n *Node) extension(of protocol.Instance, signed time.Time) time.Duration {
	n.mu.Lock()
	silence := time.Duration(n.machine.Silence(n.now(), of))
	n.mu.Unlock()
	return n.peers.extension(of, signed, time.Now().Add(-silence))
}

// extension is that of Node, for an owner whose last message of the protocol was received at
// heard.
func (p *peers) extension(of protocol.Instance, signed, heard time.Time) time.Duration {
	if time.Since(signed) >= maxUnsigned {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if sign := p.heard[of]; sign.After(heard) {
		heard = sign
	}
	return time.Until(heard.Add(silentAsk))
}

// hear records that a member is alive. The caller holds mu.
func (p *peers) hear(from protocol.Instance) {
	if p.heard == nil || len(p.heard) > maxHeard { // it has former members
		p.heard = make(map[protocol.Instance]time.Time)
	}
	p.heard[from] = time.Now()
}

// ask registers a question and returns its number.
func (p *peers) ask(q *question) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	if p.asked == nil {
		p.asked = make(map[uint64]*question)
	}
	p.asked[p.number] = q
	return p.number
}

func (p *peers) forget(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, number)
}

// sendPeer sends a frame to a member. It reports false if it was not sent.
func (n *Node) sendPeer(to protocol.Instance, f *peerFrame) bool {
	n.mu.Lock()
	f.from = n.machine.Self()
	n.mu.Unlock()
	return n.cfg.Transport.Send(uint64(to), appendPeerFrame(nil, f)) == nil
}

// receivePeer handles a frame of another member. It does not block, since further frames
// wait behind this one.
func (n *Node) receivePeer(frame []byte) {
	f, err := parsePeerFrame(frame)
	if err != nil {
		n.log.Warn("a message of another node is invalid", slog.Any("error", err))
		return
	}
	switch f.kind {
	case peerAsk:
		n.startAnswer(&f)
	case peerAnswer, peerDecline:
		n.peers.reply(&f)
	case peerAlive:
		n.peers.alive(&f)
	}
}

// reply passes a reply to its waiter.
func (p *peers) reply(f *peerFrame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.asked[f.number]
	if q == nil || q.to != f.from {
		return // it is late
	}
	p.hear(f.from)
	delete(p.asked, f.number) // so that a second reply does not block
	if f.kind == peerDecline {
		q.answer <- nil
		return
	}
	f.shared.Payload = bytes.Clone(f.shared.Payload)
	q.answer <- f
}

// alive wakes the waiters that the owner has listed.
func (p *peers) alive(f *peerFrame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hear(f.from)
	for _, number := range f.alive {
		if q := p.asked[number]; q != nil && q.to == f.from {
			select {
			case q.sign <- struct{}{}:
			default:
			}
		}
	}
}

// startAnswer starts to answer a request.
func (n *Node) startAnswer(f *peerFrame) {
	from, number, epoch, service := f.from, f.number, f.epoch, f.service
	if !n.mayAnswer(from, epoch) {
		n.decline(from, number)
		return
	}
	switch n.begins(from, number, epoch) {
	case tooMany:
		n.decline(from, number)
		return
	case twice:
		return
	}
	request := bytes.Clone(f.request)
	go func() {
		s, ok := n.cache.Answer(n.ctx, service, request)
		// The lease is checked again: if it has ended, other members may have written without
		// this one before it has looked the answer up.
		ok = ok && n.mayAnswer(from, epoch)
		n.ends(from, number)
		if !ok || !n.sendAnswer(from, number, s) {
			n.decline(from, number)
		}
	}()
}

// sendAnswer sends an answer. It reports false if that is too large, or was not sent.
func (n *Node) sendAnswer(to protocol.Instance, number uint64, s cache.Shared) bool {
	if len(s.Payload) > maxPeerAnswer || !n.sendPeer(to, &peerFrame{kind: peerAnswer, number: number, shared: s}) {
		return false
	}
	if s.Hit {
		n.peers.hits.Inc()
	} else {
		n.peers.fills.Inc()
	}
	return true
}

// mayAnswer reports whether a request of another member may be answered now. In another epoch
// the members may have another owner for its key, and the requests of two nodes might wait for
// each other.
func (n *Node) mayAnswer(from protocol.Instance, epoch uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := n.machine.View()
	return n.shares(n.now()) && v.Epoch == epoch && v.Find(from) != nil
}

func (n *Node) decline(to protocol.Instance, number uint64) {
	n.peers.refused.Inc()
	n.sendPeer(to, &peerFrame{kind: peerDecline, number: number})
}

// The results of begins.
const (
	begun   = iota
	twice   // the request was received before and is being answered
	tooMany // others are being answered
)

// begins registers a request that is being answered, for which signs are sent from now on.
func (n *Node) begins(from protocol.Instance, number, epoch uint64) int {
	p := &n.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	numbers := p.answering[from]
	if _, found := numbers[number]; found {
		return twice
	}
	if p.total >= maxAnswering {
		return tooMany
	}
	if p.answering == nil {
		p.answering = make(map[protocol.Instance]map[uint64]uint64)
	}
	if numbers == nil {
		numbers = make(map[uint64]uint64)
		p.answering[from] = numbers
	}
	numbers[number] = epoch
	p.total++
	if !p.ticking {
		p.ticking = true
		time.AfterFunc(aliveInterval, n.sendAlive)
	}
	return begun
}

func (n *Node) ends(from protocol.Instance, number uint64) {
	p := &n.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	numbers := p.answering[from]
	delete(numbers, number)
	if len(numbers) == 0 {
		delete(p.answering, from)
	}
	p.total--
}

// sendAlive sends a sign to each member whose requests are being answered, one for all of
// them, and does so again as long as there are any. Requests of another epoch get none.
func (n *Node) sendAlive() {
	n.mu.Lock()
	epoch := n.machine.View().Epoch
	n.mu.Unlock()
	for to, numbers := range n.signs(epoch) {
		n.sendPeer(to, &peerFrame{kind: peerAlive, alive: numbers})
	}
}

// signs returns the numbers of the requests of an epoch that are being answered, and schedules
// the next sendAlive.
func (n *Node) signs(epoch uint64) map[protocol.Instance][]uint64 {
	p := &n.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == 0 || n.ctx.Err() != nil {
		p.ticking = false
		return nil
	}
	out := make(map[protocol.Instance][]uint64, len(p.answering))
	for to, numbers := range p.answering {
		for number, of := range numbers {
			if of == epoch {
				out[to] = append(out[to], number)
			}
		}
	}
	time.AfterFunc(aliveInterval, n.sendAlive)
	return out
}
