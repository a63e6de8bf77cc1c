package couch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// security keeps _security equal on all nodes, since CouchDB does not replicate it. A node
// that has missed a write gets no requests for that database until it has received it.
type security struct {
	svc *Service

	// locks serialize the writes of one database's _security, so that all nodes get them in
	// the same order. Several databases share a lock.
	locks [64]chan struct{}
	// missed are the databases whose newest _security some node lacks; nil if there are
	// none. It is replaced as a whole, so that reads need no lock.
	missed atomic.Pointer[map[string]missedWrite]
	wakeup chan struct{} // wakes repair; capacity 1

	mu        sync.Mutex // held to replace missed; guards the following fields
	held      int        // total size of the bodies in missed
	repairing bool       // repair is running
	closed    bool
	// comparing are the databases being compared; differences are notes about databases
	// whose nodes differ.
	comparing   map[string]bool
	differences map[string]string

	stop     context.CancelFunc
	stopping context.Context
	running  sync.WaitGroup
}

// missedWrite is a write of _security that some node lacks. It is immutable.
type missedWrite struct {
	path  string
	body  []byte            // nil if too much is buffered; then it is not applied
	nodes map[string]string // the reason for each node that lacks it, by URL
	at    time.Time
}

const (
	// maxHeld is the maximum total size of missed writes.
	maxHeld = 16 << 20
	// securityTime is the timeout of a write of _security.
	securityTime = 10 * time.Second
	// repairInterval and maxRepairPause are the shortest and the longest pause between
	// attempts to apply missed writes.
	repairInterval = time.Second
	maxRepairPause = 30 * time.Second
)

func newSecurity(s *Service) *security {
	sec := &security{svc: s, wakeup: make(chan struct{}, 1), comparing: map[string]bool{}, differences: map[string]string{}}
	sec.stopping, sec.stop = context.WithCancel(context.Background())
	for i := range sec.locks {
		sec.locks[i] = make(chan struct{}, 1)
	}
	return sec
}

// close stops the attempts to apply missed writes.
func (s *security) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
}

// lacking returns the nodes of f that lack the newest _security of a database.
func (s *security) lacking(f *fleet, db []byte) (nodes follow.NodeSet) {
	all := s.missed.Load()
	if all == nil {
		return 0
	}
	m, ok := (*all)[string(db)]
	if !ok {
		return 0
	}
	for node, url := range f.urls {
		if _, lacks := m.nodes[url]; lacks {
			nodes |= 1 << node
		}
	}
	return nodes
}

// choice returns a choice of the first available node of an order that has the database's
// newest _security.
func (s *security) choice(f *fleet, db []byte, o nodeOrder) *balance.Choice {
	choice := f.choice(o)
	if lacking := s.lacking(f, db); lacking != 0 {
		choice.Allow = (^lacking).Has
	}
	return choice
}

// lock waits for other writes of db's _security. The caller calls done after its own write.
func (s *security) lock(ctx context.Context, db []byte) (done func(), err error) {
	turn := s.locks[hashOf(db)%uint64(len(s.locks))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// setMissed replaces the missed write of a database. If m has no nodes, all nodes have its
// _security.
func (s *security) setMissed(db string, m missedWrite) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[string]missedWrite{}
	if all := s.missed.Load(); all != nil {
		next = maps.Clone(*all)
	}
	s.held -= len(next[db].body)
	delete(next, db)
	delete(s.differences, db)
	if len(m.nodes) > 0 {
		if s.held+len(m.body) > maxHeld {
			m.body = nil
		}
		s.held += len(m.body)
		next[db] = m
	}
	if len(next) == 0 {
		s.missed.Store(nil)
		return
	}
	s.missed.Store(&next)
	if !s.repairing && !s.closed {
		s.repairing = true
		s.running.Go(s.repair)
	}
}

// repair applies missed writes, with Kasoku's own credentials, until there are none.
func (s *security) repair() {
	for pause := repairInterval; ; pause = min(2*pause, maxRepairPause) {
		select {
		case <-s.stopping.Done():
			return
		case <-s.wakeup:
			pause = repairInterval
		case <-time.After(pause):
		}
		if all := s.missed.Load(); all != nil {
			for db := range *all {
				s.apply(s.stopping, db)
			}
		}
		if s.isRepaired() {
			return
		}
	}
}

// isRepaired reports whether no missed write is left; then repair ends.
func (s *security) isRepaired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repairing = s.missed.Load() != nil
	return !s.repairing
}

