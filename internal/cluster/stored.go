package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// A node asks another one for answers that are stored there with a request of kind storedKind,
// which has a list of questions of one service. Its reply has an answer to each, or none. The node
// that is asked looks its memory up only. An older version that has no such kind declines.

const storedKind = "stored"

const (
	// formerFor is how long after a change of the members the former owners of keys are asked.
	// The entries that they have then are expired later, or have been asked for.
	formerFor = 10 * protocol.Time(time.Minute)
	// formerAsk is how long a miss waits for the former owner before the origin is asked.
	formerAsk = 50 * time.Millisecond
)

// maxStoredReply is the size from which a reply has no further answers. One is always added, so
// that a reply has this size and maxPeerAnswer at most.
const maxStoredReply = 128 << 10

// maxQuestions is the maximum number of questions in a request.
const maxQuestions = 256

var errStoredFrame = errors.New("malformed request or reply about stored answers")

// storedRequest asks for stored answers of a service.
type storedRequest struct {
	from      protocol.Instance
	epoch     uint64
	service   string
	questions [][]byte
}

// storedAnswer is the answer to one question.
type storedAnswer struct {
	state  byte
	shared cache.Shared // if it is found
}

// The states of answers.
const (
	absent = iota // nothing is stored
	found
	later // the reply was full
)

func (r *storedRequest) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.from))
	b = binary.AppendUvarint(b, r.epoch)
	b = appendBytes(b, []byte(r.service))
	return appendList(b, r.questions)
}

// appendBytes appends a length, and bytes of that length.
func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// appendList appends each element of a list to dst.
func appendList(dst []byte, list [][]byte) []byte {
	for _, b := range list {
		dst = appendBytes(dst, b)
	}
	return dst
}

// reader parses what appendBytes and binary.AppendUvarint have written.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// list returns all further elements.
func (r *reader) list() (list [][]byte) {
	for len(r.rest) > 0 {
		list = append(list, r.bytes())
	}
	return list
}

// parseStoredRequest is the inverse of encode. The result refers to the frame.
func parseStoredRequest(b []byte) (q storedRequest, err error) {
	if len(b) < 8 {
		return q, errStoredFrame
	}
	q.from = protocol.Instance(binary.BigEndian.Uint64(b))
	r := reader{rest: b[8:]}
	q.epoch = r.number()
	q.service = string(r.bytes())
	q.questions = r.list()
	if r.bad || len(q.questions) > maxQuestions {
		return q, errStoredFrame
	}
	return q, nil
}

// appendStored appends an answer to a reply.
func appendStored(dst []byte, a *storedAnswer) []byte {
	dst = append(dst, a.state)
	if a.state == found {
		dst = append(dst, a.shared.Kind)
		dst = binary.AppendUvarint(dst, uint64(max(0, a.shared.TTL)))
		dst = appendBytes(dst, a.shared.Payload)
	}
	return dst
}

// parseStoredReply parses the reply to a request with n questions. The result refers to the frame.
func parseStoredReply(b []byte, n int) ([]storedAnswer, error) {
	r := reader{rest: b}
	answers := make([]storedAnswer, 0, n)
	for len(r.rest) > 0 {
		a := storedAnswer{state: r.rest[0]}
		r.rest = r.rest[1:]
		switch a.state {
		case absent, later:
		case found:
			if len(r.rest) == 0 {
				return nil, errStoredFrame
			}
			a.shared.Kind, a.shared.Hit = r.rest[0], true
			r.rest = r.rest[1:]
			a.shared.TTL = time.Duration(r.number())
			a.shared.Payload = r.bytes()
		default:
			return nil, errStoredFrame
		}
		answers = append(answers, a)
	}
	if r.bad || len(answers) != n {
		return nil, errStoredFrame
	}
	return answers, nil
}

