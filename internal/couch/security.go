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

// security keeps _security the same on all nodes: CouchDB does not replicate it. A node that
// has missed a write is not asked for anything of that database until it has it.
type security struct {
	svc *Service

	// locks hold the writes of one database back while another one is under way, so that
	// all nodes get them in one order. Databases share turns.
	locks [64]chan struct{}
	// missedWrite are the databases with nodes that lack their newest _security. It is replaced as
	// a whole, so that reads take no lock; nil: there are none.
	missed atomic.Pointer[map[string]missedWrite]
	wakeup chan struct{} // wakes mend; holds one

	mu        sync.Mutex // guards replacing missed, and what follows
	held      int        // bytes of the bodies in missed
	repairing bool       // a goroutine applies writes that were missed
	closed    bool
	// comparing are the databases whose nodes are being compared, differing those that were
	// found to differ, and what is to be said of them.
	comparing   map[string]bool
	differences map[string]string

	stop     context.CancelFunc
	stopping context.Context
	running  sync.WaitGroup
}

// missedWrite is a write of _security that not all nodes have. It never changes.
type missedWrite struct {
	path  string
	body  []byte            // nil: too much is held already, so it is not applied
	nodes map[string]string // those that lack it, by URL, and why
	at    time.Time
}

const (
	// maxHeld is how many bytes of missed writes are held.
	maxHeld = 16 << 20
	// securityTime is how long a node may take to answer a write of _security.
	securityTime = 10 * time.Second
	// repairInterval and maxRepairPause are the pauses between attempts to apply a missed write.
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

// close ends the attempts to apply missed writes.
func (s *security) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
}

// excluded returns the nodes of f that lack the newest _security of a database.
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

// choice asks the balancer for the first available node of an order that may be asked for
// anything of a database.
func (s *security) choice(f *fleet, db []byte, o nodeOrder) *balance.Choice {
	choice := f.choice(o)
	if lacking := s.lacking(f, db); lacking != 0 {
		choice.Allow = (^lacking).Has
	}
	return choice
}

// lock waits until no other write of db's _security is under way. The caller calls done when
// its own has ended.
func (s *security) lock(ctx context.Context, db []byte) (done func(), err error) {
	turn := s.locks[hashOf(db)%uint64(len(s.locks))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// setMissed replaces what is known of a database: m without nodes says that all have its _security.
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

// isStored reports whether no write is missed any more: mend ends then.
func (s *security) isRepaired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repairing = s.missed.Load() != nil
	return !s.repairing
}

// wake has missed writes applied at once: a node may be back.
func (s *security) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// apply gives the nodes that lack it a database's newest _security.
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
			continue // it is no node of the service any more
		}
		ctx, cancel := context.WithTimeout(ctx, securityTime)
		status, _, err := f.nodes.do(ctx, node, http.MethodPut, m.path, m.body)
		cancel()
		switch {
		case err == nil && (status < 300 || status == http.StatusNotFound): // or the database is not there any more
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

// notes are sentences about the nodes that lack a _security.
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

// writesSecurity reports whether the request writes the _security of a database that exists.
func (c *call) writesSecurity() bool {
	return c.route.Touch&(api.TouchSecurity|api.TouchDatabaseList) == api.TouchSecurity &&
		(string(c.x.Request.Method) == http.MethodPut || string(c.methodOverride()) == http.MethodPut)
}

// readSecurityBody reads the body of a write of _security, which goes to several nodes.
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

// securityResult is what a node has made of a write of _security.
type securityResult struct {
	node  int
	in    *origin.Inbound
	fault *origin.Fault
}

// rank orders results: the higher, the worse.
func (r *securityResult) rank() int {
	switch {
	case r.fault != nil && r.fault.Reached:
		return 1000
	case r.fault != nil:
		return 999
	case r.in.Status == http.StatusNotFound: // that node has no such database
		return 1
	case r.in.Status < 300:
		return 0
	}
	return r.in.Status
}

// missedWrite reports whether the node may have another _security than one that has taken it.
func (r *securityResult) missed() bool { return r.rank() > 1 }

func (r *securityResult) why() string {
	if r.fault != nil {
		return r.fault.Error()
	}
	return fmt.Sprintf("it answered %d", r.in.Status)
}

// secure sends a write of _security to all nodes: first to one, which decides whether the
// client may, and then to the others. The answer is that of the node that did worst.
func (w *writing) secure(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	sec := w.svc.security
	done, err := sec.lock(ctx, w.name)
	if err != nil {
		return nil, &origin.Fault{Origin: w.svc.name, Kind: origin.Canceled, Err: err}
	}
	defer done()
	setBody(q, w.body)
	q.Repeatable, q.HeadTimeout, q.Interim = true, securityTime, nil
	var results []securityResult
	order := w.writeOrder()
	for len(order) > 0 && !w.securityTaken {
		r := w.secureOne(ctx, q, order[0])
		results, order = append(results, r), order[1:]
		w.securityTaken = r.rank() == 0
		if r.fault == nil && r.in.Status >= 400 && r.in.Status < 500 && r.in.Status != http.StatusNotFound {
			order = nil // refused: the others are not asked
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

// secureOthers sends the write to all nodes of an order at once. To one that does not know
// the client, such as by its session, it is sent with Kasoku's own credentials: another node
// has said that the client may.
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

// recordMissed takes note of the nodes that lack what another node has taken, and logs them.
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