// wake applies missed writes at once, since a node may have returned.
func (s *security) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// apply sends a database's newest _security to the nodes that lack it.
func (s *security) apply(ctx context.Context, db string) {
	done, err := s.lock(ctx, []byte(db))
	if err != nil {
		return
	}
	defer done()
	all := s.missed.Load()
	if all == nil {
		return
	}
	m, ok := (*all)[db]
	if !ok || m.body == nil {
		return
	}
	f := s.svc.settings.Load().fleet
	left := map[string]string{}
	for url, why := range m.nodes {
		node := slices.Index(f.urls, url)
		if node < 0 {
			continue // not a node of the service any more
		}
		ctx, cancel := context.WithTimeout(ctx, securityTime)
		status, _, err := f.nodes.do(ctx, node, http.MethodPut, m.path, m.body)
		cancel()
		switch {
		case err == nil && (status < 300 || status == http.StatusNotFound): // or the database was deleted
			s.svc.log.Info("a node has received a missed write of _security", slog.String("database", db), slog.String("node", url))
		case err == nil:
			left[url] = fmt.Sprintf("it answers %d to Kasoku's own write", status)
		default:
			left[url] = why
		}
	}
	m.nodes = left
	s.setMissed(db, m)
}

// notes returns sentences about the nodes that lack a _security.
func (s *security) notes() (notes []string) {
	all := s.missed.Load()
	if all == nil {
		return nil
	}
	for _, db := range slices.Sorted(maps.Keys(*all)) {
		m := (*all)[db]
		for _, url := range slices.Sorted(maps.Keys(m.nodes)) {
			notes = append(notes, fmt.Sprintf("database %s: %s lacks the _security that was written at %s, and gets no requests for the database until it has it: %s",
				db, url, m.at.UTC().Format(time.RFC3339), m.nodes[url]))
		}
	}
	return notes
}

// writesSecurity reports whether the request writes the _security of an existing database.
func (c *call) writesSecurity() bool {
	return c.route.Touch&(api.TouchSecurity|api.TouchDatabaseList) == api.TouchSecurity &&
		(string(c.x.Request.Method) == http.MethodPut || string(c.methodOverride()) == http.MethodPut)
}

// readSecurityBody reads the body of a write of _security, which is sent to several nodes.
func (c *call) readSecurityBody() (ok bool) {
	body, err := c.x.ReadBody(maxWriteBody)
	switch {
	case errors.Is(err, edge.ErrBodyTooLarge):
		reply := &c.x.Reply
		reply.Status = http.StatusRequestEntityTooLarge
		reply.Field("Content-Type", "application/json")
		reply.Build(append(reply.Buf, `{"error":"too_large","reason":"a _security of more than 1 MiB is not taken"}`+"\n"...))
		return false
	case err != nil:
		return false // the server answers
	}
	if body == nil {
		body = []byte{}
	}
	c.body = body
	return true
}

// securityResult is a node's answer to a write of _security.
type securityResult struct {
	node  int
	in    *origin.Inbound
	fault *origin.Fault
}

// rank returns a number that is higher for worse results.
func (r *securityResult) rank() int {
	switch {
	case r.fault != nil && r.fault.Reached:
		return 1000
	case r.fault != nil:
		return 999
	case r.in.Status == http.StatusNotFound: // the node does not have the database
		return 1
	case r.in.Status < 300:
		return 0
	}
	return r.in.Status
}