// answerStored answers a request for stored answers. The reply is empty if this node must not
// answer.
func (n *Node) answerStored(_ context.Context, request []byte) []byte {
	q, err := parseStoredRequest(request)
	if err != nil {
		n.log.Warn("a request of another node is invalid", slog.Any("error", err))
		return nil
	}
	if !n.mayAnswer(q.from, q.epoch) {
		n.peers.refused.Add(uint64(len(q.questions)))
		return nil
	}
	var reply []byte
	hits := 0
	for _, question := range q.questions {
		a := storedAnswer{state: later}
		if len(reply) < maxStoredReply {
			a = n.stored(q.service, question)
		}
		if a.state == found {
			hits++
		}
		reply = appendStored(reply, &a)
	}
	// The lease is checked again, as in startAnswer.
	if !n.mayAnswer(q.from, q.epoch) {
		n.peers.refused.Add(uint64(len(q.questions)))
		return nil
	}
	n.peers.hits.Add(uint64(hits))
	return reply
}

// stored returns the stored answer to a question.
func (n *Node) stored(service string, question []byte) (a storedAnswer) {
	if s, ok := n.cache.Stored(service, question); ok && len(s.Payload) <= maxPeerAnswer {
		a.state, a.shared = found, s
	}
	return a
}

// askStored asks another member for stored answers of a service, and returns one for each
// question.
func (n *Node) askStored(ctx context.Context, to protocol.Instance, epoch uint64, service string, questions [][]byte) ([]storedAnswer, error) {
	q := storedRequest{from: protocol.Instance(n.self.Load()), epoch: epoch, service: service, questions: questions}
	reply, err := n.Ask(ctx, to, storedKind, q.encode())
	if err != nil {
		return nil, err
	}
	return parseStoredReply(reply, len(questions))
}

// FetchStored implements cache.Peers. A node that has just joined has nothing: the answers for its
// keys are stored at the members that have owned the keys before. If a member has left, they may
// be stored at the next member in the order of the hashes, which clients have asked as well.
func (n *Node) FetchStored(ctx context.Context, service string, key, request []byte) (s cache.Shared, ok bool) {
	to, epoch, ok := n.formerOwner(key)
	if !ok || len(request) > maxPeerRequest {
		return s, false
	}
	ctx, cancel := context.WithTimeout(ctx, formerAsk)
	defer cancel()
	answers, err := n.askStored(ctx, to, epoch, service, [][]byte{request})
	switch {
	case err != nil:
		n.peers.formerFailed.Inc()
	case answers[0].state == found:
		n.peers.formerFound.Inc()
		return answers[0].shared, true
	default:
		n.peers.formerAbsent.Inc()
	}
	return s, false
}

// formerOwner returns the member that has owned key before the latest change of the members, if
// that was lately and the key is this node's now, and the epoch.
func (n *Node) formerOwner(key []byte) (to protocol.Instance, epoch uint64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m, now := n.machine, n.now()
	if now >= n.formerUntil || !n.shares(now) {
		return 0, 0, false
	}
	v := m.View()
	if best := rendezvous(v, key, 0); best == nil || best.Instance != m.Self() {
		return 0, 0, false
	}
	next := rendezvous(v, key, m.Self())
	if next == nil || !n.replies(now, next.Instance) {
		return 0, 0, false
	}
	return next.Instance, v.Epoch, true
}

// membersChanged records that keys of other members have become keys of this node: it has
// joined, or another member has left. It is called with mu held.
func (n *Node) membersChanged() {
	m := n.machine
	if m.Mode() != protocol.In {
		n.serving = nil
		return
	}
	serving := make(map[protocol.Instance]bool, len(m.View().Members))
	for _, o := range m.View().Members {
		if !o.Joining {
			serving[o.Instance] = true
		}
	}
	changed := !n.serving[m.Self()]
	for i := range n.serving {
		changed = changed || !serving[i]
	}
	if n.serving = serving; changed {
		n.formerUntil = n.now() + formerFor
	}
}
