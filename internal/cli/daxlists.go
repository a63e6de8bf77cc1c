package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"

	"github.com/kasoku/kasoku/internal/cluster"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
)

// listKind is the kind of requests among nodes for a list of attributes: its number in 8
// bytes, and the name of the service. The reply is the list as encoded by package lists.
const listKind = "attribute-list"

// listSearch looks on other nodes for lists of attributes that this one does not have: a
// client keeps the numbers that it got from the node that it has used before.
type listSearch struct {
	ask     func(ctx context.Context, kind string, request []byte, good func(reply []byte) bool) ([]byte, bool)
	service string
	lists   *lists.Registry
	log     *slog.Logger

	mu   sync.Mutex
	open map[uint64]*listQuestion // by number
}

// listQuestion is a question to the other nodes, which all requests for a list share.
type listQuestion struct {
	done  chan struct{}
	names []string // valid when done is closed; nil if no node has the list
}

// newListSearch returns a search for the lists of a service.
func newListSearch(node *cluster.Node, service string, r *lists.Registry, log *slog.Logger) *listSearch {
	return &listSearch{ask: node.AskAll, service: service, lists: r, log: log, open: map[uint64]*listQuestion{}}
}

// find implements dax.Config.FindList. The request that finds no open question asks, also for
// the ones that follow: it does not stop when its client disconnects.
func (s *listSearch) find(ctx context.Context, id uint64) ([]string, bool) {
	s.mu.Lock()
	q := s.open[id]
	if q == nil {
		q = &listQuestion{done: make(chan struct{})}
		s.open[id] = q
		s.mu.Unlock()
		s.answer(context.WithoutCancel(ctx), id, q)
		return q.names, q.names != nil
	}
	s.mu.Unlock()
	select {
	case <-q.done:
		return q.names, q.names != nil
	case <-ctx.Done():
		return nil, false
	}
}

// answer asks the other nodes, and stores the list.
func (s *listSearch) answer(ctx context.Context, id uint64, q *listQuestion) {
	defer func() {
		s.mu.Lock()
		delete(s.open, id)
		s.mu.Unlock()
		close(q.done)
	}()
	request := append(binary.BigEndian.AppendUint64(nil, id), s.service...)
	encoded, ok := s.ask(ctx, listKind, request, func(reply []byte) bool { return lists.Verify(id, reply) })
	if !ok {
		return
	}
	var err error
	// The registry itself warns when it is nearly full.
	if q.names, err = s.lists.Adopt(id, encoded); err != nil && !errors.Is(err, lists.ErrFull) {
		s.log.Warn("a list of attributes of another node can't be stored", slog.String("service", s.service), slog.Any("error", err))
	}
}

// answerList answers a question of another node. The reply is empty if the list is not here.
func (n *Node) answerList(_ context.Context, request []byte) []byte {
	if len(request) < 8 {
		return nil
	}
	id, service := binary.BigEndian.Uint64(request), string(request[8:])
	n.mu.Lock()
	var r *lists.Registry
	if m := n.find(service); m != nil && m.dax != nil {
		r = m.dax.lists.resource
	}
	n.mu.Unlock()
	if r == nil {
		return nil
	}
	encoded, _ := r.Encode(id)
	return encoded
}