// missed reports whether the node may lack the _security that another node has accepted.
func (r *securityResult) missed() bool { return r.rank() > 1 }

func (r *securityResult) why() string {
	if r.fault != nil {
		return r.fault.Error()
	}
	return fmt.Sprintf("it answered %d", r.in.Status)
}

// secure sends a write of _security to all nodes: first to one, which checks the client's
// permission, and then to the others. It returns the worst answer.
func (w *writing) secure(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	sec := w.svc.security
	done, err := sec.lock(ctx, w.name)
	if err != nil {
		return nil, &origin.Fault{Origin: w.svc.name, Kind: origin.Canceled, Err: err}
	}
	defer done()
	setBody(q, w.body)
	q.Repeatable, q.HeadTimeout, q.Interim, q.Guard = true, securityTime, nil, w.write.Guard()
	var results []securityResult
	order := w.writeOrder()
	for len(order) > 0 && !w.securityTaken {
		r := w.secureOne(ctx, q, order[0])
		results, order = append(results, r), order[1:]
		w.securityTaken = r.rank() == 0
		if r.fault == nil && r.in.Status >= 400 && r.in.Status < 500 && r.in.Status != http.StatusNotFound {
			order = nil // refused: don't send it to the others
		}
	}
	if w.securityTaken {
		results = append(results, w.secureOthers(ctx, q, order)...)
		w.recordMissed(results)
	}
	worst := 0
	for i := range results {
		if results[i].rank() > results[worst].rank() {
			worst = i
		}
	}
	if w.securityTaken && results[worst].rank() == 1 {
		worst = slices.IndexFunc(results, func(r securityResult) bool { return r.rank() == 0 })
	}
	for i := range results {
		if in := results[i].in; in != nil && i != worst {
			in.Close()
		}
	}
	w.member = results[worst].node
	return results[worst].in, results[worst].fault
}

// secureOthers sends the write to all nodes of an order at once. If a node rejects the
// client, for example because of an unknown session, the write is sent again with Kasoku's
// own credentials, since another node has accepted the client.
func (w *writing) secureOthers(ctx context.Context, q *origin.Outbound, nodes nodeOrder) []securityResult {
	results := make([]securityResult, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() {
			r := w.secureOne(ctx, q, node)
			if own := w.settings.fleet.nodes.own; r.fault == nil && (r.in.Status == 401 || r.in.Status == 403) && own != nil {
				p := *q
				p.Header = append(without(q.Header, []string{"Authorization", "Cookie"}), own...)
				if again := w.secureOne(ctx, &p, node); again.rank() == 0 {
					r.in.Close()
					r = again
				} else if again.in != nil {
					again.in.Close()
				}
			}
			results[i] = r
		})
	}
	all.Wait()
	return results
}

// secureOne sends the write to one node.
func (w *writing) secureOne(ctx context.Context, q *origin.Outbound, node int) securityResult {
	p := *q
	choice := w.settings.fleet.choice(nodeOrder{node})
	choice.Allow = func(member int) bool { return member == node }
	in, fault := w.svc.engine.Ask(ctx, &p, choice)
	return securityResult{node, in, fault}
}

// recordMissed records and logs the nodes that lack a write that another node has accepted.
func (w *writing) recordMissed(results []securityResult) {
	m := missedWrite{path: string(w.x.Request.Path), body: slices.Clone(w.body), nodes: map[string]string{}, at: w.x.Now()}
	for i := range results {
		if r := &results[i]; r.missed() {
			url := w.settings.fleet.urls[r.node]
			m.nodes[url] = r.why()
			w.svc.log.Warn("a node has missed a write of _security, and gets no requests for the database until it has it",
				slog.String("database", string(w.name)), slog.String("node", url), slog.String("why", r.why()))
		}
	}
	w.svc.security.setMissed(string(w.name), m)
}
